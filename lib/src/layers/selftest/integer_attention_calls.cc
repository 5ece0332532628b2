// SPDX-License-Identifier: Apache-2.0
#include "ground/base/arithmetic.h"
#include "layers/selftest/trial.h"

namespace fovea {
namespace {

fovea_status integer_attention_of(Trial& trial, uint32_t q_tokens, uint32_t kv_tokens) {
  constexpr uint32_t kHeads = 2, kHeadDim = 37, kValueDim = 21;
  fovea_integer_attention_args args = {};
  args.struct_bytes = sizeof args, args.batch = 1, args.q_heads = kHeads, args.kv_heads = 1;
  args.q_tokens = q_tokens, args.kv_tokens = kv_tokens, args.head_dim = kHeadDim, args.value_dim = kValueDim;
  args.q_zero_point = 3, args.value_zero_point = -7, args.out_zero_point = 11, args.causal = FOVEA_CAUSAL_BOTTOM_RIGHT;
  FOVEA_RETURN_IF_ERROR(fovea_integer_multiplier(0.0004, &args.score_multiplier, &args.score_shift));
  FOVEA_RETURN_IF_ERROR(fovea_integer_multiplier(1.7, &args.out_multiplier, &args.out_shift));
  int8_t* const out = trial.zeros<int8_t>(kHeads * q_tokens * kValueDim);
  args.q = {trial.codes(kHeads * q_tokens * kHeadDim), 0, static_cast<ptrdiff_t>(q_tokens * kHeadDim), kHeadDim};
  args.keys = {trial.codes(kv_tokens * kHeadDim), 0, 0, kHeadDim};
  args.values = {trial.codes(kv_tokens * kValueDim), 0, 0, kValueDim};
  args.out = {out, 0, static_cast<ptrdiff_t>(q_tokens * kValueDim), kValueDim};
  const auto [workspace, bytes] = trial.rest();
  return trial.digest_after(fovea_integer_attention(&args, workspace, bytes), out, kHeads * q_tokens * kValueDim);
}

fovea_status integer_attention_many(Trial& trial) { return integer_attention_of(trial, 5, 70); }
fovea_status integer_attention_one(Trial& trial) { return integer_attention_of(trial, 1, 140); }

}  // namespace
}  // namespace fovea

FOVEA_SELFTEST_PART_(integer_attention, INTEGER_ATTENTION)
