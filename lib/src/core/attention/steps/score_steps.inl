// SPDX-License-Identifier: Apache-2.0
//
// What may happen to scores before the softmax. Each step is a function of one vector of scores, with the positions of
// its rows and keys as vectors: either rows or keys may run along the lanes.
#ifndef FOVEA_SRC_ATTENTION_STEPS_SCORE_STEPS_INL_
#define FOVEA_SRC_ATTENTION_STEPS_SCORE_STEPS_INL_

#include "core/attention/rows.inl"
#include "core/attention/steps/asked.inl"
#include "ground/math/math.inl"

// ---- the caller's functions over score blocks: scores are kept in base 2 and passed in natural units

// Passes scores or weights to the caller: of up to kLanes live rows of a tile, from `row` on, and the keys [begin,
// end).
FOVEA_CALLED void CallModifier(const QueryTile& t, const KeySpan& keys, const ScoreSteps& steps, bool weights,
                               size_t row, float* data, ptrdiff_t row_stride, ptrdiff_t key_stride) {
  const ModifierStep& step = *steps.modifier;
  const size_t rows = t.live - row < kLanes ? t.live - row : kLanes;
  uint32_t heads[kLanes], tokens[kLanes];
  PlacesOf(t, row, steps.kv_head * t.group, heads, tokens);
  const fovea_score_block block = {data,
                                   row_stride,
                                   key_stride,
                                   uint32_t(rows),
                                   keys.end - keys.begin,
                                   steps.entry,
                                   steps.kv_head,
                                   heads,
                                   tokens,
                                   step.first_position,
                                   step.first_key + keys.first + keys.begin,
                                   step.worker};
  const fovea_modifier& modifier = *step.modifier;
  if (weights) {
    modifier.weight_mod(modifier.self, &block);
  } else {
    modifier.score_mod(modifier.self, &block);
  }
}

// Multiplies `count` vectors, which are `step` elements apart, by a factor.
FOVEA_INLINE void ScaleVectors(float* s, size_t step, uint32_t count, float factor) {
  const VF factors = hn::Set(kF, factor);
  for (; count > 0; --count, s += step) hn::StoreU(hn::Mul(hn::LoadU(kF, s), factors), kF, s);
}

// Modifies the scores of one vector of rows.
FOVEA_CALLED void ModifyScores(const QueryTile& t, const KeySpan& keys, const ScoreSteps& steps, size_t column) {
  if (column >= t.live) return;
  float* const s = t.s + size_t(keys.begin) * t.columns + column;
  ScaleVectors(s, t.columns, keys.end - keys.begin, kLn2);
  CallModifier(t, keys, steps, false, column, s, 1, ptrdiff_t(t.columns));
  ScaleVectors(s, t.columns, keys.end - keys.begin, kLog2E);
}

// ---- the steps

// cap * tanh(x / cap)
FOVEA_INLINE VF Softcap(VF x, const ScoreSteps& steps) {
  return hn::Mul(Tanh(hn::Mul(x, hn::Set(kF, steps.softcap->inverse_cap))), hn::Set(kF, steps.softcap->cap));
}

// Adds what the zero points of queries and keys require.
FOVEA_INLINE VF Shift(VF x, VF of_row, VF of_key) { return hn::Add(x, hn::Add(of_row, of_key)); }

FOVEA_INLINE VF Alibi(VF x, VF slope, VF row_pos, VF key_pos) {
  return hn::NegMulAdd(slope, hn::Abs(hn::Sub(row_pos, key_pos)), x);
}

// Hidden scores are -inf. Where some are hidden, a visible score of -inf becomes kLowest, so that it does not count as
// hidden: its weight is 0 as well, but a NaN in its value counts.
FOVEA_INLINE VF Visible(VF x) { return hn::IfThenElse(hn::Lt(x, hn::Set(kF, kLowest)), hn::Set(kF, kLowest), x); }

FOVEA_INLINE VF HideOutside(VF x, VF lo, VF hi, VF key_pos) {
  return hn::IfThenElse(hn::Or(hn::Lt(key_pos, lo), hn::Le(hi, key_pos)), hn::Set(kF, -kInfinity), x);
}

// factor is the head's, times log2(e).
FOVEA_INLINE VF AddMask(VF x, VF mask, VF factor, VF hides) {
  const VF sum = hn::MulAdd(mask, factor, x);
  return hn::IfThenElse(hn::Le(mask, hides), hn::Set(kF, -kInfinity), Visible(sum));
}

