// SPDX-License-Identifier: Apache-2.0
#include "ground/base/arithmetic.h"
#include "layers/selftest/trial.h"

namespace fovea {
namespace {

constexpr uint32_t kNormTokens = 2, kNormDim = 75;

fovea_status norm_of(Trial& trial, fovea_norm_kind kind, fovea_dtype dtype) {
  fovea_norm_args args = {};
  args.struct_bytes = sizeof args, args.target = trial.kernels();
  args.norm = kind, args.epsilon = 1e-5f;
  args.batch = args.heads = 1, args.tokens = kNormTokens, args.dim = kNormDim;
  args.x_dtype = args.residual_dtype = dtype;
  args.weight = trial.numbers(kNormDim), args.bias = trial.numbers(kNormDim);
  float* const y = trial.zeros<float>(kNormTokens * kNormDim);
  args.x = {trial.rows(dtype, kNormTokens, kNormDim, nullptr), 0, 0, kNormDim};
  args.residual = {trial.rows(dtype, kNormTokens, kNormDim, nullptr), 0, 0, kNormDim};
  args.y = {y, 0, 0, kNormDim};
  return trial.digest_after(fovea_norm(&args), y, kNormTokens * kNormDim);
}

fovea_status norm_layer(Trial& trial) { return norm_of(trial, FOVEA_NORM_LAYER, FOVEA_F32); }
fovea_status norm_rms(Trial& trial) { return norm_of(trial, FOVEA_NORM_RMS, FOVEA_BF16); }

// Each of some activations, of the same numbers.
fovea_status activations_of(Trial& trial, const fovea_activation_kind* kinds, size_t count) {
  fovea_activation_args args = {};
  args.struct_bytes = sizeof args, args.target = trial.kernels();
  args.batch = args.heads = args.tokens = 1, args.dim = kNormDim;
  float* const y = trial.zeros<float>(kNormDim);
  args.x.data = trial.numbers(kNormDim), args.y.data = y;
  for (size_t i = 0; i < count; ++i) {
    args.activation = kinds[i];
    FOVEA_RETURN_IF_ERROR(fovea_activation(&args));
    trial.digest(y, kNormDim);
  }
  return FOVEA_OK;
}

fovea_status norm_activations(Trial& trial) {
  static constexpr fovea_activation_kind kKinds[] = {FOVEA_ACTIVATION_SILU, FOVEA_ACTIVATION_SIGMOID,
                                                     FOVEA_ACTIVATION_RELU6, FOVEA_ACTIVATION_HARD_SWISH};
  return activations_of(trial, kKinds, 4);
}
fovea_status norm_tanh(Trial& trial) {
  static constexpr fovea_activation_kind kKinds[] = {FOVEA_ACTIVATION_GELU, FOVEA_ACTIVATION_GELU_TANH,
                                                     FOVEA_ACTIVATION_TANH};
  return activations_of(trial, kKinds, 3);
}

}  // namespace
}  // namespace fovea

FOVEA_SELFTEST_PART_(norm, NORM)
