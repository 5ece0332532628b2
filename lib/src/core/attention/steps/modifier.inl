// SPDX-License-Identifier: Apache-2.0
//
// Calls the caller's functions over score blocks. Scores are kept in base 2 and passed in natural units.
#ifndef FOVEA_SRC_ATTENTION_STEPS_MODIFIER_INL_
#define FOVEA_SRC_ATTENTION_STEPS_MODIFIER_INL_

#include "core/attention/rows.inl"

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
    modifier.weights(modifier.self, &block);
  } else {
    modifier.scores(modifier.self, &block);
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

#endif  // FOVEA_SRC_ATTENTION_STEPS_MODIFIER_INL_
