// SPDX-License-Identifier: Apache-2.0
//
// The functions of the softmax kernels.
#ifndef FOVEA_SRC_SOFTMAX_KERNELS_H_
#define FOVEA_SRC_SOFTMAX_KERNELS_H_

#include <stddef.h>

#include "ground/base/numbers.h"
#include "ground/targets/choice.h"

namespace fovea {

struct SoftmaxStrides {
  ptrdiff_t outer, axis, inner;
};

// The softmaxes [outer][inner] of a call, each along the axis: arrays [outer][axis][inner]. The inner stride of in and
// out is 1, that of the mask 0 or 1.
struct Softmaxes {
  size_t outer, axis, inner;
  float* out;
  SoftmaxStrides out_strides;
  const float* in;
  SoftmaxStrides in_strides;
  const float* mask;  // null = none
  SoftmaxStrides mask_strides;
  float scale;  // never 0
  bool logarithm;
};

// Functions that this build leaves out are null.
struct SoftmaxKernels {
  void (*rows)(const Softmaxes&);  // inner == 1, axis strides of 1; null also on targets where columns serves rows
  void (*columns)(const Softmaxes&, size_t outer);  // those of one outer index, side by side
};

FOVEA_TABLES(SoftmaxKernels, kSoftmax, softmax_kernels)

}  // namespace fovea

#endif  // FOVEA_SRC_SOFTMAX_KERNELS_H_
