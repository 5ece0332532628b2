// SPDX-License-Identifier: Apache-2.0
#include "ground/base/arithmetic.h"
#include "layers/selftest/trial.h"

namespace fovea {
namespace {

// A softmax of three rows of 100, or along the middle axis of [2][9][19], with a mask that hides some elements.
fovea_status softmax_of(Trial& trial, bool rows, bool logarithm) {
  fovea_softmax_args args = {};
  args.struct_bytes = sizeof args, args.target = trial.kernels();
  args.outer = rows ? 3 : 2, args.axis = rows ? 100 : 9, args.inner = rows ? 1 : 19;
  const size_t count = args.outer * args.axis * args.inner;
  float* const mask = trial.numbers(count);
  for (size_t i = 0; mask && i < count; i += 7) mask[i] = -__builtin_inff();
  float* const out = trial.zeros<float>(count);
  args.x = trial.numbers(count), args.mask = mask, args.y = out;
  args.x_axis_stride = args.mask_axis_stride = args.y_axis_stride = static_cast<ptrdiff_t>(args.inner);
  args.x_outer_stride = args.mask_outer_stride = args.y_outer_stride = static_cast<ptrdiff_t>(args.axis * args.inner);
  args.mask_inner_stride = 1;
  args.scale = 1.5f;
  return trial.digest_after(logarithm ? fovea_log_softmax(&args) : fovea_softmax(&args), out, count);
}

fovea_status softmax_rows(Trial& trial) { return softmax_of(trial, true, false); }
fovea_status softmax_columns(Trial& trial) { return softmax_of(trial, false, false); }
fovea_status softmax_log(Trial& trial) { return softmax_of(trial, false, true); }

}  // namespace
}  // namespace fovea

FOVEA_SELFTEST_PART_(softmax, SOFTMAX)
