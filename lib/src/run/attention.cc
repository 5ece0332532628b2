// SPDX-License-Identifier: Apache-2.0
//
// Attention as one reads it in a paper: for each batch entry, each key head, each tile of query rows, each tile of keys, one
// step of the running softmax (Milakov and Gimelshein, arXiv 1805.02867, algorithm 3; Dao et al., arXiv 2205.14135).
#include "run/attention.h"

#include "plan/workspace.h"

namespace fovea {
namespace {

constexpr float kLog2E = 1.44269504f;

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

// Positions as the kernels take them. Differences to keys are only ever needed next to the keys, or for ALiBi.
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

// All that one key head of one batch entry needs.
struct HeadTask {
  const fovea_plan& plan;
  const fovea_attention_args& args;
  const AttentionKernels& kernels;
  uint32_t batch, kv_head;
  uint32_t group;  // query heads that share the key head
  Positions positions;
  RowArray<const float> q;
  RowOutputs outputs;
  RowArray<float> scores;
  const float* keys;
  const float* values;
  ScoreStages stages;
};

HeadTask head_task(const fovea_plan& plan, const fovea_attention_args& args, const AttentionKernels& kernels,
                   uint32_t batch, uint32_t kv_head) {
  const fovea_attention_desc& d = plan.desc;
  const uint32_t group = d.q_heads / d.kv_heads;
  const uint32_t head = kv_head * group;
  HeadTask task = {plan, args, kernels, batch, kv_head, group, positions_of(plan, args, batch), {}, {}, {}, {}, {}, {}};
  task.q = {entry<const float>(args.q, batch, head), args.q.token_stride, args.q.head_stride};
  task.outputs.out = {entry<float>(args.out, batch, head), args.out.token_stride, args.out.head_stride};
  if (args.lse.data) {
    task.outputs.lse = {entry<float>(args.lse, batch, head), args.lse.token_stride, args.lse.head_stride};
  }
  task.outputs.sinks = args.sinks != nullptr;
  if (args.scores_stage != FOVEA_SCORES_NONE) {
    task.scores = {entry<float>(args.scores, batch, head), args.scores.token_stride, args.scores.head_stride};
  }
  task.keys = entry<const float>(args.kv.keys, batch, kv_head);
  task.values = entry<const float>(args.kv.values, batch, kv_head);

  ScoreStages& stages = task.stages;
  stages.softcap = d.softcap * kLog2E;
  stages.inverse_softcap = d.softcap > 0.0f ? 1.0f / stages.softcap : 0.0f;
  stages.alibi = args.alibi_slopes != nullptr;
  stages.mask_kind = args.mask.kind;
  if (args.mask.kind == FOVEA_MASK_F32) {
    stages.mask_f32 = {entry<const float>(args.mask, batch, head), args.mask.q_stride, args.mask.head_stride};
  } else if (args.mask.kind == FOVEA_MASK_BYTE) {
    stages.mask_byte = {entry<const uint8_t>(args.mask, batch, head), args.mask.q_stride, args.mask.head_stride};
  }
  return task;
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
  keys.edge = false;
  return keys;
}

// Per-row facts that limits, ALiBi and sinks need. Padding rows repeat the last live one.
void fill_row_facts(const HeadTask& task, const QueryTile& tile) {
  const bool places = task.positions.limited() || task.stages.alibi;
  if (!places && !task.outputs.sinks) return;
  uint32_t token = tile.first_token, head = tile.first_head;
  for (uint32_t row = 0; row < tile.rows; ++row) {
    const Visible visible = task.positions.visible(token);
    tile.lo[row] = int32_t(visible.lo);
    tile.hi[row] = int32_t(visible.hi);
    tile.pos[row] = narrow(task.positions.first + token);
    const size_t q_head = size_t(task.kv_head) * task.group + head;
    if (task.stages.alibi) tile.slope[row] = task.args.alibi_slopes[q_head] * kLog2E;
    if (task.outputs.sinks) tile.sink[row] = task.args.sinks[q_head] * kLog2E;
    if (row + 1 >= tile.live) continue;
    if (++head == task.group) {
      head = 0;
      ++token;
    }
  }
}

// Key tiles that some row of a query tile may see, in order, as the positions tell.
class KeyTiles {
 public:
  KeyTiles(const HeadTask& task, const QueryTile& tile) : task_(task) {
    // Limits grow with the token: the first row sees least to the right, the last least to the left.
    const Visible first_row = task.positions.visible(tile.first_token);
    const Visible last_row = task.positions.visible((tile.first_head + tile.live - 1) / task.group + tile.first_token);
    some_lo_ = first_row.lo;
    all_lo_ = last_row.lo;
    all_hi_ = first_row.hi;
    some_hi_ = last_row.hi;
    first_ = some_lo_ / kKeyTile * kKeyTile;
  }

