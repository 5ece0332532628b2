// SPDX-License-Identifier: Apache-2.0
//
// The running softmax between integer products. A weight becomes a code of 8 bits, so its exponential need not be
// exact to the last bit.
#ifndef FOVEA_SRC_ATTENTION_I8_SOFTMAX_INL_
#define FOVEA_SRC_ATTENTION_I8_SOFTMAX_INL_

#include "core/attention/i8/codes.inl"
#include "core/attention/steps/called.inl"
#include "ground/math/math.inl"
#include "ground/math/plain.inl"

// Exp2 of one vector for each key tile. Where size counts, that of the steps, if these need it.
FOVEA_INLINE VF Rescale(VF x) {
#if FOVEA_SHARES_STEPS
  if (kStepsHaveExp2) {
    float lanes[kLanes];
    hn::StoreU(x, kF, lanes);
    FOVEA_COMMON_NAMESPACE::step_kernels::exp2_of(lanes);
    return hn::LoadU(kF, lanes);
  }
#endif
  return Exp2(x);
}

struct I8Softmax {
  // Turns the scores of n keys, in adjacent rows of s, into weights: -0 where they are hidden. Adds them to `sums`;
  // `top` becomes the largest product with the scale of a value.
  template <int n>
  FOVEA_INLINE void WeightsOf(float* s, size_t columns, const float* value_scales, VF shift, bool hides, VF (&sums)[n],
                              VF (&top)[n]) {
    VF p[n];
    FOVEA_EACH(i, n) p[i] = hn::Sub(hn::LoadU(kF, s + size_t(i) * columns), shift);
    ShortExp2(p);
    FOVEA_EACH(i, n) {
      float* const at = s + size_t(i) * columns;
      if (hides) {
        const MF hidden = hn::Eq(hn::LoadU(kF, at), hn::Set(kF, -kInfinity));
        p[i] = hn::IfThenElse(hidden, hn::Set(kF, -0.0f), p[i]);
      }
      hn::StoreU(p[i], kF, at);
      sums[i] = hn::Add(sums[i], p[i]);
      top[i] = hn::Max(top[i], hn::MulSet(p[i], value_scales[i]));
    }
  }

  // For one vector of rows: takes the scores of the keys into row_max and row_sum, and replaces them in s by weights.
  // value_factors becomes the largest weight times the scale of its value. The sum of weights has 16 strands: key j of
  // the tile belongs to strand j % 16. A tree adds up the strands. So the order of the sum is the same for every begin
  // and end, and for kernels whose lanes are keys.
  FOVEA_SHARED void SoftmaxTile(const QueryTile& t, const KeyTile& keys, size_t column, bool hides) {
    constexpr uint32_t kAtOnce = hn::kRegisters < 16 ? 1 : AtOnce(4);
    const size_t rows = t.columns;
    float* const s = t.s + column;
    const uint32_t begin = keys.begin, end = keys.end, padded_end = (end + 3) & ~3u;
    for (uint32_t j = end; j < padded_end; ++j) hn::StoreU(hn::Set(kF, -kInfinity), kF, s + j * rows);

    const VF old_max = hn::LoadU(kF, t.row_max + column);
    VF max[4] = {old_max, old_max, old_max, old_max};
    for (uint32_t j = begin; j < padded_end; j += 4) {
      FOVEA_EACH(i, 4) max[i] = hn::Max(max[i], hn::LoadU(kF, s + (j + i) * rows));
    }
    VF new_max = hn::Max(hn::Max(max[0], max[1]), hn::Max(max[2], max[3]));
    if (hides) new_max = MinusInfinityIfLowest(new_max);
    const VF shift = ShiftOf(new_max);

    const float* const value_scale = keys.numbers().value_scale;
    VF quarters[4], top[kAtOnce];
    SetAll(top, hn::Set(kF, kLeastTop));
    for (uint32_t quarter = 0; quarter < 4; ++quarter) {
      VF strands[4];
      for (uint32_t i = 0; i < 4; i += kAtOnce) {
        VF sums[kAtOnce];
        SetAll(sums, hn::Zero(kF));
        uint32_t j = begin / 16 * 16 + 4 * quarter;
        if (j < begin) j += 16;
        for (; j < padded_end; j += 16) {
          WeightsOf(s + (j + i) * rows, rows, value_scale + j + i, shift, hides, sums, top);
        }
        FOVEA_EACH(k, kAtOnce) strands[i + k] = sums[k];
      }
      quarters[quarter] = hn::Add(hn::Add(strands[0], strands[1]), hn::Add(strands[2], strands[3]));
    }
    const VF total = hn::Add(hn::Add(quarters[0], quarters[1]), hn::Add(quarters[2], quarters[3]));
    const VF rescale = Rescale(hn::Sub(old_max, shift));
    hn::StoreU(new_max, kF, t.row_max + column);
    hn::StoreU(hn::MulAdd(hn::LoadU(kF, t.row_sum + column), rescale, total), kF, t.row_sum + column);
    hn::StoreU(rescale, kF, t.rescale + column);
    FOVEA_UNROLL(4)
    for (uint32_t i = 1; i < kAtOnce; ++i) top[0] = hn::Max(top[0], top[i]);
    hn::StoreU(top[0], kF, value_factors(t) + column);
  }
};

