// SPDX-License-Identifier: Apache-2.0
#include "bench/work.h"

#include <algorithm>

namespace fovea::bench {
namespace {

// Keys [lo, hi) that limits of position let the query see. fovea.h defines the positions of queries.
struct Visible {
  int64_t lo, hi;
};

Visible visible(const Shape& s, int64_t query) {
  const int64_t keys = s.kv_tokens;
  const int64_t position = s.causal == FOVEA_CAUSAL_BOTTOM_RIGHT ? query + keys - s.q_tokens : query;
  const uint32_t right = s.causal != FOVEA_CAUSAL_NONE ? 1 : s.window_right;
  Visible v = {0, keys};
  if (s.window_left) v.lo = std::clamp<int64_t>(position - s.window_left + 1, 0, keys);
  if (right) v.hi = std::clamp<int64_t>(position + right, 0, keys);
  v.hi = std::max(v.hi, v.lo);
  return v;
}

// The number of key tiles that rows [row, row + count) of a key head see some key of.
uint64_t key_tiles(const Shape& s, uint64_t row, uint64_t count) {
  const uint64_t group = s.q_heads / s.kv_heads;
  const Visible first = visible(s, static_cast<int64_t>(row / group));
  const Visible last = visible(s, static_cast<int64_t>((row + count - 1) / group));
  if (first.lo >= last.hi) return 0;
  return static_cast<uint64_t>((last.hi + FOVEA_KEY_TILE - 1) / FOVEA_KEY_TILE - first.lo / FOVEA_KEY_TILE);
}

fovea_attention_kernel kernel_for(const fovea_attention_plan& plan, uint64_t rows) {
  fovea_attention_kernel kernel = {};
  fovea_attention_plan_kernel(&plan, static_cast<uint32_t>(rows), &kernel);
  return kernel;
}

// Query tiles in the plan's division: whole vectors, about the same number in each; or for few rows whole tiles.
uint64_t count_tiles(const Shape& s, const fovea_attention_plan& plan) {
  const uint64_t rows = uint64_t{s.q_heads / s.kv_heads} * s.q_tokens;
  uint64_t pairs = 0;
  const fovea_attention_kernel kernel = kernel_for(plan, rows);
  const uint64_t tile_rows = kernel.tile_rows, grain = kernel.most_rows != UINT32_MAX ? tile_rows : kernel.lanes;
  uint64_t grains = (rows + grain - 1) / grain;
  uint64_t tiles = (rows + tile_rows - 1) / tile_rows;
  for (uint64_t row = 0; tiles; --tiles) {
    const uint64_t tile_grains = (grains + tiles - 1) / tiles;
    grains -= tile_grains;
    const uint64_t count = std::min<uint64_t>(tile_grains * grain, rows - row);
    pairs += key_tiles(s, row, count);
    row += count;
  }
  return pairs * s.kv_heads * s.batch;
}

// Pairs of a query and a key that are seen by the block map.
double pairs_shown(const Shape& s) {
  double pairs = 0;
  for (uint32_t query = 0; query < s.q_tokens; ++query) {
    for (uint32_t key = 0; key < s.kv_tokens; ++key) pairs += map_shows(s, query, key);
  }
  return pairs;
}

// Two states are read and one is written, with a multiply-add for each element.
Work work_of_merge(const Shape& s, const fovea_attention_plan& plan) {
  const double state_bytes = static_cast<double>(bytes_of(fovea_stream_state_bytes, &plan, s.batch, s.q_tokens));
  Work work = {};
  work.flops = 2.0 * s.batch * s.q_heads * s.q_tokens * (s.value_dim + 1.0);
  work.bytes = 3 * state_bytes;
  work.working_set_bytes = 2 * state_bytes;
  work.row_fill = 1;
  return work;
}

}  // namespace

Work work_of(const SoftmaxShape& s) {
  const double array_bytes = 4.0 * s.outer * s.axis * s.inner, arrays = s.mask ? 3 : 2;
  Work work = {};
  work.bytes = array_bytes * arrays;
  work.working_set_bytes = array_bytes * (arrays - (s.in_place ? 1 : 0));
  work.row_fill = 1;
  return work;
}

Work work_of(const Shape& s, const fovea_attention_plan& plan) {
  if (s.merge) return work_of_merge(s, plan);
  double pairs = 0;
  int64_t lo = s.kv_tokens, hi = 0;  // keys that any query sees
  for (int64_t query = 0; query < s.q_tokens; ++query) {
    const Visible v = visible(s, query);
    if (v.lo == v.hi) continue;
    pairs += static_cast<double>(v.hi - v.lo);
    lo = std::min(lo, v.lo);
    hi = std::max(hi, v.hi);
  }
  if (s.blocks != Blocks::kNone) pairs = pairs_shown(s);
  const double heads = static_cast<double>(s.batch) * s.q_heads, kv_heads = static_cast<double>(s.batch) * s.kv_heads;
  const double dims = static_cast<double>(s.head_dim) + s.value_dim;
  const double kv_row = static_cast<double>(FOVEA_ROW_BYTES_(s.kv_dtype, s.head_dim)) +
                        static_cast<double>(FOVEA_ROW_BYTES_(s.kv_dtype, s.value_dim));
  const double q_element = s.dtype == FOVEA_F32 ? 4 : 2;
  const double keys = static_cast<double>(std::max<int64_t>(hi - lo, 0));
  const double key_rows = kv_heads * std::max(keys - s.prefix, 0.0) + static_cast<double>(s.kv_heads) * s.prefix;
  const double mask_element_bytes = s.mask == FOVEA_MASK_F32 ? 4 : s.mask == FOVEA_MASK_BYTE ? 1 : 0;

  Work work = {};
  work.flops = 2 * heads * pairs * dims;
  work.bytes = q_element * dims * heads * s.q_tokens + kv_row * key_rows + mask_element_bytes * s.q_tokens * keys;
  work.working_set_bytes = work.bytes + static_cast<double>(bytes_of(fovea_attention_workspace_bytes, &plan));
  work.tiles = count_tiles(s, plan);
  const uint64_t rows = uint64_t{s.q_heads / s.kv_heads} * s.q_tokens;
  const uint64_t lanes = kernel_for(plan, rows).lanes, whole = (rows + lanes - 1) / lanes * lanes;
  work.row_fill = whole ? static_cast<double>(rows) / static_cast<double>(whole) : 1.0;
  return work;
}

}  // namespace fovea::bench
