// SPDX-License-Identifier: Apache-2.0
#include "run/softmax.h"

namespace fovea {

void run_softmax(const fovea_softmax_args& args, bool logarithm, const SoftmaxKernels& kernels) {
  if (args.axis == 0 || args.inner == 0) return;
  SoftmaxSlice slice;
  slice.in = args.in;
  slice.out = args.out;
  slice.mask = args.mask;
  slice.in_outer_stride = args.in_outer_stride;
  slice.out_outer_stride = args.out_outer_stride;
  slice.mask_outer_stride = args.mask_outer_stride;
  slice.in_axis_stride = args.in_axis_stride;
  slice.out_axis_stride = args.out_axis_stride;
  slice.mask_axis_stride = args.mask_axis_stride;
  slice.mask_inner_stride = args.mask_inner_stride;
  slice.outer = args.outer;
  slice.axis = args.axis;
  slice.inner = args.inner;
  slice.scale = args.scale == 0.0f ? 1.0f : args.scale;
  slice.logarithm = logarithm;
  const bool mask_fits_row = !args.mask || args.mask_axis_stride == 1;
  const bool contiguous = args.axis == 1 || (args.in_axis_stride == 1 && args.out_axis_stride == 1);
  if (args.inner == 1 && contiguous && mask_fits_row) {
    kernels.rows(slice);
    return;
  }
  for (size_t i = 0; i < args.outer; ++i) {
    slice.in = args.in + ptrdiff_t(i) * args.in_outer_stride;
    slice.out = args.out + ptrdiff_t(i) * args.out_outer_stride;
    slice.mask = args.mask ? args.mask + ptrdiff_t(i) * args.mask_outer_stride : nullptr;
    kernels.columns(slice);
  }
}

}  // namespace fovea
