// SPDX-License-Identifier: Apache-2.0
//
// SoftmaxTile and PackWeights for a whole key tile, with nothing hidden or dropped and all scales finite: there is no
// test for each key. What is stored is weights times the scales of their values.
#ifndef FOVEA_SRC_ATTENTION_I8_WHOLE_HELIUM_INL_
#define FOVEA_SRC_ATTENTION_I8_WHOLE_HELIUM_INL_

#include "core/attention/i8/softmax.inl"

template <class Dot>
struct I8Whole<Dot, kDotHelium> {
  using Codes = I8Codes<Dot>;
  using Code = typename Dot::Code;
  static constexpr size_t kGroup = Dot::kGroup;

  // Weights of the keys of one strand, 16 apart. Returns their sum. Two base addresses keep the offset of each load in
  // range.
  FOVEA_INLINE VF WeighStrand(float* s, size_t columns, const float* scales, VF shift, VF& top) {
    float *low = s + 8 * columns, *high = s + 40 * columns;
    FOVEA_OPAQUE(low);
    FOVEA_OPAQUE(high);
    VF sum = hn::Zero(kF);
    FOVEA_EACH(k, 4) {
      float* const at = (k < 2 ? low : high) + (k % 2 ? 8 : -8) * ptrdiff_t(columns);
      VF p[1] = {hn::Sub(hn::LoadU(kF, at), shift)};
      ShortExp2(p);
      sum = k == 0 ? p[0] : hn::Add(sum, p[0]);
      const VF weight = hn::MulSet(p[0], scales[16 * k]);
      hn::StoreU(weight, kF, at);
      top = hn::Max(top, weight);
    }
    return sum;
  }

  // The sum of four vectors, as SoftmaxTile adds strands.
  FOVEA_INLINE VF AddFour(const float* v) {
    const VF low = hn::Add(hn::LoadU(kF, v), hn::LoadU(kF, v + kLanes));
    return hn::Add(low, hn::Add(hn::LoadU(kF, v + 2 * kLanes), hn::LoadU(kF, v + 3 * kLanes)));
  }

  FOVEA_INLINE void WeighWhole(const QueryTile& t, const KeyTile& keys, size_t column) {
    const I8Numbers& numbers = keys.numbers();
    const size_t columns = t.columns;
    float* const s = t.s + column;
    const VF old_max = hn::LoadU(kF, t.row_max + column);
    VF max[2] = {old_max, old_max};
    const float* x = s;
    for (uint32_t j = 0; j < kKeyTile; j += 8, x += 8 * columns) {
      FOVEA_EACH(i, 8) max[i % 2] = hn::Max(max[i % 2], hn::LoadU(kF, x + i * columns));
    }
    max[0] = hn::Max(max[0], max[1]);
    const VF shift = ShiftOf(max[0]);
    VF top = hn::Set(kF, kLeastTop);
    float strands[16 * kLanes];
    for (size_t i = 0; i < 16; ++i) {
      hn::StoreU(WeighStrand(s + i * columns, columns, numbers.value_scale + i, shift, top), kF, strands + i * kLanes);
    }
    for (size_t i = 0; i < 4; ++i) hn::StoreU(AddFour(strands + 4 * i * kLanes), kF, strands + i * kLanes);
    const VF rescale = Exp2(hn::Sub(old_max, shift));
    hn::StoreU(max[0], kF, t.row_max + column);
    hn::StoreU(hn::MulAdd(hn::LoadU(kF, t.row_sum + column), rescale, AddFour(strands)), kF, t.row_sum + column);
    hn::StoreU(rescale, kF, t.rescale + column);
    hn::StoreU(hn::MulSet(top, 1.0f / 255), kF, value_factors(t) + column);
    const VF inverse = hn::Div(hn::Set(kF, 255.0f), top);
    if (HasZero(keys)) NoteZero(t, keys, column, inverse, true);
    const float* weights = s;
    Code* to = Codes::Weights(t) + column * kGroup;
    for (uint32_t g = 0; g < kKeyTile / kGroup; ++g, to += columns * kGroup) {
      for (size_t k = 0; k < kGroup; k += 4) Dot::StoreWeights(weights, columns, inverse, to + k);
    }
  }

  template <int kVectors>
  FOVEA_INLINE bool WeighBlock(const QueryTile& t, const KeyTile& keys, size_t column, bool) {
    if (kSmallText || keys.begin != 0 || keys.end != kKeyTile || keys.numbers().any_nan) return false;
    for (int v = 0; v < kVectors; ++v) WeighWhole(t, keys, column + v * kLanes);
    return true;
  }
};

#endif  // FOVEA_SRC_ATTENTION_I8_WHOLE_HELIUM_INL_
