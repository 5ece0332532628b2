// SPDX-License-Identifier: Apache-2.0
//
// Attention as one reads it in a paper: for each batch entry, each key head, each tile of query rows, each tile of
// keys, one step of the running softmax (Milakov and Gimelshein, arXiv 1805.02867, algorithm 3; Dao et al., arXiv
// 2205.14135).
#include "run/attention.h"

#include "run/workspace.h"

namespace fovea {
namespace {

template <class T, class Array>
T* entry(const Array& array, size_t batch, size_t head) {
  return static_cast<T*>(array.data) + ptrdiff_t(batch) * array.batch_stride + ptrdiff_t(head) * array.head_stride;
}

// Keys that a query may see by its position: [lo, hi).
struct Visible {
  uint32_t lo, hi;
};

// Where the queries of a batch entry sit, and how far each sees.
struct Positions {
  int64_t first;         // position of query 0
  uint32_t keys;         // of the entry; no query sees further
  uint32_t left, right;  // windows, 0 = unlimited; causal is right = 1

  bool limited() const { return left || right; }

  Visible visible(uint32_t token) const {
    const int64_t position = first + token;
    return {left ? clamp(position - left + 1) : 0, right ? clamp(position + right) : keys};
  }
  uint32_t clamp(int64_t key) const { return key < 0 ? 0 : key > int64_t(keys) ? keys : uint32_t(key); }
};

// The part of a position that an int32_t less a key's index holds. It is all of it where keys are near.
int32_t narrow(int64_t position) {
  constexpr int64_t limit = int64_t(1) << 30;
  return int32_t(position < -limit ? -limit : position > limit ? limit : position);
}

Positions positions_of(const fovea_plan& plan, const fovea_attention_args& args, uint32_t batch) {
  const fovea_attention_desc& d = plan.desc;
  Positions p;
  p.keys = args.kv_lengths ? args.kv_lengths[batch] : args.kv_tokens;
  p.first = args.positions ? args.positions[batch] : 0;
  if (d.causal == FOVEA_CAUSAL_BOTTOM_RIGHT) p.first = int64_t(p.keys) - int64_t(args.q_tokens);
  p.left = d.window_left;
  p.right = d.causal != FOVEA_CAUSAL_NONE ? 1 : d.window_right;
  // A mask that ends early hides the keys behind it.
  if (args.mask.kind != FOVEA_MASK_NONE && args.mask.kv_tokens < p.keys) p.keys = args.mask.kv_tokens;
  return p;
}

// All that one key head of one batch entry needs. The first part is the same for all heads of a call.
struct HeadTask {
  HeadTask(const fovea_plan& plan_, const fovea_attention_args& args_, const TileKernels& kernels_)
      : plan(plan_), args(args_), kernels(kernels_), group(plan.desc.q_heads / plan.desc.kv_heads) {}

  const fovea_plan& plan;
  const fovea_attention_args& args;
  const TileKernels& kernels;
  uint32_t group;  // query heads that share the key head

