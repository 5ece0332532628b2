// SPDX-License-Identifier: Apache-2.0
//
// Attention as one reads it in a paper: for each batch entry, each key head, each tile of query rows, each tile of
// keys, one step of the running softmax (Milakov and Gimelshein, arXiv 1805.02867, algorithm 3; Dao et al., arXiv
// 2205.14135).
#include "run/attention.h"

#include "targets/registry.h"

namespace fovea {
namespace {

template <class T, class Array>
T* entry(const Array& array, size_t batch, size_t head) {
  if (!array.data) return nullptr;
  return static_cast<T*>(array.data) + ptrdiff_t(batch) * array.batch_stride + ptrdiff_t(head) * array.head_stride;
}

// Keys that a query may see by its position: [lo, hi).
struct Visible {
  uint32_t lo, hi;
};

// Where the queries of a batch entry sit, and how far each sees.
struct Positions {
  int64_t first;         // position of query 0
  uint32_t begin, keys;  // no query sees a key before begin, which is 0 but in streams, or from keys on
  uint32_t left, right;  // windows, 0 = unlimited; causal is right = 1

  bool limited() const { return left || right; }

  Visible visible(uint32_t token) const {
    if (!config::kLimits) return {begin, keys};
    const int64_t position = first + token;
    return {left ? clamp(position - left + 1) : begin, right ? clamp(position + right) : keys};
  }
  // Only these keys from now on.
  void keep(uint32_t first_key, uint32_t count) {
    const uint32_t end = keys > first_key ? keys : first_key;
    keys = end - first_key < count ? end : first_key + count;
    begin = first_key;
  }
  uint32_t clamp(int64_t key) const {
    return key < int64_t(begin) ? begin : key > int64_t(keys) ? keys : uint32_t(key);
  }
};

// The part of a position that an int32_t less a key's index holds. It is all of it where keys are near.
int32_t narrow(int64_t position) {
  constexpr int64_t limit = int64_t(1) << 30;
  return int32_t(position < -limit ? -limit : position > limit ? limit : position);
}

// In a call on a stream, key 0 is not the first of all but the last on the grid of key tiles, so that tiles lie where
// those of a whole call do.
Positions positions_of(const fovea_plan& plan, const fovea_attention_args& args, const StreamCall* stream,
                       uint32_t batch) {
  const fovea_attention_desc& d = plan.desc;
  Positions p;
  p.begin = 0;
  p.keys = args.kv_lengths ? args.kv_lengths[batch] : args.kv_tokens;
  p.first = config::kPositions && args.positions ? args.positions[batch] : 0;
  if (config::kCausal && d.causal == FOVEA_CAUSAL_BOTTOM_RIGHT) p.first = int64_t(p.keys) - int64_t(args.q_tokens);
  p.left = config::kWindows ? d.window_left : 0;
  p.right = config::kCausal && d.causal != FOVEA_CAUSAL_NONE ? 1 : config::kWindows ? d.window_right : 0;
  // A mask that ends early hides the keys behind it.
  if (config::kMask && args.mask.kind != FOVEA_MASK_NONE && args.mask.kv_tokens < p.keys) p.keys = args.mask.kv_tokens;
  if (config::kStreams && stream) {
    p.begin = uint32_t(stream->first_key % kKeyTile);
    p.keys = stream->ends ? p.begin : p.begin + p.keys;
    p.first -= stream->first_key - p.begin;
  }
  return p;
}

// What a task does of: begin, take up a state, attend to keys, put down the state, end with outputs.
enum class Part {
  kWhole,  // from begin to end
  kSplit,  // begin, attend, put down: some of the keys
  kPush,   // begin, take up, attend, put down
  kEnd,    // take up, end
};

// All that one key head of one batch entry needs. The first part is the same for all heads of a call.
struct HeadTask {
  HeadTask(const fovea_plan& plan_, const fovea_attention_args& args_, const TileKernels& kernels_)
      : plan(plan_), args(args_), kernels(kernels_), group(plan.desc.q_heads / plan.desc.kv_heads) {}

  const fovea_plan& plan;
  const fovea_attention_args& args;
  const TileKernels& kernels;
  const StateKernels* states;  // where there are any
  uint32_t group;              // query heads that share the key head
  Part part;
  uint32_t first_key;  // the key that keys and values begin with: 0 but in streams

  uint32_t kv_head;
  Positions positions;
  RowArray<const float> q;
  RowOutputs outputs;
  RowArray<float> scores;
  const float* keys;
  const float* values;
  StateRows state;  // of the head
  ScoreStages stages;

