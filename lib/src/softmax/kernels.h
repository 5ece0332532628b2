// SPDX-License-Identifier: Apache-2.0
//
// The functions of the softmax kernels.
#ifndef FOVEA_SRC_SOFTMAX_KERNELS_H_
#define FOVEA_SRC_SOFTMAX_KERNELS_H_

#include "base/hiding_mask.h"
#include "fovea/fovea.h"
#include "targets/choice.h"

namespace fovea {

// Either rows, contiguous along the axis, or the columns of one outer index: several softmaxes side by side. Columns do
// not use outer and the outer strides. scale is resolved: never 0.
struct SoftmaxSlice : fovea_softmax_args {
  bool logarithm;
};

struct SoftmaxKernels {
  void (*rows)(const SoftmaxSlice&);     // inner == 1, axis strides of 1; null on targets where columns serves rows too
  void (*columns)(const SoftmaxSlice&);  // anything else
};

FOVEA_TABLES(SoftmaxKernels, kSoftmax, softmax_kernels)

}  // namespace fovea

#endif  // FOVEA_SRC_SOFTMAX_KERNELS_H_
