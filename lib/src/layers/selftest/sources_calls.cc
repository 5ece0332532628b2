// SPDX-License-Identifier: Apache-2.0
#include "ground/base/arithmetic.h"
#include "layers/selftest/trial.h"

namespace fovea {
namespace {

// Formats and kinds of keys and values.
fovea_status source_of(Trial& trial, fovea_dtype keys, fovea_dtype values, fovea_compute compute) {
  AttentionTrial a(trial, keys, values);
  a.desc.compute = compute;
  return a.run();
}

fovea_status sources_f16(Trial& trial) { return source_of(trial, FOVEA_F16, FOVEA_F16, FOVEA_COMPUTE_F32); }
fovea_status sources_bf16(Trial& trial) { return source_of(trial, FOVEA_BF16, FOVEA_BF16, FOVEA_COMPUTE_F32); }
fovea_status sources_i8(Trial& trial) { return source_of(trial, FOVEA_I8, FOVEA_I8, FOVEA_COMPUTE_F32); }
fovea_status sources_i4(Trial& trial) { return source_of(trial, FOVEA_I4, FOVEA_I4, FOVEA_COMPUTE_F32); }
fovea_status sources_ggml(Trial& trial) { return source_of(trial, FOVEA_Q8_0, FOVEA_Q4_0, FOVEA_COMPUTE_F32); }
fovea_status sources_i4_products(Trial& trial) { return source_of(trial, FOVEA_I4, FOVEA_Q8_0, FOVEA_COMPUTE_I8); }

// 90 tokens, of which a ring of 70 slots keeps the first four and the newest.
fovea_status sources_ring(Trial& trial) {
  AttentionTrial a(trial, FOVEA_F32, FOVEA_F32);
  a.desc.kv_kind = FOVEA_KV_RING, a.desc.ring_tokens = kTrialKeys, a.desc.pinned_tokens = 4;
  a.desc.causal = FOVEA_CAUSAL_BOTTOM_RIGHT, a.desc.window_left = 60;
  a.args.kv_tokens = 90;
  return a.run();
}

// Pages of 14 tokens, in another order than that of the pool.
fovea_status sources_pages(Trial& trial) {
  AttentionTrial a(trial, FOVEA_F32, FOVEA_F32);
  static constexpr uint32_t kTable[] = {3, 0, 4, 1, 2};
  a.desc.kv_kind = FOVEA_KV_PAGED, a.desc.page_tokens = 14;
  a.args.kv.page_table = kTable, a.args.kv.pages = 5;
  a.args.kv.keys.batch_stride = 14 * kTrialHeadDim, a.args.kv.values.batch_stride = 14 * kTrialValueDim;
  return a.run();
}

// Two entries, of 50 and 20 keys, and of two queries and one.
fovea_status sources_ragged(Trial& trial) {
  AttentionTrial a(trial, FOVEA_F32, FOVEA_F32);
  static constexpr uint32_t kQueries[] = {0, 2, 3}, kKeys[] = {0, 50, 70};
  a.desc.max_batch = 2, a.args.batch = 2, a.args.q_offsets = kQueries, a.args.kv_offsets = kKeys;
  return a.run();
}

int copy_tile(void* self, const fovea_kv_tile* tile) {
  const fovea_kv_source& source = *static_cast<const fovea_kv_source*>(self);
  const uint16_t* const keys = static_cast<const uint16_t*>(source.keys.data) + tile->first * kTrialHeadDim;
  const uint16_t* const values = static_cast<const uint16_t*>(source.values.data) + tile->first * kTrialValueDim;
  uint16_t *const to_keys = static_cast<uint16_t*>(tile->keys), *const to_values = static_cast<uint16_t*>(tile->values);
  for (size_t i = 0; i < tile->count * kTrialHeadDim; ++i) to_keys[i] = keys[i];
  for (size_t i = 0; i < tile->count * kTrialValueDim; ++i) to_values[i] = values[i];
  return 0;
}

// Of f16: the tiles are in the workspace.
fovea_status sources_loader(Trial& trial) {
  AttentionTrial a(trial, FOVEA_F16, FOVEA_F16);
  fovea_kv_source arrays = a.args.kv;
  const fovea_loader loader = {copy_tile, nullptr, &arrays};
  a.desc.kv_kind = FOVEA_KV_LOAD, a.args.kv = {}, a.args.kv.loader = &loader;
  return a.run();
}

}  // namespace
}  // namespace fovea

FOVEA_SELFTEST_PART_(sources, SOURCES)
