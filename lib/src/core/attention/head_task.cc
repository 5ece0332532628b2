// SPDX-License-Identifier: Apache-2.0
//
// Attention as papers describe it: for each tile of query rows and each tile of keys, one step of the running softmax
// (Milakov and Gimelshein, arXiv 1805.02867, algorithm 3; Dao et al., arXiv 2205.14135).
#include "ground/base/arithmetic.h"
#include "core/attention/head_task.h"

#include "core/attention/key_mass.h"
#include "ground/base/numbers.h"

namespace fovea {
namespace {

// A position, limited so that an int32_t still holds it when a key's index is subtracted. Up to 2^30 it is the whole
// position.
int32_t narrow(int64_t position) {
  constexpr int64_t limit = int64_t(1) << 30;
  return int32_t(position < -limit ? -limit : position > limit ? limit : position);
}

// The relative error is at most 2^-23. On 32-bit processors the compiler's own conversion is a library call.
float to_float(int64_t number) {
  const uint64_t size = number < 0 ? 0 - uint64_t(number) : uint64_t(number);
  const float rounded = float(uint32_t(size >> 32)) * 4294967296.0f + float(uint32_t(size));
  return number < 0 ? -rounded : rounded;
}

// The mask's first column belongs to key `first_key`, but kernels find its elements by the key's index. So the mask's
// address is moved back by as many elements.
void find_mask(const fovea_mask& mask, uint32_t entry, uint32_t first_key, MaskStep* step) {
  step->kind = mask.kind;
  step->step = mask.broadcast_keys ? 0 : 1;
  step->hides = mask.kind == FOVEA_MASK_F16 ? kHidingMaskF16 : kHidingMask;
  if (mask.kind == FOVEA_MASK_NONE) return;
  const size_t unit = mask_element_bytes(mask.kind);
  const char* const first = row_of(fovea_in{mask.data, mask.batch_stride, 0, 0}, unit, ptrdiff_t(entry), 0, 0);
  step->rows = {advanced(first, -ptrdiff_t(first_key * unit * step->step)), stride_bytes(mask.q_stride, unit),
                stride_bytes(mask.head_stride, unit)};
  static const float kNoFactor = 1.0f;
  const float* const factors = mask.head_factors ? mask.head_factors : &kNoFactor;
  step->factor = {reinterpret_cast<const char*>(factors), 0, mask.head_factors ? ptrdiff_t(sizeof(float)) : 0};
}

// Sets the score steps that a call asks for, for the first key head of an entry.
void find_score_steps(const AttentionCall& call, uint32_t entry, uint32_t worker, const KeyLimits& limits,
                      ScoreSteps* steps) {
  const fovea_attention_desc& d = call.desc;
  const uint32_t first_key = limits.begin;
  steps->entry = entry;
  steps->kv_head = 0;
  steps->shifted = call.shifts_scores();
  if (kHasSoftcap) {
    const float cap = d.softcap * kLog2E;
    steps->softcap = SoftcapStep{cap, cap > 0.0f ? 1.0f / cap : 0.0f};
  }
  steps->alibi = call.alibi_slopes() != nullptr;
  if (kHasMasks) {
    const uint32_t begin = call.mask_at_end() ? limits.keys - call.mask().kv_tokens : 0;
    find_mask(call.mask(), entry, call.mask_at_end() ? begin : first_key, &*steps->mask);
    steps->mask->begin = begin;
  }
  // Absolute position of local key 0.
  const int64_t origin = call.stream() ? call.stream()->first_key - first_key : 0;
  if (kHasDropout) {
    const uint32_t first_quad = drops(d) ? uint32_t(origin / 4) : 0;
    steps->dropout = DropoutStep{call.dropout_seed(), d.dropout, first_quad};
  }
  if (kHasModifiers) {
    const int64_t first_position = limits.first + origin;
    steps->modifier = ModifierStep{call.modifier(), worker, kOnlyPass, first_position, origin};
  }
}

// Moves the score steps on by a number of query heads.
void move_score_steps(ptrdiff_t heads, ScoreSteps* steps) {
  if (!kHasMasks || steps->mask->kind == FOVEA_MASK_NONE) return;
  MaskStep& mask = *steps->mask;
  mask.rows.data = advanced(mask.rows.data, stride_bytes(mask.rows.head_stride, 1, heads));
  mask.factor.data = advanced(mask.factor.data, stride_bytes(mask.factor.head_stride, 1, heads));
}

// What the zero point and the centre of keys add to the scores of a query, which is the row `q` and has this scale.
float row_shift(const HeadTask& task, const void* q, float scale) {
  const fovea_attention_desc& d = task.call().desc;
  float shift = 0.0f;
  if (d.key_zero_point != 0) {
    const int32_t sum = sum_of_codes(static_cast<const int8_t*>(q), d.head_dim);
    shift = float(-d.key_zero_point * (sum - int32_t(d.head_dim) * d.q_zero_point)) * d.key_scale * scale;
  }
  const float* const center = task.call().key_center(task.kv_head());
  if (!center) return shift;
  if (rotates_keys(d)) q = rotated_query(task, q);
  float sum = 0.0f;
  for (uint32_t e = 0; e < d.head_dim; ++e) {
    sum += center[e] * (d.q_dtype == FOVEA_I8 ? float(static_cast<const int8_t*>(q)[e] - d.q_zero_point)
                                              : static_cast<const float*>(q)[e]);
  }
  return shift + sum * (d.q_dtype == FOVEA_I8 ? scale : task.score_factor());
}

// Sets the scales of queries of i8, and what is added to all scores of a row.
void fill_tensor_facts(const HeadTask& task, const QueryTile& tile) {
  const fovea_attention_desc& d = task.call().desc;
  const RowArray<float> scales = needs_q_scales(d) ? head_floats(task, task.call().q_scales()) : RowArray<float>{};
  float scale = task.score_factor() * d.q_scale, shift = 0.0f;
  for (uint32_t column = 0; column < tile.columns; ++column) {
    const uint32_t row = column / row_lanes(tile);
    if (column % row_lanes(tile) == 0 && row < tile.live) {
      const uint32_t group_row = tile.first_head + row;
      const ptrdiff_t token = ptrdiff_t(tile.first_token + group_row / task.group);
      const ptrdiff_t head = ptrdiff_t(group_row % task.group);
      if (scales.data) {
        const float given = scales.data[token * scales.token_stride + head * scales.head_stride];
        scale = task.score_factor() * finite_or_nan(given);
      }
      shift = row_shift(task, advanced(task.q.data, token * task.q.token_stride + head * task.q.head_stride), scale);
    }
    if (d.q_dtype == FOVEA_I8) query_scales(tile)[column] = scale;
    row_shifts(tile)[column] = shift;
  }
}

// Whether rows have scales or shifts.
bool has_codes(const HeadTask& task) { return kHasI8Tensors && (task.q.dtype == FOVEA_I8 || task.steps.shifted); }

// Sets the limits of all rows, and what ALiBi, sinks and tensors need. Padding rows repeat the last live one.
void fill_row_facts(const HeadTask& task, const QueryTile& tile) {
  if (has_codes(task) && task.begins()) fill_tensor_facts(task, tile);
  const bool biased = task.call().alibi_slopes() != nullptr;
  const bool sinks = task.call().sinks() != nullptr;
  for (uint32_t column = 0; column < tile.columns; ++column) {
    const uint32_t row = column / row_lanes(tile);
    const uint32_t group_row = tile.first_head + (row < tile.live ? row : tile.live - 1);
    const uint32_t token = tile.first_token + group_row / task.group;
    const size_t q_head = size_t(task.kv_head()) * task.group + group_row % task.group;
    row_lo(tile)[column] = int32_t(task.limits.lo(token));
    row_hi(tile)[column] = int32_t(task.limits.hi(token));
    if (biased) {
      const int64_t position = task.limits.first + token;
      const int32_t near = narrow(position);
      alibi_pos(tile)[column] = near;
      alibi_far_pos(tile)[column] = to_float(position - near);
      alibi_slope(tile)[column] = task.call().alibi_slopes()[q_head] * kLog2E;
    }
    if (sinks) tile.sink[column] = task.call().sinks()[q_head] * kLog2E;
  }
}

// Sets what attend needs to know of the rows of a tile.
void find_row_facts(const HeadTask& task, const QueryTile& tile) {
  if (!kFewRowsServed || task.per_row || task.limits.limited()) return fill_row_facts(task, tile);
  same_row_facts(task, tile);
}

// The keys that rows of a tile may see by their positions: some row sees each key of [some_lo, some_hi), all rows see
// [all_lo, all_hi).
struct TileLimits {
  uint32_t some_lo, all_lo, all_hi, some_hi;