FOVEA_INLINE VF HideZeros(VF x, VF mask) {
  return hn::IfThenElse(hn::Eq(mask, hn::Zero(kF)), hn::Set(kF, -kInfinity), Visible(x));
}

// positions[column..] - first, as floats: exact near the tile, where it matters.
FOVEA_INLINE VF RelativePositions(const int32_t* positions, uint32_t first) {
  return hn::ConvertTo(kF, hn::Sub(hn::LoadU(kI, positions), hn::Set(kI, int32_t(first))));
}

// The first key that the mask may hide, counted from the first key of the tile.
FOVEA_INLINE uint32_t FirstMasked(const KeyTile& keys, const ScoreSteps& steps) {
  const uint32_t begin = steps.mask->begin;
  if (!config::kBlockMaps || begin <= keys.first + keys.begin) return keys.begin;
  return begin < keys.first + keys.end ? begin - keys.first : keys.end;
}

// mask[i] = mask elements of key j + i for the rows of a vector, i < n, as floats.
FOVEA_INLINE void LoadMask(const ScoreSteps& steps, const LaneRows<const char>& rows, size_t j, size_t n,
                           VF (&mask)[kLanes]) {
  if (MaskAdds(steps)) return LoadTransposed(rows.at, mask_dtype(steps.mask->kind), j, n, mask);
  FOVEA_EACH(i, kLanes) {
    mask[i] = hn::ConvertTo(kF, hn::LoadU8N(kI, reinterpret_cast<const uint8_t*>(rows.at[i]) + j, n));
  }
  hn::Transpose(mask);
}

// Gathers elements of `unit` bytes of an array for one vector of the few-rows kernel: row_count rows by the keys from j
// on. `step`: elements from a key to the next. Keys before `begin` and past the end get `other` instead.
FOVEA_SHARED void GatherBlock(const QueryTile& t, const RowArray<const char>& rows, size_t unit, uint32_t step,
                              const KeyTile& keys, uint32_t begin, uint32_t other, uint32_t j, uint32_t row_count,
                              void* lanes) {
  const uint32_t at_once = kLanes / row_count;  // keys
  const char* row = rows.data + ptrdiff_t(t.first_token) * rows.token_stride;
  char* lane = static_cast<char*>(lanes);
  uint32_t head = t.first_head;
  for (uint32_t r = 0; r < row_count; ++r) {
    const char* const at = row + ptrdiff_t(head) * rows.head_stride + unit * step * (size_t(keys.first) + j);
    if (step == 1 && row_count == 1 && j >= begin && j + kLanes <= keys.end) {
      __builtin_memcpy(lane, at, unit * kLanes);
      return;
    }
    for (uint32_t k = 0; k < at_once; ++k, lane += unit) {
      const bool there = j + k >= begin && j + k < keys.end;
      const void* const from = there ? static_cast<const void*>(at + unit * step * k) : &other;
      if (unit == 4) {
        __builtin_memcpy(lane, from, 4);
      } else if (unit == 2) {
        __builtin_memcpy(lane, from, 2);
      } else {
        *lane = *static_cast<const char*>(from);
      }
    }
    if (r + 1 < t.live && ++head == t.group) {
      head = 0;
      row += rows.token_stride;
    }
  }
}

// The mask's elements for such a vector, as floats.
template <fovea_dtype kType>
FOVEA_INLINE VF FewMaskAs(const QueryTile& t, const ScoreSteps& steps, const KeyTile& keys, uint32_t j,
                          uint32_t row_count) {
  typename FormatRow<kType>::Unit lanes[kLanes];
  GatherBlock(t, steps.mask->rows, sizeof lanes[0], steps.mask->step, keys, FirstMasked(keys, steps), 0, j, row_count,
              lanes);
  return FormatRow<kType>{lanes}.Whole(0);
}
FOVEA_SHARED VF FewMask(const QueryTile& t, const ScoreSteps& steps, const KeyTile& keys, uint32_t j,
                        uint32_t row_count) {
  if (!MaskAdds(steps)) {
    uint8_t lanes[kLanes];
    constexpr uint32_t kShown = 0x01010101;
    GatherBlock(t, steps.mask->rows, 1, steps.mask->step, keys, FirstMasked(keys, steps), kShown, j, row_count, lanes);
    return hn::ConvertTo(kF, hn::LoadU8(kI, lanes));
  }
  FOVEA_WITH_FORMAT(kUnscaledFormats, mask_dtype(steps.mask->kind), FewMaskAs<kType>(t, steps, keys, j, row_count));
}

