// SPDX-License-Identifier: Apache-2.0
//
// Attention as one reads it in a paper: for each batch entry, each key head, each tile of query rows, each tile of
// keys, one step of the running softmax (Milakov and Gimelshein, arXiv 1805.02867, algorithm 3; Dao et al., arXiv
// 2205.14135).
#include "attention/call.h"

#include "attention/keys.h"
#include "attention/limits.h"
#include "attention/merge_kernels.h"
#include "base/tasks.h"
#include "targets/registry.h"

namespace fovea {
namespace {

template <class T, class Array>
T* entry(const Array& array, size_t batch, size_t head) {
  if (!array.data) return nullptr;
  // Of no tokens strides may be any numbers: they wrap, and nobody goes there.
  const size_t elements = batch * size_t(array.batch_stride) + head * size_t(array.head_stride);
  return advanced(static_cast<T*>(array.data), ptrdiff_t(elements * sizeof(T)));
}

// The part of a position that an int32_t less a key's index holds. It is all of it where keys are near.
int32_t narrow(int64_t position) {
  constexpr int64_t limit = int64_t(1) << 30;
  return int32_t(position < -limit ? -limit : position > limit ? limit : position);
}

// Within 2^-23 of the number. The compiler's own conversion is a call into its library on 32-bit processors.
float to_float(int64_t number) {
  const uint64_t size = number < 0 ? 0 - uint64_t(number) : uint64_t(number);
  const float rounded = float(uint32_t(size >> 32)) * 4294967296.0f + float(uint32_t(size));
  return number < 0 ? -rounded : rounded;
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
  HeadTask(const fovea_plan& plan_, const fovea_attention_args& args_, const AttentionKernel& kernel_,
           const KeyStage& stage, bool widens, uint32_t first_key, uint32_t worker)
      : plan(plan_),
        args(args_),
        kernel(kernel_),
        group(plan.desc.q_heads / plan.desc.kv_heads),
        source(plan, args, stage, widens, first_key, worker) {}

  const fovea_plan& plan;
  const fovea_attention_args& args;
  const AttentionKernel& kernel;
  uint32_t group;              // query heads that share the key head
  Part part;
  KeySource source;
  Positions entry;   // of the batch entry, or of a split's keys in it
  KeyRanges ranges;  // the keys that are there

  uint32_t kv_head;
  Positions positions;  // of the range that was entered
  TypedRows q;
  RowOutputs outputs;
  RowArray<float> scores;
  StateRows state;      // of the head: taken up
  StateRows state_out;  // put down: mostly the same
  ScoreSteps steps;

  // A constant where there are no states.
  Part doing() const { return config::kStates ? part : Part::kWhole; }
  bool begins() const { return doing() != Part::kEnd || writes_scores(); }
  bool takes_up() const { return doing() == Part::kPush || doing() == Part::kEnd; }
  bool puts_down() const { return doing() == Part::kPush || doing() == Part::kSplit; }
  float score_factor() const { return plan.desc.scale * kLog2E; }
  uint32_t range_count() const { return config::kRing ? ranges.count : 1; }
  void enter_range(uint32_t range) {
    positions = entry;
    if (config::kRing) positions.keep(ranges.range[range]);
  }
  bool writes_scores() const { return config::kScores && args.scores_stage != FOVEA_SCORES_NONE; }
};

// The part that is the same for all heads.
void enter_call(HeadTask* task) {
  const fovea_attention_desc& d = task->plan.desc;
  const fovea_attention_args& args = task->args;
  task->outputs.lse.data = nullptr;
  task->outputs.sinks = args.sinks != nullptr;
  ScoreSteps& steps = task->steps;
  if (config::kSoftcap) {
    steps.softcap = d.softcap * kLog2E;
    steps.inverse_softcap = d.softcap > 0.0f ? 1.0f / steps.softcap : 0.0f;
  }
  steps.alibi = args.alibi_slopes != nullptr;
  steps.mask_kind = args.mask.kind;
  steps.mask_step = args.mask.broadcast_keys ? 0 : 1;
  steps.mask_hides = args.mask.kind == FOVEA_MASK_F16 ? kHidingMaskF16 : kHidingMask;
  steps.dropout = d.dropout;
  steps.dropout_seed = args.dropout_seed;
}

// Rows of queries or outputs.
template <class Array>
TypedRows typed_rows(const Array& array, fovea_dtype dtype, const EntryQueries& queries, uint32_t head) {
  const size_t unit = unscaled_bytes(dtype);
  char* const first = entry<char>(fovea_out{const_cast<void*>(array.data), stride_bytes(array.batch_stride, unit),
                                            stride_bytes(array.head_stride, unit), 0},
                                  queries.batch, head);
  return {first + ptrdiff_t(queries.first) * array.token_stride * ptrdiff_t(unit), array.token_stride,
          array.head_stride, dtype};
}

void enter_mask(const fovea_mask& mask, uint32_t batch, uint32_t head, uint32_t first_key, ScoreSteps* steps) {
  const size_t unit = mask_element_bytes(mask.kind);
  const ptrdiff_t batch_stride = stride_bytes(mask.batch_stride, unit);
  const ptrdiff_t head_stride = stride_bytes(mask.head_stride, unit), q_stride = stride_bytes(mask.q_stride, unit);
  char* const first = entry<char>(fovea_out{const_cast<void*>(mask.data), batch_stride, head_stride, 0}, batch, head);
  steps->mask = {advanced(first, -ptrdiff_t(first_key * unit * steps->mask_step)), q_stride, head_stride};
  static const float kNoFactor = 1.0f;
  const float* const factors = mask.head_factors ? mask.head_factors + head : &kNoFactor;
  steps->mask_factor = {reinterpret_cast<char*>(const_cast<float*>(factors)), 0,
                        mask.head_factors ? ptrdiff_t(sizeof(float)) : 0};
}

// Turns a task to a key head, within the batch entry that its positions are of. Masks are looked at by the key's index.
// first_key is that of a stream's call, counted from the last on the grid.
void enter_head(HeadTask* task, uint32_t batch, uint32_t kv_head, const EntryQueries& queries, uint32_t first_key) {
  const fovea_attention_args& args = task->args;
  const fovea_attention_desc& d = task->plan.desc;
  const uint32_t head = kv_head * task->group;
  task->kv_head = kv_head;
  task->q = typed_rows(args.q, d.q_dtype, queries, head);
  task->outputs.out = typed_rows(args.out, d.out_dtype, queries, head);
  if (config::kLse && args.lse.data) {
    task->outputs.lse = typed_rows(args.lse, FOVEA_F32, queries, head).as<float>();
  }
  if (task->writes_scores()) {
    task->scores = {entry<float>(args.scores, batch, head), args.scores.token_stride, args.scores.head_stride};
  }
  task->source.enter_head(batch, kv_head);
  task->steps.batch = batch;
  task->steps.first_head = head;
  if (config::kMask && args.mask.kind != FOVEA_MASK_NONE) enter_mask(args.mask, batch, head, first_key, &task->steps);
}

// Per-row facts that limits, ALiBi and sinks need. Padding rows repeat the last live one.
void fill_row_facts(const HeadTask& task, const QueryTile& tile) {
  const bool limited = task.positions.limited();
  const bool biased = config::kAlibi && task.steps.alibi;
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
      tile.far_pos[column] = to_float(position - tile.pos[column]);
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

// The part of the key tile at keys->first that a tile of rows with these limits takes. False if none.
bool clip_key_tile(const TileLimits& limits, KeySpan* keys) {
  const uint32_t first = keys->first;
  if (limits.empty() || first >= limits.some_hi || tile_end(first) <= limits.some_lo) return false;
  keys->begin = limits.some_lo > first ? (limits.some_lo - first) / kKeyGrain * kKeyGrain : 0;
  keys->end = (limits.some_hi < tile_end(first) ? limits.some_hi : tile_end(first)) - first;
  keys->edge = first + keys->begin < limits.all_lo || first + keys->end > limits.all_hi;
  return true;
}

// What some of these query tiles take of it. False if none do.
bool clip_for_some(const TileLimits* limits, uint32_t count, KeySpan* keys) {
  uint32_t begin = kKeyTile, end = 0;
  for (uint32_t i = 0; i < count; ++i) {
    if (!clip_key_tile(limits[i], keys)) continue;
    if (keys->begin < begin) begin = keys->begin;
    if (keys->end > end) end = keys->end;
  }
  keys->begin = begin;
  keys->end = end;
  return begin < end;
}

// Calls `take` for each piece of a key tile, with its keys; where there are no pieces, for the tile.
template <class Take>
void for_key_pieces(const KeySource& source, const KeyTile& keys, const Take& take) {
  const uint32_t step = source.piece_keys();
  for (uint32_t begin = keys.begin; begin < keys.end; begin += step) {
    KeyTile piece = keys;
    piece.begin = begin;
    if (keys.end - begin > step) piece.end = begin + step;
    if (source.in_pieces()) piece.keys = source.keys_of(piece);
    take(piece);
  }
}

// The parts of attend one after the other, each for all query tiles while a piece is there.
void attend_in_pieces(const HeadTask& task, const QueryTile* tiles, const TileLimits* limits, uint32_t count,
                      const KeyTile& keys) {
  uint32_t element = 0, elements = 0;  // of a piece of values
  const auto attend = [&](const KeyTile& piece, AttendPart part) {
    for (uint32_t i = 0; i < count; ++i) {
      KeyTile own = piece;
      if (count > 1 && !clip_key_tile(limits[i], &own)) continue;
      if (own.begin < piece.begin) own.begin = piece.begin;
      if (own.end > piece.end) own.end = piece.end;
      if (own.begin >= own.end) continue;
      own.parts = part;
      QueryTile tile = tiles[i];
      tile.o += size_t(element) * tile.columns;
      tile.value_dim = elements;
      task.kernel.attend(tile, own, task.steps);
    }
  };
  for_key_pieces(task.source, keys, [&](const KeyTile& piece) { attend(piece, kScorePart); });
  attend(keys, kWeightPart);
  const uint32_t value_dim = task.plan.desc.value_dim, step = task.source.piece_elements();
  for (; element < value_dim; element += elements) {
    elements = value_dim - element < step ? value_dim - element : step;
    KeyTile piece = keys;
    piece.values = task.source.values_of(keys, element, elements);
    attend(piece, kValuePart);
  }
}

// The scores of the keys within these limits once more, stored; and where it `fills`, those of all others.
bool write_range(HeadTask& task, const QueryTile& tile, const TileLimits& limits, bool fills) {
  const fovea_scores_stage stage = task.args.scores_stage;
  const AttentionKernel& kernel = task.kernel;
  const uint32_t all_keys = fills ? task.args.kv_tokens : 0;
  uint32_t done = 0;
  for (uint32_t first = limits.some_lo / kKeyTile * kKeyTile; first < limits.some_hi; first += kKeyTile) {
    KeyTile keys;
    keys.first = first;
    if (!clip_key_tile(limits, &keys)) continue;
    if (!task.source.ask(first, keys.begin, keys.end) || !task.source.bring(&keys, false)) return false;
    const uint32_t begin = first + keys.begin;
    if (fills && begin > done) kernel.scores_hidden(tile, done, begin - done, stage, task.scores);
    for_key_pieces(task.source, keys,
                   [&](const KeyTile& piece) { kernel.scores_out(tile, piece, task.steps, stage, task.scores); });
    done = first + keys.end;
  }
  if (done < all_keys) kernel.scores_hidden(tile, done, all_keys - done, stage, task.scores);
  return true;
}

// Scores to the caller, now that the normalisation is known. False where keys cannot be had. Pinned keys come last: in
// a key tile that they share with others, they are written as hidden at first.
bool write_scores(HeadTask& task, const QueryTile& tile) {
  const uint32_t all_keys = task.args.kv_tokens;
  if (task.args.scores_stage < FOVEA_SCORES_MASKED) return write_range(task, tile, {0, 0, all_keys, all_keys}, true);
  const uint32_t ranges = task.range_count();
  for (uint32_t r = ranges; r-- > 0;) {
    task.enter_range(r);
    fill_row_facts(task, tile);
    if (!write_range(task, tile, TileLimits::of(task, tile), r + 1 == ranges)) return false;
  }
  return true;
}

StateRows state_rows(const HeadTask& task, const StateRows& state, const QueryTile& tile) {
  return state.from(size_t(tile.first_token) * task.group + tile.first_head, tile.value_dim);
}

// All keys from positions.begin to positions.keys. False where some cannot be had.
bool attend_to_keys(HeadTask& task, const QueryTile* tiles, uint32_t count) {
  TileLimits limits[kMostTiles];
  uint32_t lo = UINT32_MAX, hi = 0;
  for (uint32_t i = 0; i < count; ++i) {
    limits[i] = TileLimits::of(task, tiles[i]);
    if (limits[i].empty()) continue;
    if (limits[i].some_lo < lo) lo = limits[i].some_lo;
    if (limits[i].some_hi > hi) hi = limits[i].some_hi;
  }
  KeySpan next = {};
  next.first = lo / kKeyTile * kKeyTile;
  if (next.first < task.positions.entered) next.first = task.positions.entered;
  // The next key tile of which something is taken, asked for ahead of its use.
  const auto ask = [&]() {
    while (next.first < hi && !clip_for_some(limits, count, &next)) next.first = tile_end(next.first);
    return next.first >= hi || task.source.ask(next.first, next.begin, next.end);
  };
  if (!ask()) return false;
  while (next.first < hi) {
    KeyTile keys;
    static_cast<KeySpan&>(keys) = next;
    if (!task.source.bring(&keys, hi - next.first > 2 * kKeyTile)) return false;
    next.first = tile_end(next.first);
    // A push has few keys for each head. Without this, 64 of head_dim 128 take 1.6 times as long from memory (Zen 5).
    if (kFewRowsServed && task.doing() == Part::kPush && next.first >= hi) keys.next_keys = task.source.next_head();
    if (!ask()) return false;
    if (task.source.in_pieces()) {
      attend_in_pieces(task, tiles, limits, count, keys);
      continue;
    }
    for (uint32_t i = 0; i < count; ++i) {
      if (count == 1 || clip_key_tile(limits[i], &keys)) task.kernel.attend(tiles[i], keys, task.steps);
    }
  }
  return true;
}

// False where keys cannot be had: then outputs and states are not written, or not all of them.
bool run_query_tiles(HeadTask& task, const QueryTile* tiles, uint32_t count) {
  for (uint32_t i = 0; i < count; ++i) {
    if (task.begins()) task.kernel.begin(tiles[i], task.q, tiles[i].score_vector ? 1.0f : task.score_factor());
    if (task.takes_up()) task.kernel.resume(tiles[i], state_rows(task, task.state, tiles[i]));
  }
  for (uint32_t r = 0; r < task.range_count(); ++r) {
    task.enter_range(r);
    for (uint32_t i = 0; i < count; ++i) fill_row_facts(task, tiles[i]);
    if (task.doing() != Part::kEnd && !attend_to_keys(task, tiles, count)) return false;
  }
  for (uint32_t i = 0; i < count; ++i) {
    if (task.puts_down()) {
      task.kernel.suspend(tiles[i], state_rows(task, task.state_out, tiles[i]));
      continue;
    }
    task.kernel.end(tiles[i], task.outputs);
    if (task.writes_scores() && !write_scores(task, tiles[i])) return false;
  }
  return true;
}

// A constant in builds with one kernel.
uint32_t kernel_index(const fovea_plan_kernel& kernel) { return kFewRowsServed ? kernel.index : kTileKernel; }

// Query tiles that share each key tile.
uint32_t tiles_at_once(const fovea_plan_kernel& kernel) { return kMostTiles == 1 ? 1 : kernel.tiles; }

// How the rows of a key head are cut, in an entry with that many queries. Tiles have nearly equal numbers of grains: 64
// rows of 16 lanes are 2 + 2 vectors, not 3 + 1.
struct Cut {
  const fovea_plan_kernel* kernel;
  uint32_t rows;
  uint32_t grains;
  uint32_t tiles;
  uint32_t blocks;  // of tiles at once: tasks
};

Cut cut_of(const fovea_plan& plan, uint32_t q_tokens) {
  Cut cut;
  cut.rows = plan.desc.q_heads / plan.desc.kv_heads * q_tokens;
  cut.kernel = &kernel_for(plan, cut.rows);
  const uint32_t grain = row_grain(plan, *cut.kernel), most_grains = cut.kernel->tile_rows / grain;
  cut.grains = (cut.rows + grain - 1) / grain;
  cut.tiles = (cut.grains + most_grains - 1) / most_grains;
  const uint32_t at_once = tiles_at_once(*cut.kernel);
  cut.blocks = (cut.tiles + at_once - 1) / at_once;
  return cut;
}

// The rows of a tile, which is carved.
void place_tile(const fovea_plan& plan, const Cut& cut, uint32_t index, QueryTile* tile) {
  const uint32_t grain = row_grain(plan, *cut.kernel), more = cut.grains % cut.tiles;
  const uint32_t first = (cut.grains / cut.tiles * index + (index < more ? index : more)) * grain;
  const uint32_t rows = (cut.grains / cut.tiles + (index < more)) * grain;
  const uint32_t group = plan.desc.q_heads / plan.desc.kv_heads;
  tile->head_dim = plan.desc.head_dim;
  tile->value_dim = plan.desc.value_dim;
  tile->live = cut.rows - first < rows ? cut.rows - first : rows;
  tile->group = group;
  tile->first_token = first / group;
  tile->first_head = first % group;
  const bool lanes_are_rows = fovea::lanes_are_rows(*cut.kernel);
  tile->columns = lanes_are_rows ? rows : plan.lanes;
  tile->row_lanes = lanes_are_rows ? 1 : plan.lanes / (tile->live == 3 ? kFewRows : tile->live);
}

// A call, cut into tasks that may run side by side. A task is a block of tiles of a head of a batch entry; where keys
// are split, one for each part of the keys, and then one that joins the parts.
class Call {
 public:
  Call(const fovea_plan& plan, const fovea_attention_args& args, const Workspace& workspace, const StreamCall* stream)
      : plan_(plan), args_(args), workspace_(workspace), stream_(stream) {
    // Of ragged keys kv_tokens counts all entries, and the plan has room for the parts of one.
    const uint32_t capacity = plan.desc.max_kv_tokens;
    splits_ = stream ? 1 : split_count(plan.desc, args.kv_tokens < capacity ? args.kv_tokens : capacity);
    if (!config::kStates || plan.split_bytes == 0) return;
    float* const max = static_cast<float*>(split_workspace(plan, workspace));
    const size_t states = all_rows() * splits_;
    states_ = {max, max + states, max + 2 * states};
  }

  fovea_status run() {
    for (uint32_t b = 0; b < args_.batch; ++b) {
      cut_ = cut_of(plan_, queries_of(args_, b).count);
      if (cut_.blocks > blocks_) blocks_ = cut_.blocks;
      if (!ragged()) break;
    }
    // Ragged entries without queries take no memory: there may be more of them, times heads, than a size_t holds.
    CheckedSize tasks{args_.batch};
    tasks.times(plan_.desc.kv_heads).times(blocks_);
    CheckedSize parts = tasks;
    if (parts.times(splits_).overflow) return FOVEA_ERR_SIZE;
    if (tasks.value == 0) return FOVEA_OK;
    begin_turns();
    if (config::kStreams && stream_) return run_on_stream(tasks.value);
    if (!config::kKeySplits || splits_ <= 1) return run_tasks(Part::kWhole, tasks.value);
    const fovea_status status = run_tasks(Part::kSplit, parts.value);
    return status != FOVEA_OK ? status : run_tasks(Part::kEnd, tasks.value);
  }

 private:
  size_t all_rows() const {
    const size_t tokens = config::kRagged && args_.q_offsets ? args_.q_tokens : size_t(args_.batch) * args_.q_tokens;
    return tokens * plan_.desc.q_heads;
  }
  bool ragged() const { return config::kRagged && args_.q_offsets; }
  bool loads() const { return is_loaded(plan_.desc); }

  void begin_turns() const {
    for (uint32_t worker = 0; loads() && worker < worker_count(plan_.desc); ++worker) {
      *loader_turn(plan_, worker_workspace(plan_, workspace_, worker)) = 0;
    }
  }

  // Where keys may fail to come, rows are put down beside the state, and replace it when all is well.
  fovea_status run_on_stream(size_t tasks) {
    if (stream_->ends) return run_tasks(Part::kEnd, tasks);
    const fovea_status status = run_tasks(Part::kPush, tasks);
    if (status == FOVEA_OK && loads()) {
      const size_t row_floats = size_t(plan_.desc.value_dim) + 2;
      __builtin_memcpy(stream_->rows.max, states_.max, all_rows() * row_floats * sizeof(float));
    }
    return status;
  }

  fovea_status run_tasks(Part part, size_t tasks) {
    part_ = part;
    return fovea::run_tasks(*this, args_.executor, worker_count(plan_.desc), tasks);
  }

 public:
  using Scratch = WorkerArrays;
  fovea_status run_task(size_t index, uint32_t worker, WorkerArrays* arrays) {
    uint32_t split = 0;
    if (config::kKeySplits && part_ == Part::kSplit) {
      split = uint32_t(index % splits_);
      index /= splits_;
    }
    const uint32_t block = uint32_t(index % blocks_);
    const size_t head = index / blocks_;  // of all entries
    const uint32_t batch = uint32_t(head / plan_.desc.kv_heads), kv_head = uint32_t(head % plan_.desc.kv_heads);
    const EntryQueries queries = queries_of(args_, batch);
    const Cut cut = ragged() ? cut_of(plan_, queries.count) : cut_;
    if (block >= cut.blocks || queries.count == 0) return FOVEA_OK;  // an entry with fewer queries, or none

    if (arrays->carved_for != cut.kernel) {
      carve_worker(plan_, worker_workspace(plan_, workspace_, worker), *cut.kernel, arrays);
    }
    QueryTile(&tiles)[kMostTiles] = arrays->tiles;
    const uint32_t at_once = tiles_at_once(*cut.kernel), first = block * at_once;
    const uint32_t count = cut.tiles - first < at_once ? cut.tiles - first : at_once;
    for (uint32_t i = 0; i < count; ++i) place_tile(plan_, cut, first + i, &tiles[i]);

    const AttentionKernel& kernel = attention_kernels(plan_.desc.target).list[kernel_index(*cut.kernel)];
    const Positions positions = positions_of(plan_.desc, args_, stream_, batch);
    HeadTask task(plan_, args_, kernel, arrays->stage, kernel.widens || is_additive(plan_.desc), positions.begin,
                  worker);
    task.part = part_;
    task.entry = positions;
    if (config::kRing) task.ranges = ranges_of(plan_.desc, args_, stream_, batch);
    enter_call(&task);
    enter_head(&task, batch, kv_head, queries, positions.begin);
    if (config::kStates && part_ != Part::kWhole) {
      const size_t first_token = ragged() ? queries.first : size_t(batch) * args_.q_tokens;
      const size_t row = (first_token * plan_.desc.kv_heads + size_t(kv_head) * queries.count) * task.group;
      find_states(row, split, tiles, count, &task);
    }
    if (config::kDropout) task.steps.first_quad = stream_ ? uint32_t((stream_->first_key - positions.begin) / 4) : 0;
    for (uint32_t i = 0; i < count; ++i) {
      tiles[i].score_factor = task.score_factor();
      tiles[i].score_vector = nullptr;
      if (config::kAdditive && args_.score_vector) {
        tiles[i].score_vector = args_.score_vector + ptrdiff_t(kv_head) * args_.score_vector_stride;
      }
    }
    return run_query_tiles(task, tiles, count) ? FOVEA_OK : FOVEA_ERR_LOAD;
  }

 private:
  // Where the states of a task lie, whose head begins with this row of all. That of split keys is limited to its part
  // of them; the last task joins all parts.
  void find_states(size_t row, uint32_t split, const QueryTile* tiles, uint32_t count,
                   HeadTask* task) const {
    const size_t value_dim = plan_.desc.value_dim;
    if (stream_) {
      task->state = stream_->rows.from(row, value_dim);
      task->state_out = loads() ? states_.from(row, value_dim) : task->state;
      return;
    }
    task->state = task->state_out = states_.from(split * all_rows() + row, value_dim);
    if (part_ == Part::kSplit) {
      const uint32_t keys = plan_.desc.key_split_tokens, first = split * keys;
      task->entry.keep({first, keys < UINT32_MAX - first ? first + keys : UINT32_MAX, false});
      return;
    }
    const QueryTile& last = tiles[count - 1];
    const uint32_t begin = tiles[0].first_token * task->group + tiles[0].first_head;
    const uint32_t end = last.first_token * task->group + last.first_head + last.live;
    const MergeKernels& kernels = merge_kernels(plan_.desc.target);
    for (uint32_t other = 1; other < splits_; ++other) {
      const StateRows from = states_.from(other * all_rows() + row + begin, value_dim);
      kernels.merge(task->state.from(begin, value_dim), from, end - begin, value_dim);
    }
  }

  const fovea_plan& plan_;
  const fovea_attention_args& args_;
  const Workspace& workspace_;
  const StreamCall* stream_;
  Cut cut_ = {};           // of every entry, where batches are not ragged
  uint32_t blocks_ = 0;    // tasks for the rows of a head, in the entry that has most
  uint32_t splits_;        // parts of the keys
  StateRows states_ = {};  // [splits][batch][kv_heads][rows], of split keys; or what replaces the state of a stream
  Part part_ = Part::kWhole;
};

}  // namespace

fovea_status run_attention(const fovea_plan& plan, const fovea_attention_args& args, const Workspace& workspace,
                           const StreamCall* stream) {
  return Call(plan, args, workspace, stream).run();
}

}  // namespace fovea