  // Limits grow with the token: the first row has the lowest, the last row the highest.
  static TileLimits of(const QueryTile& tile) {
    const uint32_t last = tile.columns - 1;
    const int32_t *lo = row_lo(tile), *hi = row_hi(tile);
    return {uint32_t(lo[0]), uint32_t(lo[last]), uint32_t(hi[0]), uint32_t(hi[last])};
  }
  bool empty() const { return some_lo >= some_hi; }
};

// Key tiles end on the grid. Only the first tile of a stream's call may begin off it.
uint32_t tile_end(uint32_t first) { return (first / kKeyTile + 1) * kKeyTile; }

// Moves *first to the next listed key tile, unless the tile at *first is listed. False if there is none before `hi`.
bool find_listed(ListedTilesIf& listed, uint32_t hi, uint32_t* first) {
  if (kHasBlockMaps && *first < hi) listed->find(first);
  return *first < hi;
}

// Clips the key tile at keys->first to what a query tile with these limits may see. False if that is nothing.
bool clip_key_tile(const TileLimits& limits, KeySpan* keys) {
  const uint32_t first = keys->first;
  if (limits.empty() || first >= limits.some_hi || tile_end(first) <= limits.some_lo) return false;
  keys->begin = limits.some_lo > first ? (limits.some_lo - first) / kKeyGrain * kKeyGrain : 0;
  keys->end = (limits.some_hi < tile_end(first) ? limits.some_hi : tile_end(first)) - first;
  keys->edge = first + keys->begin < limits.all_lo || first + keys->end > limits.all_hi;
  return true;
}

// Clips the key tile to what at least one of these query tiles may see. False if that is nothing.
bool clip_for_some(const QueryTile* tiles, uint32_t count, KeySpan* keys) {
  if (count == 1) return clip_key_tile(TileLimits::of(tiles[0]), keys);
  uint32_t begin = kKeyTile, end = 0;
  for (uint32_t i = 0; i < count; ++i) {
    if (!clip_key_tile(TileLimits::of(tiles[i]), keys)) continue;
    if (keys->begin < begin) begin = keys->begin;
    if (keys->end > end) end = keys->end;
  }
  keys->begin = begin;
  keys->end = end;
  return begin < end;
}

// Calls `take` for each piece of a key tile, or once for the whole tile if it is not brought in pieces. Here and below,
// tiles are changed and restored, not copied: stacks are short where there are pieces.
template <class Take>
void for_key_pieces(const KeySource& source, KeyTile& keys, const Take& take) {
  const uint32_t begin = keys.begin, end = keys.end, step = source.piece_keys();
  const KeyRows whole = keys.keys;  // a loader's rows
  for (; keys.begin < end; keys.begin += step) {
    keys.end = end - keys.begin > step ? keys.begin + step : end;
    keys.keys = whole;
    if (source.in_pieces()) source.find_keys(keys, &keys.keys);
    take();
  }
  keys.begin = begin;
  keys.end = end;
  keys.keys = whole;
}

// Performs a part of attend for some keys, or for all keys with `elements` elements of the values from `element` on.
void attend_to_piece(const HeadTask& task, QueryTile* tiles, uint32_t count, KeyTile& piece, AttendPart part,
                     uint32_t element, uint32_t elements) {
  const uint32_t begin = piece.begin, end = piece.end;
  const bool edge = piece.edge;
  piece.parts = part;
  for (uint32_t i = 0; i < count; ++i) {
    if (count > 1 && !clip_key_tile(TileLimits::of(tiles[i]), &piece)) continue;
    if (piece.begin < begin) piece.begin = begin;
    if (piece.end > end) piece.end = end;
    if (piece.begin >= piece.end) continue;
    QueryTile& tile = tiles[i];
    const size_t before = size_t(element) * tile.columns;
    tile.o += before;
    tile.value_dim = elements;
    if (kHasKeyMass && part == kWeightPart) find_slot(&tile, &piece);
    task.kernel().attend(tile, piece, task.steps);
    tile.o -= before;
    tile.value_dim = task.call().desc.value_dim;
  }
  piece.begin = begin;
  piece.end = end;
  piece.edge = edge;
}

// Runs each part of attend for all query tiles while a piece is in its buffer.
__attribute__((noinline)) void attend_in_pieces(const HeadTask& task, QueryTile* tiles, uint32_t count, KeyTile& keys) {
  for_key_pieces(task.source, keys, [&] { attend_to_piece(task, tiles, count, keys, kScorePart, 0, 0); });
  const uint32_t value_dim = task.call().desc.value_dim, step = task.source.piece_elements();
  const KeyRows whole = keys.values;  // a loader's rows
  for (uint32_t element = 0, elements; element < value_dim; element += elements) {
    elements = value_dim - element < step ? value_dim - element : step;
    keys.values = whole;
    task.source.find_values(keys, element, elements, &keys.values);
    // With integer products the scales of values become part of the weights.
    if (element == 0) attend_to_piece(task, tiles, count, keys, kWeightPart, 0, elements);
    if (task.measures()) return;
    attend_to_piece(task, tiles, count, keys, kValuePart, element, elements);
  }
}

// Whether the mask applies in the key tile at `first`, which was found.
bool mask_decides(const HeadTask& task, const ListedTilesIf& listed, uint32_t first) {
  return kHasBlockMaps && kHasMasks && listed->masked() && tile_end(first) > task.steps.mask->begin;
}

// Computes the scores of the keys within these limits again and stores them. With `fills` it also stores the scores of
// all hidden keys.
bool write_range(HeadTask& task, const QueryTile& tile, const TileLimits& limits, bool fills) {
  const fovea_scores_stage stage = task.call().scores_stage();
  const AttentionKernel& kernel = task.kernel();
  const RowArray<float> scores = head_floats(task, as_input(task.call().scores()));
  const uint32_t all_keys = fills ? task.call().kv_tokens() : 0;
  uint32_t done = 0;
  ListedTilesIf listed;
  if (stage >= FOVEA_SCORES_MASKED) listed = task.listed;
  for (uint32_t first = limits.some_lo / kKeyTile * kKeyTile; find_listed(listed, limits.some_hi, &first);
       first += kKeyTile) {
    KeyTile keys;
    task.prepare(&keys);
    keys.first = first;
    keys.masked = mask_decides(task, listed, first);
    if (!clip_key_tile(limits, &keys)) continue;
    if (!task.source.ask(first, keys.begin, keys.end) || !task.source.bring(&keys, 0)) return false;
    const uint32_t begin = first + keys.begin;
    if (begin > done && all_keys != 0) kernel.steps->store_hidden_scores(tile, done, begin - done, stage, scores);
    for_key_pieces(task.source, keys, [&] { kernel.scores_out(tile, keys, task.steps, stage, scores); });
    done = first + keys.end;
  }
  if (done < all_keys) kernel.steps->store_hidden_scores(tile, done, all_keys - done, stage, scores);
  return true;
}

// Stores the scores, now that the normalisation is known. False if keys cannot be loaded. The range of pinned keys
// comes last: where these share a key tile with other keys, the pass over the others has stored them as hidden.
__attribute__((noinline)) bool write_scores(HeadTask& task, const QueryTile& tile) {
  const uint32_t all_keys = task.call().kv_tokens();
  TileLimits limits = {0, 0, all_keys, all_keys};
  if (task.call().scores_stage() < FOVEA_SCORES_MASKED) return write_range(task, tile, limits, true);
  const uint32_t ranges = task.range_count();
  for (uint32_t r = ranges; r-- > 0;) {
    task.enter_range(r);
    find_row_facts(task, tile);
    limits = TileLimits::of(tile);
    if (!write_range(task, tile, limits, r + 1 == ranges)) return false;
  }
  return true;
}

StateRows state_rows(const HeadTask& task, const StateRows& state, const QueryTile& tile) {
  return state.from(size_t(tile.first_token) * task.group + tile.first_head, tile.value_dim);
}

void attend_to_tile(const HeadTask& task, QueryTile* tiles, uint32_t count, KeyTile& keys) {
  if (task.source.in_pieces()) return attend_in_pieces(task, tiles, count, keys);
  for (uint32_t i = 0; i < count; ++i) {
    if (count != 1 && !clip_key_tile(TileLimits::of(tiles[i]), &keys)) continue;
    if (kHasKeyMass) find_slot(&tiles[i], &keys);
    task.kernel().attend(tiles[i], keys, task.steps);
  }
}

// Attends to all keys from limits.begin to limits.keys. False if some cannot be loaded.
bool attend_to_keys(HeadTask& task, QueryTile* tiles, uint32_t count) {
  uint32_t lo = UINT32_MAX, hi = 0;
  for (uint32_t i = 0; i < count; ++i) {
    const TileLimits limits = TileLimits::of(tiles[i]);
    if (limits.empty()) continue;
    if (limits.some_lo < lo) lo = limits.some_lo;
    if (limits.some_hi > hi) hi = limits.some_hi;
  }
  KeySpan next;
  next.first = lo / kKeyTile * kKeyTile;
  if (next.first < task.limits.entered) next.first = task.limits.entered;
  KeyTile keys;
  task.prepare(&keys);
  keys.end = 0;  // none yet
  ListedTilesIf listed = task.listed;
  for (;;) {
    // First requests the next key tile that some query sees, then attends to the key tile that was brought before.
    while (find_listed(listed, hi, &next.first) && !clip_for_some(tiles, count, &next)) {
      next.first = tile_end(next.first);
    }
    if (next.first < hi && !task.source.ask(next.first, next.begin, next.end)) return false;
    if (keys.end != 0) attend_to_tile(task, tiles, count, keys);
    if (next.first >= hi) return true;
    keys.first = next.first;
    keys.begin = next.begin;
    keys.end = next.end;
    keys.edge = next.edge;
    keys.masked = mask_decides(task, listed, next.first);
    next.first = tile_end(next.first);
    const bool goes_on = find_listed(listed, hi, &next.first) && hi - next.first > kKeyTile;
    const bool prefetches = goes_on && (kPrefetchesForOneRow || tiles->live > 1);
    if (!task.source.bring(&keys, prefetches ? next.first : 0)) return false;
    // A push has few keys for each head. Without this, 64 keys of head_dim 128 take 1.6 times as long from memory (Zen
    // 5).
    if (kFewRowsServed && task.doing() == Part::kPush && next.first >= hi) keys.next_keys = task.source.next_head();
  }
}

// Not inlined where scores may be written: that needs as much stack, after it.
__attribute__((noinline)) bool attend_apart(HeadTask& task, QueryTile* tiles, uint32_t count) {
  return attend_to_keys(task, tiles, count);
}

// Normalises the rows of a tile and stores them.
void end_rows(const HeadTask& task, const QueryTile& tile) {
  RowOutputs outputs;
  find_outputs(task, &outputs);
  task.kernel().steps->end(tile, outputs);
  // Also after a measuring pass, which stores no outputs: the weighing pass writes them all.
  if (rotates_values(task.call().desc)) rotate_tile(task, tile, true, outputs.out, outputs.out);
}

}  // namespace

void HeadTask::enter(const AttentionCall& of_call, Part of_part, const AttentionKernel& of_kernel,
                     const KeyBuffersIf& buffers, uint32_t entry, uint32_t worker) {
  part = of_part;
  group = of_call.desc.q_heads / of_call.desc.kv_heads;
  limits = limits_of(of_call, entry);
  if (kHasRanges) ranges = ranges_of(of_call, entry);
  source.enter(of_call, of_kernel, buffers, entry, limits.begin, worker);
  q = rows_of_head(of_call.q(), of_call.desc.q_dtype, of_call.queries(entry), 0);
  find_score_steps(of_call, entry, worker, limits, &steps);
  if (kFewRowsServed) per_row = has_codes(*this) || of_call.alibi_slopes() || of_call.sinks();
}

void HeadTask::move_to(uint32_t kv_head, uint32_t q_block) {
  const ptrdiff_t heads = ptrdiff_t(kv_head) - ptrdiff_t(steps.kv_head), q_heads = heads * ptrdiff_t(group);
  steps.kv_head = kv_head;
  source.move(heads);
  q.data = advanced(q.data, stride_bytes(q.head_stride, 1, q_heads));
  move_score_steps(q_heads, &steps);
  if (kHasBlockMaps) listed = ListedTiles(call(), entry(), kv_head, q_block);
  if (!kHasLoneTiles || !lone->found) return;
  RowOutputs& outputs = lone->outputs;
  outputs.out.data = advanced(outputs.out.data, stride_bytes(outputs.out.head_stride, 1, q_heads));
  if (kHasLse && outputs.lse->data) outputs.lse->data += q_heads * outputs.lse->head_stride;
}

bool HeadTask::run(QueryTile* tiles, uint32_t tile_count) {
  const uint32_t count = kMostTiles == 1 ? 1 : tile_count;
  if (kHasRanges) all = limits.kept();
  if (kHasI8Products) source.serve(count * tiles[0].columns);
  for (uint32_t i = 0; i < count; ++i) {
    if (begins()) {
      if (rotates_keys(call().desc)) {
        begin_rotated(*this, tiles[i]);
      } else {
        kernel().begin(tiles[i], q, is_additive(call().desc) ? 1.0f : score_factor());
      }
    }
    if (kHasKeyMass) begin_keeping(call(), entry(), &tiles[i]);
    if (takes_up()) kernel().steps->resume(tiles[i], state_rows(*this, *state, tiles[i]));
  }
  // One pass, or two where weights are modified.
  for (set_pass(call().modifies_weights() ? kMeasuringPass : kOnlyPass);; set_pass(kWeighingPass)) {
    for (uint32_t r = 0; r < range_count(); ++r) {
      enter_range(r);
      for (uint32_t i = 0; i < count; ++i) find_row_facts(*this, tiles[i]);
      if (doing() == Part::kEnd) continue;
      if (kHasScores ? !attend_apart(*this, tiles, count) : !attend_to_keys(*this, tiles, count)) return false;
    }
    if (!measures()) break;
    for (uint32_t i = 0; i < count; ++i) end_rows(*this, tiles[i]);
  }
  for (uint32_t i = 0; i < count; ++i) {
    if (puts_down()) {
      kernel().steps->suspend(tiles[i], state_rows(*this, *state_out, tiles[i]));
      continue;
    }
    end_rows(*this, tiles[i]);
    if (kHasKeyMass) add_kept(call(), kernel(), entry(), kv_head(), tiles[i]);
    if (call().wants_scores() && !write_scores(*this, tiles[i])) return false;
  }
  if (kHasRanges) limits.restore(*all);
  return true;
}

}  // namespace fovea
