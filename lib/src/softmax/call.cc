// SPDX-License-Identifier: Apache-2.0
#include "base/arithmetic.h"
#include "softmax/call.h"

namespace fovea {

bool is_rows(const fovea_softmax_args& args) {
  if (args.inner != 1) return false;
  const bool contiguous = args.in_axis_stride == 1 && args.out_axis_stride == 1;
  return (contiguous || args.axis == 1) && (!args.mask || args.mask_axis_stride == 1);
}

void run_softmax(const fovea_softmax_args& args, bool logarithm, const SoftmaxKernels& kernels) {
  if (args.axis == 0 || args.inner == 0) return;
  SoftmaxSlice slice = {args, logarithm};
  if (slice.scale == 0.0f) slice.scale = 1.0f;
  if (kernels.rows && is_rows(args)) {
    kernels.rows(slice);
    return;
  }
  for (size_t i = 0; i < args.outer; ++i) {
    slice.in = args.in + ptrdiff_t(i) * args.in_outer_stride;
    slice.out = args.out + ptrdiff_t(i) * args.out_outer_stride;
    if (args.mask) slice.mask = args.mask + ptrdiff_t(i) * args.mask_outer_stride;
    kernels.columns(slice);
  }
}

}  // namespace fovea
