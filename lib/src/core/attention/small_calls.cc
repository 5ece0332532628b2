// SPDX-License-Identifier: Apache-2.0
//
// The fast paths of the smallest calls: for those of one query and one key tile a head, and for the heads of an entry that
// differ only in where their rows are.
#include "ground/base/arithmetic.h"
#include "core/attention/head_task.h"

namespace fovea {
namespace {

// Whether the description asks for nothing more, and its plan takes the few-rows kernel for f32.
bool is_plain(const MadePlan& plan) {
  const fovea_attention_desc& d = plan.desc;
  if (kernel_for(plan, 1).index != kFewRowsKernel || d.q_heads != d.kv_heads || d.key_split_tokens != 0) return false;
  if (!is_f32<kTensorFormats>(d.q_dtype) || !is_f32<kTensorFormats>(d.out_dtype) || !is_in_place(d)) return false;
  // The only query of an entry sees all keys if it is the last one.
  if (d.causal != FOVEA_CAUSAL_NONE && d.diagonal != FOVEA_DIAGONAL_BOTTOM_RIGHT) return false;
  return !is_additive(d) && softcap(d) == 0.0f && !window_left(d) && !window_right(d) && !rotates_keys(d) &&
         !rotates_values(d);
}

// Whether the arguments ask for nothing more.
bool is_small(const AttentionCall& call) {
  if (call.q_tokens() != 1 || call.kv_tokens() > kKeyTile || call.q_offsets() || call.kv_offsets()) return false;
  if (call.executor() || call.stream() || has_slow_part(call.plan, call.workspace)) return false;
  if (call.is_masked() || call.alibi_slopes() || call.sinks() || call.modifier() || call.block_map()) return false;
  return !call.wants_lse() && !call.wants_scores() && !call.wants_mass();
}

// Whether the heads of the entry have only one key tile, and differ in nothing but where their rows are.
bool differs_in_rows(const HeadTask& task) {
  const AttentionCall& call = task.call();
  const KeyLimits& limits = task.limits;
  if (task.doing() != Part::kWhole || task.per_row || task.range_count() != 1 || limits.limited()) return false;
  if (call.block_map() || call.wants_scores() || call.modifies_weights() || call.wants_mass()) return false;
  if (is_additive(call.desc) || is_loaded(call.desc)) return false;
  if (rotates_keys(call.desc) || rotates_values(call.desc)) return false;
  return limits.keys != 0 && limits.keys <= kKeyTile && output_tensor(call, 0).is_plain;
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
      outputs.out.data = row_of(call.out(), sizeof(float), entry, head, 0);
      whole(tile, keys, steps, q, scale, outputs);
    }
  }
  return true;
}

void HeadTask::find_lone(const QueryTile* tiles, uint32_t count) {
  if (!kHasLoneTiles) return;
  if (kHasI8Products) source.serve(count * tiles[0].columns);
  lone->found = count == 1 && differs_in_rows(*this) && !source.in_pieces();
  if (!lone->found) return;
  KeyTile& keys = lone->keys;
  prepare(&keys);
  keys.first = keys.begin = 0;
  keys.end = limits.keys;
  keys.edge = false;
  keys.masked = !kHasMasks || kKeyTile > steps.mask->begin;
  same_row_facts(*this, tiles[0]);
  find_outputs(*this, &lone->outputs);
}

void HeadTask::run_lone(QueryTile& tile) {
  if (!kHasLoneTiles) return;
  if (const auto whole = *kernel().whole) {
    source.bring(&lone->keys, 0);
    return whole(tile, lone->keys, steps, q, score_factor(), lone->outputs);
  }
  kernel().begin(tile, q, score_factor());
  source.bring(&lone->keys, 0);
  kernel().attend(tile, lone->keys, steps);
  kernel().steps->end(tile, lone->outputs);
}

}  // namespace fovea
