// SPDX-License-Identifier: Apache-2.0
#include "ground/base/arithmetic.h"
#include "layers/selftest/trial.h"

namespace fovea {
namespace {

// Seven tokens: one token group whole and one begun; then S itself.
fovea_status delta_of(Trial& trial, fovea_delta_rule rule, uint32_t decay_dim) {
  constexpr uint32_t kTokens = 7, kHeads = 2, kKeyDim = 20, kValueDim = 12;
  size_t state_bytes;
  FOVEA_RETURN_IF_ERROR(fovea_delta_state_bytes(1, kHeads, kKeyDim, kValueDim, decay_dim, &state_bytes));
  fovea_delta_state* const state = static_cast<fovea_delta_state*>(trial.room(state_bytes));
  fovea_delta_args args = {};
  args.struct_bytes = sizeof args, args.target = trial.kernels(), args.rule = rule, args.batch = 1,
  args.tokens = kTokens;
  args.q_heads = args.k_heads = args.v_heads = kHeads;
  args.head_dim = kKeyDim, args.value_dim = kValueDim, args.decay_dim = decay_dim;
  float* const out = trial.zeros<float>(kHeads * kTokens * kValueDim);
  float* const decay = trial.positive(kHeads * kTokens * decay_dim);
  float* const keys = trial.numbers(kHeads * kTokens * kKeyDim);
  for (size_t i = 0; decay && i < kHeads * kTokens * decay_dim; ++i) decay[i] = -decay[i];
  for (size_t i = 0; keys && i < kHeads * kTokens * kKeyDim; ++i) keys[i] /= 4;
  args.q = {trial.numbers(kHeads * kTokens * kKeyDim), 0, kTokens * kKeyDim, kKeyDim};
  args.k = {keys, 0, kTokens * kKeyDim, kKeyDim};
  args.v = {trial.numbers(kHeads * kTokens * kValueDim), 0, kTokens * kValueDim, kValueDim};
  args.decay = {decay, 0, static_cast<ptrdiff_t>(kTokens * decay_dim), static_cast<ptrdiff_t>(decay_dim)};
  args.beta = {trial.positive(kHeads * kTokens), 0, kTokens, 1};
  args.out = {out, 0, kTokens * kValueDim, kValueDim};
  float* const s = trial.zeros<float>(kHeads * kKeyDim * kValueDim);
  FOVEA_RETURN_IF_ERROR(fovea_delta_begin(state, state_bytes, 1, kHeads, kKeyDim, kValueDim, decay_dim));
  const auto [workspace, bytes] = trial.rest();
  FOVEA_RETURN_IF_ERROR(fovea_delta(state, &args, workspace, bytes));
  trial.digest(out, kHeads * kTokens * kValueDim);
  const fovea_out matrices = {s, 0, kKeyDim * kValueDim, kValueDim};
  return trial.digest_after(fovea_delta_get(state, trial.kernels(), 0, &matrices), s, kHeads * kKeyDim * kValueDim);
}

fovea_status delta_gated(Trial& trial) { return delta_of(trial, FOVEA_DELTA_RULE_GATED_DELTA, 1); }
fovea_status delta_kimi(Trial& trial) { return delta_of(trial, FOVEA_DELTA_RULE_GATED_DELTA, 20); }
fovea_status delta_linear(Trial& trial) { return delta_of(trial, FOVEA_DELTA_RULE_LINEAR, 1); }

}  // namespace
}  // namespace fovea

FOVEA_SELFTEST_PART_(delta, DELTA)
