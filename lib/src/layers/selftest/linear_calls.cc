// SPDX-License-Identifier: Apache-2.0
#include "ground/base/arithmetic.h"
#include "layers/selftest/trial.h"

namespace fovea {
namespace {

// Elements of a row of weights, as row_stride counts them.
ptrdiff_t linear_stride(fovea_dtype dtype, uint32_t dim) {
  const ptrdiff_t groups = static_cast<ptrdiff_t>((dim + 31) / 32);
  switch (dtype) {
    case FOVEA_I4: return groups * 16;
    case FOVEA_Q8_0: return groups * 34;
    case FOVEA_Q4_0: return groups * 18;
    case FOVEA_Q4_1: return groups * 20;
    default: return static_cast<ptrdiff_t>(dim);
  }
}

fovea_status linear_of(Trial& trial, fovea_dtype dtype, fovea_compute compute, bool tensors) {
  constexpr uint32_t kTokens = 5, kIn = 75, kOut = 13;
  void* scales = nullptr;
  fovea_linear_args args = {};
  args.struct_bytes = sizeof args, args.target = trial.target(), args.processor_features = trial.features();
  args.portable_bits = 1, args.compute = compute, args.tokens = kTokens, args.in_dim = kIn, args.out_dim = kOut;
  args.activation = FOVEA_ACTIVATION_RELU;
  args.weights.dtype = dtype, args.weights.row_stride = linear_stride(dtype, kIn);
  args.weights.data = trial.rows(dtype, kOut, kIn, &scales), args.weights.scales = scales;
  args.weights.bias = trial.numbers(kOut);
  float* const y = trial.zeros<float>(kTokens * kOut);
  int8_t* const y_codes = trial.zeros<int8_t>(kTokens * kOut);
  args.y = tensors ? static_cast<void*>(y_codes) : y, args.y_stride = kOut, args.x_stride = kIn;
  if (tensors) {
    args.x = trial.codes(kTokens * kIn), args.x_scales = trial.positive(1), args.x_zero_point = 7;
    args.x_dtype = args.y_dtype = FOVEA_I8, args.y_scale = 0.7f, args.y_zero_point = -20;
  } else {
    args.x = trial.numbers(kTokens * kIn);
  }
  const auto [workspace, bytes] = trial.rest();
  FOVEA_RETURN_IF_ERROR(fovea_linear(&args, workspace, bytes));
  trial.digest(y, kTokens * kOut);
  trial.digest(y_codes, kTokens * kOut);
  return FOVEA_OK;
}

fovea_status linear_f32(Trial& trial) { return linear_of(trial, FOVEA_F32, FOVEA_COMPUTE_F32, false); }
fovea_status linear_q8_0(Trial& trial) { return linear_of(trial, FOVEA_Q8_0, FOVEA_COMPUTE_F32, false); }
fovea_status linear_i8(Trial& trial) { return linear_of(trial, FOVEA_I8, FOVEA_COMPUTE_I8, false); }
fovea_status linear_i8_tensors(Trial& trial) { return linear_of(trial, FOVEA_I8, FOVEA_COMPUTE_I8, true); }
fovea_status linear_i4(Trial& trial) { return linear_of(trial, FOVEA_I4, FOVEA_COMPUTE_I8, false); }
fovea_status linear_q4_1(Trial& trial) { return linear_of(trial, FOVEA_Q4_1, FOVEA_COMPUTE_I8, true); }

}  // namespace
}  // namespace fovea

FOVEA_SELFTEST_PART_(linear, LINEAR)