  bool next(KeyTile* keys) {
    if (first_ >= some_hi_ || some_lo_ >= some_hi_) return false;
    const uint32_t begin = some_lo_ > first_ ? (some_lo_ - first_) / kKeyGrain * kKeyGrain : 0;
    const uint32_t end = some_hi_ - first_ < kKeyTile ? some_hi_ - first_ : kKeyTile;
    *keys = key_tile(task_, first_, begin, end);
    keys->edge = first_ + begin < all_lo_ || first_ + end > all_hi_;
    first_ += kKeyTile;
    return true;
  }

 private:
  const HeadTask& task_;
  uint32_t some_lo_, all_lo_, all_hi_, some_hi_;
  uint32_t first_;
};

// Scores to the caller: the scores of each tile once more, now that the normalisation is known.
void write_scores(const HeadTask& task, const QueryTile& tile) {
  const fovea_scores_stage stage = task.args.scores_stage;
  const AttentionKernels& kernels = task.kernels;
  if (stage < FOVEA_SCORES_MASKED) {
    for (uint32_t first = 0; first < task.args.kv_tokens; first += kKeyTile) {
      const uint32_t left = task.args.kv_tokens - first;
      const KeyTile keys = key_tile(task, first, 0, left < kKeyTile ? left : kKeyTile);
      kernels.scores_out(tile, keys, task.stages, stage, task.scores);
    }
    return;
  }
  uint32_t done = 0;
  KeyTile keys;
  for (KeyTiles tiles(task, tile); tiles.next(&keys);) {
    const uint32_t begin = keys.first + keys.begin;
    if (begin > done) kernels.scores_hidden(tile, done, begin - done, stage, task.scores);
    kernels.scores_out(tile, keys, task.stages, stage, task.scores);
    done = keys.first + keys.end;
  }
  if (done < task.args.kv_tokens) kernels.scores_hidden(tile, done, task.args.kv_tokens - done, stage, task.scores);
}

void run_query_tile(const HeadTask& task, const QueryTile& tile) {
  fill_row_facts(task, tile);
  task.kernels.begin(tile, task.q, task.plan.desc.scale * kLog2E);
  KeyTile keys;
  for (KeyTiles tiles(task, tile); tiles.next(&keys);) task.kernels.attend(tile, keys, task.stages);
  task.kernels.end(tile, task.outputs);
  if (task.args.scores_stage != FOVEA_SCORES_NONE) write_scores(task, tile);
}

// Rows of a key head, cut into tiles of nearly equal numbers of vectors: 64 rows of 16 lanes are 2 + 2, not 3 + 1.
void run_head(const HeadTask& task, QueryTile tile) {
  const uint32_t lanes = task.plan.lanes;
  const uint32_t rows = task.group * task.args.q_tokens;
  uint32_t vectors = (rows + lanes - 1) / lanes;
  uint32_t tiles = (vectors + task.plan.tile_vectors - 1) / task.plan.tile_vectors;
  tile.group = task.group;
  for (uint32_t row = 0; row < rows; row += tile.live) {
    tile.vectors = (vectors + tiles - 1) / tiles;
    tile.rows = tile.vectors * lanes;
    tile.live = rows - row < tile.rows ? rows - row : tile.rows;
    tile.first_token = row / task.group;
    tile.first_head = row % task.group;
    vectors -= tile.vectors;
    --tiles;
    run_query_tile(task, tile);
  }
}

}  // namespace

void run_attention(const fovea_plan& plan, const fovea_attention_args& args, const AttentionKernels& kernels,
                   void* workspace) {
  const fovea_attention_desc& d = plan.desc;
  Carver carver(workspace);
  QueryTile tile = {};
  carve_query_tile(carver, size_t(plan.lanes) * plan.tile_vectors, d.head_dim, d.value_dim, &tile);
  tile.head_dim = d.head_dim;
  tile.value_dim = d.value_dim;
  if (args.q_tokens == 0) return;
  for (uint32_t batch = 0; batch < args.batch; ++batch) {
    for (uint32_t kv_head = 0; kv_head < d.kv_heads; ++kv_head) {
      run_head(head_task(plan, args, kernels, batch, kv_head), tile);
    }
  }
}

}  // namespace fovea
