// SPDX-License-Identifier: Apache-2.0
#include "ground/base/arithmetic.h"
#include "layers/selftest/trial.h"

namespace fovea {
namespace {

// Products of halves. Few tokens have kernels of their own, which give the bits of the others.
fovea_status attention_of_halves(Trial& trial, uint32_t tokens) {
  AttentionTrial a(trial, FOVEA_F16, FOVEA_F16);
  a.desc.compute = FOVEA_COMPUTE_F16;
  a.args.q_tokens = tokens;
  a.args.lse = {a.lse, 0, kTrialQueries, 1};
  return a.run();
}

fovea_status linear_of_halves(Trial& trial, uint32_t tokens, fovea_dtype inputs) {
  constexpr uint32_t kIn = 75, kOut = 13;
  fovea_linear_args args = {};
  args.struct_bytes = sizeof args, args.target = trial.target(), args.processor_features = trial.features();
  args.compute = FOVEA_COMPUTE_F16, args.tokens = tokens, args.in_dim = kIn, args.out_dim = kOut;
  args.activation = FOVEA_ACTIVATION_RELU;
  args.weights.dtype = FOVEA_F16, args.weights.row_stride = kIn;
  args.weights.data = trial.rows(FOVEA_F16, kOut, kIn, nullptr);
  args.weights.bias = trial.numbers(kOut);
  args.x_dtype = inputs, args.x = trial.rows(inputs, tokens, kIn, nullptr), args.x_stride = kIn;
  float* const y = trial.zeros<float>(tokens * kOut);
  args.y = y, args.y_stride = kOut;
  const auto [workspace, bytes] = trial.rest();
  return trial.digest_after(fovea_linear(&args, workspace, bytes), y, tokens * kOut);
}

fovea_status halves_attention(Trial& trial) { return attention_of_halves(trial, kTrialQueries); }
fovea_status halves_attention_one(Trial& trial) { return attention_of_halves(trial, 1); }
fovea_status halves_linear(Trial& trial) { return linear_of_halves(trial, 5, FOVEA_F32); }
fovea_status halves_linear_one(Trial& trial) { return linear_of_halves(trial, 1, FOVEA_F16); }

}  // namespace
}  // namespace fovea

FOVEA_SELFTEST_PART_(halves, HALVES)