// Weights become codes from 0 to 255 that fill each key tile: the largest weight times the scale of its value is 255.
template <class Dot>
struct I8Weights {
  using Codes = I8Codes<Dot>;
  using Code = typename Dot::Code;
  static constexpr size_t kGroup = Dot::kGroup;

  // Stores the codes of some groups of keys. Unless kWhole, keys outside the tile's [begin, end) get the code 0.
  template <bool kWhole>
  FOVEA_INLINE void PackGroups(const KeyTile& keys, const float* s, size_t rows, VF inverse, uint32_t first,
                               uint32_t end, Code* codes) {
    constexpr uint32_t kAtOnce = kGroup > 8 ? 1 : kGroup;
    const float* value_scale = keys.numbers().value_scale + first * kGroup;
    s += first * kGroup * rows;
    codes += first * kGroup * rows;
    for (uint32_t g = first; g < end; ++g, codes += kGroup * rows) {
      for (uint32_t k = 0; k < kGroup; k += kAtOnce, s += kAtOnce * rows, value_scale += kAtOnce) {
        VF biased[kAtOnce];
        FOVEA_EACH(i, kAtOnce) {
          const uint32_t key = uint32_t(g * kGroup + k + i);
          biased[i] = hn::Set(kF, kRoundingBias);
          if (!kWhole && (key < keys.begin || key >= keys.end)) continue;
          const VF weight = hn::MulSet(hn::LoadU(kF, s + i * rows), value_scale[i]);
          biased[i] = hn::AddSet(hn::Mul(weight, inverse), kRoundingBias);
        }
        Dot::StoreWeights(biased, codes + k);
      }
    }
  }

  // Turns the weights of one vector of rows, times the scales of their values, into codes from 0 to 255. value_factors
  // becomes what a sum of codes is multiplied by.
  FOVEA_SECTION_OF(Dot)
  FOVEA_SHARED void PackWeights(const QueryTile& t, const KeyTile& keys, size_t column, bool changed) {
    const size_t rows = t.columns;
    const I8Numbers& numbers = keys.numbers();
    const float* const s = t.s + column;
    VF top = hn::LoadU(kF, value_factors(t) + column), nan = hn::Zero(kF);
    if (changed) top = hn::Set(kF, kLeastTop);
    for (uint32_t j = keys.begin; changed && j < keys.end; ++j) {
      const VF weight = hn::LoadU(kF, s + j * rows);
      top = hn::Max(top, hn::MulSet(weight, numbers.value_scale[j]));
      nan = hn::Add(nan, hn::Sub(weight, weight));  // 0, or NaN for a weight that the caller made infinite or NaN
    }
    for (uint32_t j = keys.begin; numbers.any_nan && j < keys.end; ++j) {
      const MF hidden = hn::SignMask(hn::LoadU(kF, s + j * rows));
      nan = hn::Add(nan, hn::IfThenZeroElse(hidden, hn::Set(kF, numbers.value_nan[j])));
    }
    hn::StoreU(hn::Add(hn::Mul(top, hn::Set(kF, 1.0f / 255)), nan), kF, value_factors(t) + column);
    const VF inverse = hn::Div(hn::Set(kF, 255.0f), top);
    if (HasZero(keys)) NoteZero(t, keys, column, inverse, false);

    const uint32_t first = (Dot::kSignedWeights ? numbers.begin : keys.begin) / kGroup;
    const uint32_t end = uint32_t(((Dot::kSignedWeights ? numbers.end : keys.end) + kGroup - 1) / kGroup);
    Code* const codes = Codes::Weights(t) + column * kGroup;
    if constexpr (kSmallText) return PackGroups<false>(keys, s, rows, inverse, first, end, codes);
    const uint32_t whole = uint32_t(round_up(keys.begin, kGroup)) / kGroup;
    const uint32_t full = uint32_t(keys.end / kGroup), part = full > whole ? full : whole;
    PackGroups<false>(keys, s, rows, inverse, first, whole, codes);
    PackGroups<true>(keys, s, rows, inverse, whole, part, codes);
    PackGroups<false>(keys, s, rows, inverse, part, end, codes);
  }
};

// A processor's own way from the scores of whole key tiles to codes of weights: by default none, and one vector of rows
// is weighed after the other.
template <class Dot, DotKind kKind = Dot::kKind>
struct I8Whole {
  template <int kVectors>
  FOVEA_INLINE bool WeighBlock(const QueryTile&, const KeyTile&, size_t, bool) {
    return false;
  }
};

#endif  // FOVEA_SRC_ATTENTION_I8_SOFTMAX_INL_