// One float for each row of a vector: of the tile kernel's rows from `column` on, or of the few-rows kernel's rows.
struct TileRows {
  const QueryTile& t;
  size_t column;
};
FOVEA_INLINE VF EachRow(const TileRows& rows, const RowArray<const char>& array) {
  VF first[kLanes];
  LoadTransposed(RowsOf(rows.t, array, rows.column).at, FOVEA_F32, 0, 1, first);
  return first[0];
}
struct FewRows {
  const QueryTile& t;
  const KeyTile& keys;
  uint32_t count;
  static constexpr size_t column = 0;
};
FOVEA_INLINE VF EachRow(const FewRows& rows, const RowArray<const char>& array) {
  float lanes[kLanes];
  GatherBlock(rows.t, array, 4, 0, rows.keys, rows.keys.begin, 0, rows.keys.begin, rows.count, lanes);
  return hn::LoadU(kF, lanes);
}

// What the steps need for the lanes of a vector of scores. Positions are counted from the first key of the tile.
struct StepLanes {
  VF row_shift, key_shift;  // zero points
  VF slope, pos;            // ALiBi
  VF mask_factor;           // times log2(e)
  VF lo, hi;                // limits
  VF key_pos, mask;         // of the keys, as key_shift; the others are of the rows, and do not change
};

// The steps in their order.
enum ScoreStepIndex { kShiftStep, kCapStep, kBiasStep, kModifyStep, kMaskStep, kLimitStep, kScoreSteps };

template <int kStep>
FOVEA_INLINE bool IsOn(const KeyTile& keys, const ScoreSteps& steps, fovea_scores_stage last) {
  if constexpr (kStep == kShiftStep) return Shifted(steps);
  if constexpr (kStep == kCapStep) return Capped(steps) && last >= FOVEA_SCORES_CAPPED;
  if (last < FOVEA_SCORES_MASKED) return false;
  if constexpr (kStep == kModifyStep) return ModifiesScores(steps);
  return kStep == kBiasStep ? Biased(steps) : kStep == kMaskStep ? Masked(keys, steps) : AtEdge(keys);
}

// One step over one vector of scores.
template <int kStep>
FOVEA_INLINE VF Step(VF x, const StepLanes& at, const KeyTile& keys, const ScoreSteps& steps) {
  if constexpr (kStep == kShiftStep) return Shift(x, at.row_shift, at.key_shift);
  if constexpr (kStep == kCapStep) return Softcap(x, steps);
  if constexpr (kStep == kBiasStep) return Alibi(x, at.slope, at.pos, at.key_pos);
  if constexpr (kStep == kMaskStep) {
    if (!MaskAdds(steps)) return HideZeros(x, at.mask);
    return AddMask(x, at.mask, at.mask_factor, hn::Set(kF, steps.mask->hides));
  }
  return HideOutside(Masked(keys, steps) ? x : Visible(x), at.lo, at.hi, at.key_pos);
}

// A bit for each step of [begin, end) that is on, up to the stage `last`.
template <int kStep = 0>
FOVEA_INLINE uint32_t StepsOn(const KeyTile& keys, const ScoreSteps& steps, fovea_scores_stage last, int begin,
                              int end) {
  uint32_t on = kStep >= begin && kStep < end && IsOn<kStep>(keys, steps, last) ? 1u << kStep : 0;
  if constexpr (kStep + 1 < kScoreSteps) on |= StepsOn<kStep + 1>(keys, steps, last, begin, end);
  return on;
}

// Applies these steps. A modifier is not a function of one vector.
template <int kStep = 0>
FOVEA_INLINE VF AllSteps(VF x, const StepLanes& at, const KeyTile& keys, const ScoreSteps& steps, uint32_t on) {
  if constexpr (kStep != kModifyStep) {
    if (on >> kStep & 1) x = Step<kStep>(x, at, keys, steps);
  }
  if constexpr (kStep + 1 < kScoreSteps) x = AllSteps<kStep + 1>(x, at, keys, steps, on);
  return x;
}