  uint32_t kv_head;
  Positions positions;
  RowArray<const float> q;
  RowOutputs outputs;
  RowArray<float> scores;
  const float* keys;
  const float* values;
  ScoreStages stages;
};

// The part that is the same for all heads.
HeadTask call_task(const fovea_plan& plan, const fovea_attention_args& args, const TileKernels& kernels) {
  const fovea_attention_desc& d = plan.desc;
  HeadTask task(plan, args, kernels);
  task.outputs.lse.data = nullptr;
  task.outputs.sinks = args.sinks != nullptr;
  ScoreStages& stages = task.stages;
  constexpr float most = 8.5e37f;  // its inverse is not subnormal; no score is near
  stages.softcap = d.softcap < most / kLog2E ? d.softcap * kLog2E : most;
  stages.inverse_softcap = d.softcap > 0.0f ? 1.0f / stages.softcap : 0.0f;
  stages.alibi = args.alibi_slopes != nullptr;
  stages.mask_kind = args.mask.kind;
  return task;
}

// Turns a task to a key head, within the batch entry that its positions are of.
void enter_head(HeadTask* task, uint32_t batch, uint32_t kv_head) {
  const fovea_attention_args& args = task->args;
  const uint32_t head = kv_head * task->group;
  task->kv_head = kv_head;
  task->q = {entry<const float>(args.q, batch, head), args.q.token_stride, args.q.head_stride};
  task->outputs.out = {entry<float>(args.out, batch, head), args.out.token_stride, args.out.head_stride};
  if (args.lse.data) {
    task->outputs.lse = {entry<float>(args.lse, batch, head), args.lse.token_stride, args.lse.head_stride};
  }
  if (args.scores_stage != FOVEA_SCORES_NONE) {
    task->scores = {entry<float>(args.scores, batch, head), args.scores.token_stride, args.scores.head_stride};
  }
  task->keys = entry<const float>(args.kv.keys, batch, kv_head);
  task->values = entry<const float>(args.kv.values, batch, kv_head);
  if (args.mask.kind == FOVEA_MASK_F32) {
    task->stages.mask_f32 = {entry<const float>(args.mask, batch, head), args.mask.q_stride, args.mask.head_stride};
  } else if (args.mask.kind == FOVEA_MASK_BYTE) {
    task->stages.mask_byte = {entry<const uint8_t>(args.mask, batch, head), args.mask.q_stride, args.mask.head_stride};
  }
}

// The keys [begin, end) of the tile that starts at absolute key `first`.
KeyTile key_tile(const HeadTask& task, uint32_t first, uint32_t begin, uint32_t end) {
  const fovea_kv_source& kv = task.args.kv;
  KeyTile keys;
  keys.keys = task.keys + ptrdiff_t(first) * kv.keys.token_stride;
  keys.values = task.values + ptrdiff_t(first) * kv.values.token_stride;
  keys.key_stride = kv.keys.token_stride;
  keys.value_stride = kv.values.token_stride;
  keys.first = first;
  keys.begin = begin;
  keys.end = end;
  keys.edge = keys.more = false;
  return keys;
}

// Per-row facts that limits, ALiBi and sinks need. Padding rows repeat the last live one.
void fill_row_facts(const HeadTask& task, const QueryTile& tile) {
  const bool places = task.positions.limited() || task.stages.alibi;
  if (!places && !task.outputs.sinks) return;
  for (uint32_t column = 0; column < tile.columns; ++column) {
    const uint32_t row = column / tile.row_lanes;
    const uint32_t group_row = tile.first_head + (row < tile.live ? row : tile.live - 1);
    const uint32_t token = tile.first_token + group_row / task.group;
    const Visible visible = task.positions.visible(token);
    tile.lo[column] = int32_t(visible.lo);
    tile.hi[column] = int32_t(visible.hi);
    const int64_t position = task.positions.first + token;
    tile.pos[column] = narrow(position);
    tile.far_pos[column] = float(position - tile.pos[column]);
    const size_t q_head = size_t(task.kv_head) * task.group + group_row % task.group;
    if (task.stages.alibi) tile.slope[column] = task.args.alibi_slopes[q_head] * kLog2E;
    if (task.outputs.sinks) tile.sink[column] = task.args.sinks[q_head] * kLog2E;
  }
}

// The keys that rows of a tile may see, as positions tell: some row sees [some_lo, some_hi), all rows see [all_lo,
// all_hi).
struct TileLimits {
  uint32_t some_lo, all_lo, all_hi, some_hi;

