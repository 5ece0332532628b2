// SPDX-License-Identifier: Apache-2.0
#include "ground/base/arithmetic.h"
#include "layers/selftest/trial.h"

namespace fovea {
namespace {

// The bytes of a cache after six tokens.
fovea_status cache_of(Trial& trial, fovea_dtype keys, fovea_dtype values, const fovea_rope_args* rope) {
  constexpr uint32_t kTokens = 6, kHeads = 2, kHeadDim = 40, kValueDim = 24;
  fovea_kv_cache_desc desc = {};
  desc.struct_bytes = sizeof desc, desc.key_dtype = keys, desc.value_dtype = values;
  desc.batch = 1, desc.kv_heads = kHeads, desc.head_dim = kHeadDim, desc.value_dim = kValueDim;
  desc.max_tokens = kTokens;
  fovea_kv_cache cache;
  size_t bytes;
  FOVEA_RETURN_IF_ERROR(fovea_kv_cache_bytes(&desc, &bytes));
  uint8_t* const memory = trial.zeros<uint8_t>(bytes);
  FOVEA_RETURN_IF_ERROR(fovea_kv_cache_init(&cache, &desc, memory, bytes));
  fovea_kv_append_args args = {};
  args.struct_bytes = sizeof args, args.target = trial.kernels(), args.batch = 1, args.tokens = kTokens,
  args.rope = rope;
  args.keys = {trial.numbers(kHeads * kTokens * kHeadDim), 0, kTokens * kHeadDim, kHeadDim};
  args.values = {trial.numbers(kHeads * kTokens * kValueDim), 0, kTokens * kValueDim, kValueDim};
  const Trial::Rest rest = trial.rest();
  args.workspace = rest.workspace, args.workspace_bytes = rest.bytes;
  return trial.digest_after(fovea_kv_append(&cache, &args), memory, bytes);
}

fovea_status cache_halves(Trial& trial) { return cache_of(trial, FOVEA_F16, FOVEA_BF16, nullptr); }
fovea_status cache_codes(Trial& trial) { return cache_of(trial, FOVEA_I8, FOVEA_I4, nullptr); }
fovea_status cache_ggml(Trial& trial) { return cache_of(trial, FOVEA_Q8_0, FOVEA_Q4_0, nullptr); }

fovea_status cache_rope(Trial& trial) {
  uint64_t* const turns = trial.zeros<uint64_t>(20);
  FOVEA_RETURN_IF_ERROR(fovea_rope_frequencies(turns, 10000.0, 1.0, 40));
  fovea_rope_args rope = {};
  rope.struct_bytes = sizeof rope, rope.layout = FOVEA_ROPE_HALF_SPLIT, rope.turns = turns;
  return cache_of(trial, FOVEA_F32, FOVEA_I8, &rope);
}

}  // namespace
}  // namespace fovea

FOVEA_SELFTEST_PART_(cache, CACHE)