// What one step, or all of them (kScoreSteps), need for the rows; only for steps that are on.
template <int kStep, class Rows>
FOVEA_INLINE StepLanes LanesOfRows(const Rows& rows, const KeyTile& keys, const ScoreSteps& steps) {
  constexpr bool kAll = kStep == kScoreSteps;
  const QueryTile& t = rows.t;
  const size_t column = rows.column;
  StepLanes at;
  if ((kAll || kStep == kShiftStep) && Shifted(steps)) at.row_shift = hn::LoadU(kF, row_shifts(t) + column);
  if ((kAll || kStep == kBiasStep) && Biased(steps)) {
    at.slope = hn::LoadU(kF, alibi_slope(t) + column);
    at.pos = hn::Add(RelativePositions(alibi_pos(t) + column, keys.first), hn::LoadU(kF, alibi_far_pos(t) + column));
  }
  if ((kAll || kStep == kMaskStep) && Masked(keys, steps)) {
    at.mask_factor = hn::Mul(EachRow(rows, steps.mask->factor), hn::Set(kF, kLog2E));
  }
  if ((kAll || kStep == kLimitStep) && AtEdge(keys)) {
    at.lo = RelativePositions(row_lo(t) + column, keys.first);
    at.hi = RelativePositions(row_hi(t) + column, keys.first);
  }
  return at;
}

// One step over the scores of one vector of rows.
template <int kStep>
FOVEA_INLINE void StepKeys(const QueryTile& t, const KeyTile& keys, const ScoreSteps& steps, size_t column) {
  StepLanes at = LanesOfRows<kStep>(TileRows{t, column}, keys, steps);
  constexpr bool kMasked = kStep == kMaskStep;
  [[maybe_unused]] const bool each = kMasked && steps.mask->step != 0;
  [[maybe_unused]] LaneRows<const char> mask_rows;
  VF mask[kLanes];
  mask[0] = hn::Zero(kF);
  if constexpr (kMasked) {
    mask_rows = RowsOf(t, steps.mask->rows, column);
    if (!each) {
      LoadMask(steps, mask_rows, 0, 1, mask);
      for (size_t i = 1; i < kLanes; ++i) mask[i] = mask[0];
    }
  }
  float* FOVEA_RESTRICT s = t.s + size_t(keys.begin) * t.columns + column;
  uint32_t j = keys.begin;
  if constexpr (kMasked && config::kBlockMaps) {
    for (const uint32_t masked = FirstMasked(keys, steps); j < masked; ++j, s += t.columns) {
      hn::StoreU(Visible(hn::LoadU(kF, s)), kF, s);
    }
  }
  while (j < keys.end) {
    const size_t n = keys.end - j < kLanes ? keys.end - j : kLanes;
    if (kMasked && each) LoadMask(steps, mask_rows, size_t(keys.first) + j, n, mask);
    for (size_t i = 0; i < n; ++i, ++j, s += t.columns) {
      at.key_pos = hn::Set(kF, float(j));
      if constexpr (kMasked) at.mask = mask[i];
      if constexpr (kStep == kShiftStep) at.key_shift = hn::Set(kF, keys.numbers().key_shift[j]);
      hn::StoreU(Step<kStep>(hn::LoadU(kF, s), at, keys, steps), kF, s);
    }
  }
}

// Vectors of masks take much stack. Where size counts it is not below a modifier.
FOVEA_SHARED void MaskKeys(const QueryTile& t, const KeyTile& keys, const ScoreSteps& steps, size_t column) {
  StepKeys<kMaskStep>(t, keys, steps, column);
}

// Applies the steps that are on, up to the stage `last`. Each has its own loop: whether it is on is tested once, not
// for each score.
template <int kStep = 0>
FOVEA_INLINE void StepByStep(const QueryTile& t, const KeyTile& keys, const ScoreSteps& steps, fovea_scores_stage last,
                             size_t column) {
  if (IsOn<kStep>(keys, steps, last)) {
    if constexpr (kStep == kModifyStep) {
      ModifyScores(t, keys, steps, column);
    } else if constexpr (kStep == kMaskStep && kLanes > 1) {
      MaskKeys(t, keys, steps, column);
    } else {
      StepKeys<kStep>(t, keys, steps, column);
    }
  }
  if constexpr (kStep + 1 < kScoreSteps) StepByStep<kStep + 1>(t, keys, steps, last, column);
}

// All steps over the scores of one vector of rows.
FOVEA_CALLED void ApplySteps(const QueryTile& t, const KeyTile& keys, const ScoreSteps& steps, fovea_scores_stage last,
                             size_t column) {
  StepByStep(t, keys, steps, last, column);
}

#endif  // FOVEA_SRC_ATTENTION_STEPS_SCORE_STEPS_INL_
