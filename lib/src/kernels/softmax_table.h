// SPDX-License-Identifier: Apache-2.0
//
// The seam of the softmax family.
#ifndef FOVEA_SRC_KERNELS_SOFTMAX_TABLE_H_
#define FOVEA_SRC_KERNELS_SOFTMAX_TABLE_H_

#include <stddef.h>
#include <stdint.h>

namespace fovea {

// Rows, contiguous along the axis, or one softmax of several side by side (columns, contiguous across).
struct SoftmaxSlice {
  const float* in;
  float* out;
  const float* mask;                                               // null = none
  ptrdiff_t in_outer_stride, out_outer_stride, mask_outer_stride;  // of rows only
  ptrdiff_t in_axis_stride, out_axis_stride, mask_axis_stride;     // of columns only
  ptrdiff_t mask_inner_stride;                                     // 0 or 1
  size_t outer;                                                    // of rows only
  size_t axis;
  size_t inner;
  float scale;
  bool logarithm;
};

struct SoftmaxKernels {
  void (*rows)(const SoftmaxSlice&);     // inner == 1, all axis strides 1
  void (*columns)(const SoftmaxSlice&);  // anything else
};

}  // namespace fovea

#endif  // FOVEA_SRC_KERNELS_SOFTMAX_TABLE_H_
