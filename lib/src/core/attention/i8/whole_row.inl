// SPDX-License-Identifier: Apache-2.0
//
// whole_block.inl, and the same for a tile of one row on a target of one lane: there the scores of four keys are
// adjacent. Four keys that follow one another belong to four strands.
#ifndef FOVEA_SRC_ATTENTION_I8_WHOLE_ROW_INL_
#define FOVEA_SRC_ATTENTION_I8_WHOLE_ROW_INL_

#include "core/attention/i8/softmax.inl"

template <class Dot>
struct I8Whole<Dot, kDotSmlad> {
  using Block = WholeBlock<Dot>;
  using Codes = I8Codes<Dot>;
  using Code = typename Dot::Code;

  // Weighs the keys of four strands, 16 apart. Returns the sum of their weights.
  FOVEA_INLINE VF WeighFourStrands(float* s, const float* scales, VF shift, VF (&top)[4]) {
    const VF shifts[4] = {shift, shift, shift, shift};
    VF sums[4];
    SetAll(sums, hn::Zero(kF));
    for (const float* const end = scales + kKeyTile; scales != end; s += 16, scales += 16) {
      VF scale[4];
      FOVEA_EACH(k, 4) scale[k] = hn::LoadU(kF, scales + k);
      Block::WeighAdjacent(s, scale, shifts, top, sums, false);
    }
    return hn::Add(hn::Add(sums[0], sums[1]), hn::Add(sums[2], sums[3]));
  }

  FOVEA_SECTION_OF(Dot) FOVEA_CALLED void WeighWholeRow(const QueryTile& t, const KeyTile& keys) {
    const VF old_max = hn::LoadU(kF, t.row_max);
    VF max[4] = {old_max, old_max, old_max, old_max};
    const float* s = t.s;
    FOVEA_UNROLL_LONG_LOOP(2)
    for (uint32_t j = 0; j < kKeyTile; j += 4) Dot::MaxOfNext(s, max);
    max[0] = hn::Max(hn::Max(max[0], max[1]), hn::Max(max[2], max[3]));
    const VF shift = ShiftOf(max[0]);
    VF top[4];
    SetAll(top, hn::Set(kF, kLeastTop));
    float quarters[4];
    for (size_t quarter = 0; quarter < 4; ++quarter) {
      const size_t first = 4 * quarter;
      hn::StoreU(WeighFourStrands(t.s + first, keys.numbers().value_scale + first, shift, top), kF, quarters + quarter);
    }
    top[0] = hn::Max(hn::Max(top[0], top[1]), hn::Max(top[2], top[3]));
    VF of_quarter[4], total;
    Dot::LoadVectors(quarters, of_quarter);
    total = hn::Add(hn::Add(of_quarter[0], of_quarter[1]), hn::Add(of_quarter[2], of_quarter[3]));
    const VF rescale = Exp2(hn::Sub(old_max, shift));
    hn::StoreU(max[0], kF, t.row_max);
    hn::StoreU(hn::MulAdd(hn::LoadU(kF, t.row_sum), rescale, total), kF, t.row_sum);
    hn::StoreU(rescale, kF, t.rescale);
    hn::StoreU(hn::MulSet(top[0], 1.0f / 255), kF, value_factors(t));
    const VF inverse = hn::Div(hn::Set(kF, 255.0f), top[0]);
    if (HasZero(keys)) NoteZero(t, keys, 0, inverse, true);
    const float* weights = t.s;
    Code* const codes = Codes::Weights(t);
    FOVEA_UNROLL_LONG_LOOP(4)
    for (uint32_t j = 0; j < kKeyTile; j += 4) Dot::StoreRowWeights(weights, inverse, codes + j);
  }

  template <int kVectors>
  FOVEA_INLINE bool WeighBlock(const QueryTile& t, const KeyTile& keys, size_t column, bool hides) {
    if constexpr (kVectors > 1) {
      return Block::template WeighBlock<kVectors>(t, keys, column, hides);
    } else {
      if (kSmallText || t.columns != 1 || !Block::IsWhole(keys)) return false;
      WeighWholeRow(t, keys);
      return true;
    }
  }
};

#endif  // FOVEA_SRC_ATTENTION_I8_WHOLE_ROW_INL_