  // A constant where there are no states.
  Part doing() const { return config::kStates ? part : Part::kWhole; }
  bool begins() const { return doing() != Part::kEnd || (config::kScores && args.scores_stage != FOVEA_SCORES_NONE); }
  bool takes_up() const { return doing() == Part::kPush || doing() == Part::kEnd; }
  bool puts_down() const { return doing() == Part::kPush || doing() == Part::kSplit; }
};

// The part that is the same for all heads.
HeadTask call_task(const fovea_plan& plan, const fovea_attention_args& args, const TileKernels& kernels) {
  const fovea_attention_desc& d = plan.desc;
  HeadTask task(plan, args, kernels);
  task.outputs.lse.data = nullptr;
  task.outputs.sinks = args.sinks != nullptr;
  ScoreStages& stages = task.stages;
  if (config::kSoftcap) {
    constexpr float most = 8.5e37f;  // its inverse is not subnormal; no score is near
    stages.softcap = d.softcap < most / kLog2E ? d.softcap * kLog2E : most;
    stages.inverse_softcap = d.softcap > 0.0f ? 1.0f / stages.softcap : 0.0f;
  }
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
  if (config::kLse && args.lse.data) {
    task->outputs.lse = {entry<float>(args.lse, batch, head), args.lse.token_stride, args.lse.head_stride};
  }
  if (config::kScores && args.scores_stage != FOVEA_SCORES_NONE) {
    task->scores = {entry<float>(args.scores, batch, head), args.scores.token_stride, args.scores.head_stride};
  }
  task->keys = entry<const float>(args.kv.keys, batch, kv_head);
  task->values = entry<const float>(args.kv.values, batch, kv_head);
  // Masks are looked at by the key's index.
  const ptrdiff_t first = task->first_key;
  if (config::kMaskF32 && args.mask.kind == FOVEA_MASK_F32) {
    task->stages.mask_f32 = {entry<const float>(args.mask, batch, head) - first, args.mask.q_stride,
                             args.mask.head_stride};
  } else if (config::kMaskByte && args.mask.kind == FOVEA_MASK_BYTE) {
    task->stages.mask_byte = {entry<const uint8_t>(args.mask, batch, head) - first, args.mask.q_stride,
                              args.mask.head_stride};
  }
}

// The keys [begin, end) of the tile that starts at absolute key `first`.
KeyTile key_tile(const HeadTask& task, uint32_t first, uint32_t begin, uint32_t end) {
  const fovea_kv_source& kv = task.args.kv;
  KeyTile keys;
  const ptrdiff_t token = ptrdiff_t(first) - ptrdiff_t(task.first_key);
  keys.keys = task.keys + token * kv.keys.token_stride;
  keys.values = task.values + token * kv.values.token_stride;
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
  const bool limited = config::kLimits && task.positions.limited();
  const bool biased = config::kAlibi && task.stages.alibi;
  const bool sinks = config::kSinks && task.outputs.sinks;
  if (!limited && !biased && !sinks) return;
  for (uint32_t column = 0; column < tile.columns; ++column) {
    const uint32_t row = column / tile.row_lanes;
    const uint32_t group_row = tile.first_head + (row < tile.live ? row : tile.live - 1);
    const uint32_t token = tile.first_token + group_row / task.group;
    const size_t q_head = size_t(task.kv_head) * task.group + group_row % task.group;
    if (limited) {
      const Visible visible = task.positions.visible(token);
      tile.lo[column] = int32_t(visible.lo);
      tile.hi[column] = int32_t(visible.hi);
    }
    if (biased) {
      const int64_t position = task.positions.first + token;
      tile.pos[column] = narrow(position);
      tile.far_pos[column] = float(position - tile.pos[column]);
      tile.slope[column] = task.args.alibi_slopes[q_head] * kLog2E;
    }
    if (sinks) tile.sink[column] = task.args.sinks[q_head] * kLog2E;
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

// Key tiles end on the grid. Only the first tile of a stream's call may begin off it.
uint32_t tile_end(uint32_t first) { return (first / kKeyTile + 1) * kKeyTile; }

// The part of the key tile at `first` that a tile of rows with these limits takes. False if none.
bool clip_key_tile(const HeadTask& task, const TileLimits& limits, uint32_t first, KeyTile* keys) {
  if (limits.empty() || first >= limits.some_hi || tile_end(first) <= limits.some_lo) return false;
  const uint32_t begin = limits.some_lo > first ? (limits.some_lo - first) / kKeyGrain * kKeyGrain : 0;
  const uint32_t end = (limits.some_hi < tile_end(first) ? limits.some_hi : tile_end(first)) - first;
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
constexpr uint32_t kMostTiles = kFewRowsServed ? 2 : 1;

StateRows state_rows(const HeadTask& task, const QueryTile& tile) {
  return task.state.from(size_t(tile.first_token) * task.group + tile.first_head, tile.value_dim);
}

void run_query_tiles(const HeadTask& task, const QueryTile* tiles, uint32_t count) {
  TileLimits limits[kMostTiles];
  uint32_t lo = UINT32_MAX, hi = 0;
  for (uint32_t i = 0; i < count; ++i) {
    fill_row_facts(task, tiles[i]);
    if (task.begins()) task.kernels.begin(tiles[i], task.q, task.plan.desc.scale * kLog2E);
    if (task.takes_up()) task.states->resume(tiles[i], state_rows(task, tiles[i]));
    limits[i] = TileLimits::of(task, tiles[i]);
    if (limits[i].empty()) continue;
    if (limits[i].some_lo < lo) lo = limits[i].some_lo;
    if (limits[i].some_hi > hi) hi = limits[i].some_hi;
  }
  const uint32_t on_grid = lo / kKeyTile * kKeyTile, begin = task.positions.begin;
  if (task.doing() == Part::kEnd) hi = 0;
  for (uint32_t first = on_grid > begin ? on_grid : begin; first < hi; first = tile_end(first)) {
    KeyTile keys;
    for (uint32_t i = 0; i < count; ++i) {
      if (clip_key_tile(task, limits[i], first, &keys)) task.kernels.attend(tiles[i], keys, task.stages);
    }
  }
  for (uint32_t i = 0; i < count; ++i) {
    if (task.puts_down()) {
      task.states->suspend(tiles[i], state_rows(task, tiles[i]));
      continue;
    }
    task.kernels.end(tiles[i], task.outputs);
    if (config::kScores && task.args.scores_stage != FOVEA_SCORES_NONE) write_scores(task, tiles[i]);
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

// One tile of the tile kernel, which is carved. Tiles have nearly equal numbers of vectors: 64 rows of 16 lanes are 2 + 2,
// not 3 + 1.
void place_tile(const fovea_plan& plan, uint32_t rows, uint32_t tiles, uint32_t index, QueryTile* tile) {
  const uint32_t vectors = (rows + plan.lanes - 1) / plan.lanes, more = vectors % tiles;
  const uint32_t row = (vectors / tiles * index + (index < more ? index : more)) * plan.lanes;
  tile->row_lanes = 1;
  tile->columns = (vectors / tiles + (index < more)) * plan.lanes;
  place_rows(plan.desc, row, rows - row < tile->columns ? rows - row : tile->columns, tile);
}

// All tiles of the few-rows kernel: carved and placed. Returns how many.
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

// A call, cut into tasks that may run side by side. A task is a tile of a head of a batch entry, or all of its rows in the
// few-rows kernel; where keys are split, one for each part of the keys, and then one that joins the parts.
class Call {
 public:
  Call(const fovea_plan& plan, const fovea_attention_args& args, const Workspace& workspace, const StreamCall* stream)
      : plan_(plan), args_(args), workspace_(workspace), stream_(stream) {
    const fovea_attention_desc& d = plan.desc;
    rows_ = d.q_heads / d.kv_heads * args.q_tokens;
    few_ = kFewRowsServed && rows_ <= plan.few_rows;
    const uint32_t vectors = (rows_ + plan.lanes - 1) / plan.lanes;
    tiles_ = few_ ? 1 : (vectors + plan.tile_vectors - 1) / plan.tile_vectors;
    splits_ = stream ? 1 : split_count(d, args.kv_tokens);
    if (config::kKeySplits && splits_ > 1) {
      float* const max = static_cast<float*>(split_workspace(plan, workspace));
      const size_t states = all_rows() * splits_;
      states_ = {max, max + states, max + 2 * states};
    }
  }

  fovea_status run() {
    const fovea_attention_desc& d = plan_.desc;
    const size_t tasks = size_t(args_.batch) * d.kv_heads * tiles_;
    if (rows_ == 0 || tasks == 0) return FOVEA_OK;
    if (stream_) return run_tasks(stream_->ends ? Part::kEnd : Part::kPush, tasks);
    if (!config::kKeySplits || splits_ <= 1) return run_tasks(Part::kWhole, tasks);
    const fovea_status status = run_tasks(Part::kSplit, tasks * splits_);
    return status != FOVEA_OK ? status : run_tasks(Part::kEnd, tasks);
  }

 private:
  size_t all_rows() const { return size_t(args_.batch) * plan_.desc.kv_heads * rows_; }

  fovea_status run_tasks(Part part, size_t tasks) {
    part_ = part;
    const fovea_executor* const executor = args_.executor;
    if (config::kExecutor && executor && tasks > 1) {
      const auto task = [](void* call, size_t index, uint32_t worker) {
        static_cast<const Call*>(call)->run_task(index, worker);
      };
      return executor->run(executor->self, tasks, task, this) == 0 ? FOVEA_OK : FOVEA_ERR_EXECUTOR;
    }
    for (size_t index = 0; index < tasks; ++index) run_task(index, 0);
    return FOVEA_OK;
  }

  void run_task(size_t index, uint32_t worker) const {
    if (worker >= worker_count(plan_.desc)) return;  // it has no workspace
    const AttentionKernels& kernels = attention_kernels(plan_.desc.target);
    HeadTask task = call_task(plan_, args_, few_ ? kernels.few_rows : kernels.tile);
    task.part = part_;
    uint32_t split = 0;
    if (config::kKeySplits && part_ == Part::kSplit) {
      split = uint32_t(index % splits_);
      index /= splits_;
    }
    const uint32_t tile = uint32_t(index % tiles_);
    const size_t head = index / tiles_;  // of all entries
    const uint32_t batch = uint32_t(head / plan_.desc.kv_heads), kv_head = uint32_t(head % plan_.desc.kv_heads);
    task.positions = positions_of(plan_, args_, stream_, batch);
    task.first_key = task.positions.begin;
    enter_head(&task, batch, kv_head);

    QueryTile tiles[kMostTiles];
    uint32_t count = 1;
    Carver carver(worker_workspace(plan_, workspace_, worker));
    if (few_) {
      count = few_row_tiles(plan_, rows_, carver, tiles);
    } else {
      const fovea_attention_desc& d = plan_.desc;
      carve_query_tile(carver, tile_shape(plan_.lanes, plan_.tile_vectors, d.head_dim, d.value_dim), tiles);
      place_tile(plan_, rows_, tiles_, tile, tiles);
    }
    if (config::kStates && part_ != Part::kWhole) find_states(head, split, tiles, count, &task);
    run_query_tiles(task, tiles, count);
  }

  // Where the states of a task lie. That of split keys is limited to its part of them; the last task joins all parts.
  void find_states(size_t head, uint32_t split, const QueryTile* tiles, uint32_t count, HeadTask* task) const {
    const size_t value_dim = plan_.desc.value_dim;
    const StreamKernels& kernels = stream_ ? stream_->kernels : stream_kernels(plan_.desc.target);
    task->states = few_ ? &kernels.few_rows : &kernels.tile;
    if (stream_) {
      task->state = stream_->rows.from(head * rows_, value_dim);
      return;
    }
    task->state = states_.from(split * all_rows() + head * rows_, value_dim);
    if (part_ == Part::kSplit) {
      task->positions.keep(split * plan_.desc.key_split_tokens, plan_.desc.key_split_tokens);
      return;
    }
    const uint32_t row = tiles[0].first_token * task->group + tiles[0].first_head;
    const uint32_t rows = few_ ? rows_ : tiles[count - 1].live;
    for (uint32_t other = 1; other < splits_; ++other) {
      const StateRows from = states_.from(other * all_rows() + head * rows_ + row, value_dim);
      kernels.merge(task->state.from(row, value_dim), from, rows, value_dim);
    }
  }

  const fovea_plan& plan_;
  const fovea_attention_args& args_;
  const Workspace& workspace_;
  const StreamCall* stream_;
  uint32_t rows_;     // of a key head
  bool few_;          // they take the few-rows kernel
  uint32_t tiles_;    // tasks for the rows of a head
  uint32_t splits_;   // parts of the keys
  StateRows states_;  // [splits][batch][kv_heads][rows], of split keys
  Part part_ = Part::kWhole;
};

}  // namespace

fovea_status run_attention(const fovea_plan& plan, const fovea_attention_args& args, const Workspace& workspace,
                           const StreamCall* stream) {
  return Call(plan, args, workspace, stream).run();
}

}  // namespace fovea
