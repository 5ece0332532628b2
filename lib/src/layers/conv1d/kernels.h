// SPDX-License-Identifier: Apache-2.0
//
// The functions of the kernels of short convolutions.
#ifndef FOVEA_SRC_CONV1D_KERNELS_H_
#define FOVEA_SRC_CONV1D_KERNELS_H_

#include <stddef.h>

#include "ground/targets/choice.h"

namespace fovea {

// The convolution of one entry: x and y [tokens][channels], of which one dimension has a stride of 1.
struct Convolution {
  const float* x;
  float* y;
  ptrdiff_t x_stride, y_stride;  // of the other dimension
  const float* weight;           // [channels][width]
  ptrdiff_t weight_stride;
  const float* bias;  // [channels], or null
  float* state;       // [width - 1][channels], or null
  size_t tokens, channels, width;
  bool silu;
};

struct Conv1dKernels {
  void (*channels_last)(const Convolution&);   // channel strides of 1
  void (*channels_first)(const Convolution&);  // token strides of 1
};

FOVEA_TABLES(Conv1dKernels, kConv1d, conv1d_kernels)

}  // namespace fovea

#endif  // FOVEA_SRC_CONV1D_KERNELS_H_
