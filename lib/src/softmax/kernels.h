// SPDX-License-Identifier: Apache-2.0
//
// The seam of the softmax family.
#ifndef FOVEA_SRC_SOFTMAX_KERNELS_H_
#define FOVEA_SRC_SOFTMAX_KERNELS_H_

#include "base/hiding_mask.h"
#include "fovea/fovea.h"
#include "targets/choice.h"

namespace fovea {

// Rows, contiguous along the axis, or one softmax of several side by side (columns, contiguous across): then outer and
// the outer strides mean nothing. scale is resolved: never 0.
struct SoftmaxSlice : fovea_softmax_args {
  bool logarithm;
};

struct SoftmaxKernels {
  void (*rows)(const SoftmaxSlice&);     // inner == 1, all axis strides 1; null where columns serves these too
  void (*columns)(const SoftmaxSlice&);  // anything else
};

FOVEA_TABLES(SoftmaxKernels, kSoftmax, softmax_kernels)

}  // namespace fovea

#endif  // FOVEA_SRC_SOFTMAX_KERNELS_H_
