// SPDX-License-Identifier: Apache-2.0
#include "ground/base/arithmetic.h"
#include "core/attention/call.h"

namespace fovea {
namespace {

// Whether the description asks for nothing more, and its plan takes the few-rows kernel for f32.
bool is_plain(const fovea_plan& plan) {
  const fovea_attention_desc& d = plan.desc;
  if (kernel_for(plan, 1).index != kFewRowsKernel || d.q_heads != d.kv_heads || d.key_split_tokens != 0) return false;
  if (!is_f32<kTensorFormats>(d.q_dtype) || !is_f32<kTensorFormats>(d.out_dtype) || !is_in_place(d)) return false;
  // The only query of an entry sees all keys if it is the last one.
  if (d.causal != FOVEA_CAUSAL_NONE && d.diagonal != FOVEA_DIAGONAL_BOTTOM_RIGHT) return false;
  return !is_additive(d) && softcap(d) == 0.0f && !window_left(d) && !window_right(d) && !rotates_keys(d) &&
         !rotates_values(d);
}

// The same for the arguments.
bool is_small(const AttentionCall& call) {
  if (call.q_tokens() != 1 || call.kv_tokens() > kKeyTile || call.q_offsets() || call.kv_offsets()) return false;
  if (call.executor() || call.stream() || has_slow_part(call.plan, call.workspace)) return false;
  if (call.is_masked() || call.alibi_slopes() || call.sinks() || call.modifier() || call.block_map()) return false;
  return !call.wants_lse() && !call.wants_scores() && !call.wants_mass();
}

}  // namespace

bool run_small_call(const AttentionCall& call) {
  if (!kHasLoneTiles || !is_small(call) || !is_plain(call.plan)) return false;
  const auto whole = *attention_kernels(call.desc.target).list[kFewRowsKernel].whole;
  if (!whole) return false;
  // What is 0 in these is not used, or asks for nothing.
  QueryTile tile = {};
  tile.head_dim = call.desc.head_dim;
  tile.value_dim = call.desc.value_dim;
  tile.columns = call.plan.lanes;
  tile.row_lanes = call.plan.lanes;
  Carver carver(call.workspace);
  carver.take(&tile.s, kKeyTile);
  float* queries = nullptr;
  carver.take(&queries, round_up(tile.head_dim, tile.columns));
  tile.q = queries;
  const fovea_kv_source& kv = call.kv();
  KeyTile keys = {};
  keys.keys.stride = kv.keys.token_stride;
  keys.values.stride = kv.values.token_stride;
  const ScoreSteps steps = {};
  TypedRows q = {};
  RowOutputs outputs = {};
  const float scale = call.desc.scale * kLog2E;
  for (uint32_t entry = 0; entry < call.batch(); ++entry) {
    keys.end = call.key_count(entry);
    for (uint32_t head = 0; head < call.desc.kv_heads; ++head) {
      keys.keys.data = row_of(kv.keys, sizeof(float), entry, head, 0);
      keys.values.data = row_of(kv.values, sizeof(float), entry, head, 0);
      q.data = const_cast<char*>(row_of(call.q(), sizeof(float), entry, head, 0));
      outputs.out.data = const_cast<char*>(row_of(as_input(call.out()), sizeof(float), entry, head, 0));
      whole(tile, keys, steps, q, scale, outputs);
    }
  }
  return true;
}

}  // namespace fovea