  // Limits grow with the token: the first row sees least to the right, the last least to the left.
  static TileLimits of(const HeadTask& task, const QueryTile& tile) {
    const Visible first = task.positions.visible(tile.first_token);
    const Visible last = task.positions.visible(tile.first_token + (tile.first_head + tile.live - 1) / task.group);
    return {first.lo, last.lo, first.hi, last.hi};
  }
  bool empty() const { return some_lo >= some_hi; }
};

// The part of the key tile at `first` that a tile of rows with these limits takes. False if none.
bool clip_key_tile(const HeadTask& task, const TileLimits& limits, uint32_t first, KeyTile* keys) {
  if (limits.empty() || first >= limits.some_hi || first + kKeyTile <= limits.some_lo) return false;
  const uint32_t begin = limits.some_lo > first ? (limits.some_lo - first) / kKeyGrain * kKeyGrain : 0;
  const uint32_t end = limits.some_hi - first < kKeyTile ? limits.some_hi - first : kKeyTile;
  *keys = key_tile(task, first, begin, end);
  keys->edge = first + begin < limits.all_lo || first + end > limits.all_hi;
  keys->more = limits.some_hi - first > 2 * kKeyTile;
  return true;
}

// Scores to the caller: the scores of each tile once more, now that the normalisation is known.
void write_scores(const HeadTask& task, const QueryTile& tile) {
  const fovea_scores_stage stage = task.args.scores_stage;
  const TileKernels& kernels = task.kernels;
  if (stage < FOVEA_SCORES_MASKED) {
    for (uint32_t first = 0; first < task.args.kv_tokens; first += kKeyTile) {
      const uint32_t left = task.args.kv_tokens - first;
      const KeyTile keys = key_tile(task, first, 0, left < kKeyTile ? left : kKeyTile);
      kernels.scores_out(tile, keys, task.stages, stage, task.scores);
    }
    return;
  }
  const TileLimits limits = TileLimits::of(task, tile);
  uint32_t done = 0;
  for (uint32_t first = limits.some_lo / kKeyTile * kKeyTile; first < limits.some_hi; first += kKeyTile) {
    KeyTile keys;
    if (!clip_key_tile(task, limits, first, &keys)) continue;
    const uint32_t begin = first + keys.begin;
    if (begin > done) kernels.scores_hidden(tile, done, begin - done, stage, task.scores);
    kernels.scores_out(tile, keys, task.stages, stage, task.scores);
    done = first + keys.end;
  }
  if (done < task.args.kv_tokens) kernels.scores_hidden(tile, done, task.args.kv_tokens - done, stage, task.scores);
}

// Up to kMostTiles query tiles of a head, which take each key tile one after the other while it is in the cache.
constexpr uint32_t kMostTiles = 2;

void run_query_tiles(const HeadTask& task, const QueryTile* tiles, uint32_t count) {
  TileLimits limits[kMostTiles];
  uint32_t lo = UINT32_MAX, hi = 0;
  for (uint32_t i = 0; i < count; ++i) {
    fill_row_facts(task, tiles[i]);
    task.kernels.begin(tiles[i], task.q, task.plan.desc.scale * kLog2E);
    limits[i] = TileLimits::of(task, tiles[i]);
    if (limits[i].empty()) continue;
    if (limits[i].some_lo < lo) lo = limits[i].some_lo;
    if (limits[i].some_hi > hi) hi = limits[i].some_hi;
  }
  for (uint32_t first = lo / kKeyTile * kKeyTile; first < hi; first += kKeyTile) {
    KeyTile keys;
    for (uint32_t i = 0; i < count; ++i) {
      if (clip_key_tile(task, limits[i], first, &keys)) task.kernels.attend(tiles[i], keys, task.stages);
    }
  }
  for (uint32_t i = 0; i < count; ++i) {
    task.kernels.end(tiles[i], task.outputs);
    if (task.args.scores_stage != FOVEA_SCORES_NONE) write_scores(task, tiles[i]);
  }
}

void place_rows(const fovea_attention_desc& d, uint32_t row, uint32_t live, QueryTile* tile) {
  const uint32_t group = d.q_heads / d.kv_heads;
  tile->head_dim = d.head_dim;
  tile->value_dim = d.value_dim;
  tile->live = live;
  tile->group = group;
  tile->first_token = row / group;
  tile->first_head = row % group;
}

// Tiles of nearly equal numbers of vectors: 64 rows of 16 lanes are 2 + 2, not 3 + 1. *tile is carved.
void run_head(const HeadTask& task, uint32_t rows, QueryTile* tile) {
  const fovea_plan& plan = task.plan;
  uint32_t vectors = (rows + plan.lanes - 1) / plan.lanes;
  uint32_t tiles = (vectors + plan.tile_vectors - 1) / plan.tile_vectors;
  for (uint32_t row = 0; row < rows; row += tile->live) {
    const uint32_t tile_vectors = (vectors + tiles - 1) / tiles;
    vectors -= tile_vectors;
    --tiles;
    tile->columns = tile_vectors * plan.lanes;
    place_rows(plan.desc, row, rows - row < tile->columns ? rows - row : tile->columns, tile);
    run_query_tiles(task, tile, 1);
  }
}

// Tiles for the few-rows kernel, the same for every head: carved and placed. Returns how many.
uint32_t few_row_tiles(const fovea_plan& plan, uint32_t rows, Carver& carver, QueryTile (&tiles)[kMostTiles]) {
  uint32_t count = 0;
  for (uint32_t row = 0; row < rows; row += tiles[count++].live) {
    QueryTile& tile = tiles[count];
    carve_query_tile(carver, few_rows_shape(plan.lanes, plan.desc.head_dim, plan.desc.value_dim), &tile);
    place_rows(plan.desc, row, rows - row < kFewRows ? rows - row : kFewRows, &tile);
    tile.columns = plan.lanes;
    tile.row_lanes = plan.lanes / (tile.live == 3 ? kFewRows : tile.live);
  }
  return count;
}

}  // namespace

void run_attention(const fovea_plan& plan, const fovea_attention_args& args, const AttentionKernels& kernels,
                   void* workspace) {
  const fovea_attention_desc& d = plan.desc;
  const uint32_t rows = d.q_heads / d.kv_heads * args.q_tokens;
  if (rows == 0) return;
  // Heads take the workspace one after the other.
  const bool few = rows <= plan.few_rows;
  Carver carver(workspace);
  QueryTile tiles[kMostTiles];
  uint32_t few_tiles = 0;
  if (few) {
    few_tiles = few_row_tiles(plan, rows, carver, tiles);
  } else {
    carve_query_tile(carver, tile_shape(plan.lanes, plan.tile_vectors, d.head_dim, d.value_dim), tiles);
    tiles[0].row_lanes = 1;
  }
  HeadTask task = call_task(plan, args, few ? kernels.few_rows : kernels.tile);
  for (uint32_t batch = 0; batch < args.batch; ++batch) {
    task.positions = positions_of(plan, args, batch);
    for (uint32_t kv_head = 0; kv_head < d.kv_heads; ++kv_head) {
      enter_head(&task, batch, kv_head);
      if (few) {
        run_query_tiles(task, tiles, few_tiles);
      } else {
        run_head(task, rows, tiles);
      }
    }
  }
}

}  // namespace fovea
