// SPDX-License-Identifier: Apache-2.0
//
// SoftmaxTile and PackWeights for several vectors of rows at once, whose scores are adjacent. Requires that the key
// tile is whole, nothing is hidden or dropped, and all scales are finite. For processors that load several vectors by
// one instruction.
#ifndef FOVEA_SRC_ATTENTION_I8_WHOLE_BLOCK_INL_
#define FOVEA_SRC_ATTENTION_I8_WHOLE_BLOCK_INL_

#include "core/attention/i8/codes.inl"
#include "ground/math/math.inl"
#include "ground/math/plain.inl"

template <class Dot>
struct WholeBlock {
  using Codes = I8Codes<Dot>;
  using Code = typename Dot::Code;
  static constexpr size_t kGroup = Dot::kGroup;

  static constexpr int kLeastWeighed = kLanes > 1 ? 2 : kSmallText ? Dot::kBlockVectors + 1 : Dot::kBlockVectors;

  // Replaces scores that are adjacent by weights, times the scales of the values.
  template <int kVectors>
  FOVEA_INLINE void WeighAdjacent(float* s, const VF (&scale)[kVectors], const VF (&shift)[kVectors],
                                  VF (&top)[kVectors], VF (&sums)[kVectors], bool first) {
    VF p[kVectors];
    Dot::LoadVectors(s, p);
    FOVEA_EACH(v, kVectors) p[v] = hn::Sub(p[v], shift[v]);
    ShortExp2(p);
    FOVEA_EACH(v, kVectors) {
      sums[v] = first ? p[v] : hn::Add(sums[v], p[v]);
      p[v] = hn::Mul(p[v], scale[v]);
      top[v] = hn::Max(top[v], p[v]);
    }
    Dot::StoreVectors(p, s);
  }
  // The same for the scores of a key.
  template <int kVectors>
  FOVEA_INLINE void WeighKey(float* s, float value_scale, const VF (&shift)[kVectors], VF (&top)[kVectors],
                             VF (&sums)[kVectors], bool first) {
    VF scale[kVectors];
    SetAll(scale, hn::Set(kF, value_scale));
    WeighAdjacent(s, scale, shift, top, sums, first);
  }

  // The same for the keys of one strand, 16 apart. Returns the sums of the weights.
  template <int kVectors>
  FOVEA_INLINE void WeighStrand(float* s, size_t columns, const float* scales, const VF (&shift)[kVectors],
                                VF (&top)[kVectors], VF (&sums)[kVectors]) {
    if constexpr (kLanes == 1) {  // a step has much code: not unrolled
      FOVEA_EACH(v, kVectors) sums[v] = hn::Zero(kF);
      for (const float* const end = scales + kKeyTile; scales != end; s += 16 * columns, scales += 16) {
        WeighKey(s, *scales, shift, top, sums, false);
      }
    } else {
      FOVEA_UNROLL(4)
      for (uint32_t i = 0; i < kKeyTile / 16; ++i, s += 16 * columns, scales += 16) {
        WeighKey(s, *scales, shift, top, sums, i == 0);
      }
    }
  }

  // The sum of four strands, as SoftmaxTile adds them, or of four such sums.
  template <int kVectors>
  FOVEA_INLINE void AddFour(const float* from, VF (&total)[kVectors]) {
    VF a[kVectors], b[kVectors], c[kVectors], d[kVectors];
    Dot::LoadVectors(from, a);
    Dot::LoadVectors(from + kVectors * kLanes, b);
    Dot::LoadVectors(from + 2 * kVectors * kLanes, c);
    Dot::LoadVectors(from + 3 * kVectors * kLanes, d);
    FOVEA_EACH(v, kVectors) total[v] = hn::Add(hn::Add(a[v], b[v]), hn::Add(c[v], d[v]));
  }

  // The largest of `max` and the scores of a whole key tile.
  template <int kVectors>
  FOVEA_INLINE void MaxOfWhole(const float* s, size_t columns, VF (&max)[kVectors]) {
    FOVEA_UNROLL_LONG_LOOP(4)
    for (uint32_t j = 0; j < kKeyTile; ++j) {
      VF x[kVectors];
      Dot::LoadVectors(s + j * columns, x);
      FOVEA_EACH(v, kVectors) max[v] = hn::Max(max[v], x[v]);
    }
  }

  template <int kVectors>
  FOVEA_INLINE void WeighWhole(const QueryTile& t, const KeyTile& keys, size_t column) {
    const I8Numbers& numbers = keys.numbers();
    const size_t columns = t.columns;
    float* const s = t.s + column;
    VF old_max[kVectors], max[kVectors], shift[kVectors], top[kVectors];
    Dot::LoadVectors(t.row_max + column, old_max);
    FOVEA_EACH(v, kVectors) max[v] = old_max[v];
    MaxOfWhole(s, columns, max);
    Dot::StoreVectors(max, t.row_max + column);
    FOVEA_EACH(v, kVectors) {
      shift[v] = ShiftOf(max[v]);
      top[v] = hn::Set(kF, kLeastTop);
    }
    float strands[16][kVectors * kLanes];  // of four, their sum then is the first
    for (uint32_t i = 0; i < 16; ++i) {
      VF sums[kVectors];
      WeighStrand(s + i * columns, columns, numbers.value_scale + i, shift, top, sums);
      Dot::StoreVectors(sums, strands[i]);
    }
    VF total[kVectors], sum[kVectors], factor[kVectors], inverse[kVectors];
    for (int quarter = 0; quarter < 4; ++quarter) {
      AddFour(strands[4 * quarter], total);
      Dot::StoreVectors(total, strands[quarter]);
    }
    AddFour(strands[0], total);
    Dot::LoadVectors(t.row_sum + column, sum);
    FOVEA_EACH(v, kVectors) old_max[v] = hn::Sub(old_max[v], shift[v]);
    Exp2(old_max);
    FOVEA_EACH(v, kVectors) {
      sum[v] = hn::MulAdd(sum[v], old_max[v], total[v]);
      factor[v] = hn::Mul(top[v], hn::Set(kF, 1.0f / 255));
      inverse[v] = hn::Div(hn::Set(kF, 255.0f), top[v]);
    }
    Dot::StoreVectors(old_max, t.rescale + column);
    Dot::StoreVectors(sum, t.row_sum + column);
    Dot::StoreVectors(factor, value_factors(t) + column);
    for (int v = 0; HasZero(keys) && v < kVectors; ++v) NoteZero(t, keys, column + v * kLanes, inverse[v], true);
    const float* weights = s;
    Code* to = Codes::Weights(t) + column * kGroup;
    for (uint32_t g = 0; g < kKeyTile / kGroup; ++g, to += columns * kGroup) {
      Dot::StoreWeights(weights, columns, inverse, to);
    }
  }

  FOVEA_INLINE bool IsWhole(const KeyTile& keys) {
    return keys.begin == 0 && keys.end == kKeyTile && !keys.numbers().any_nan;
  }
  template <int kVectors>
  FOVEA_INLINE bool WeighBlock(const QueryTile& t, const KeyTile& keys, size_t column, bool) {
    if constexpr (kVectors < kLeastWeighed) {
      return false;
    } else {
      if (!IsWhole(keys)) return false;
      WeighWhole<kVectors>(t, keys, column);
      return true;
    }
  }
};

#endif  // FOVEA_SRC_ATTENTION_I8_WHOLE_BLOCK_INL_
