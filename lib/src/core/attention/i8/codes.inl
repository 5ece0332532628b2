// SPDX-License-Identifier: Apache-2.0
//
// Codes of queries and weights, and the zero point of values. It adds the same number to all elements of a row's sums:
// the zero point times the sum of the codes of the weights. After each key tile this number is computed and subtracted.
// So values that are all 0 give exactly 0.
#ifndef FOVEA_SRC_ATTENTION_I8_CODES_INL_
#define FOVEA_SRC_ATTENTION_I8_CODES_INL_

#include "core/attention/rows.inl"

// Where a tile has the codes that integer products read:
//   queries [head_dim / group][column][group], weights [key / group][column][group]
template <class Dot>
struct I8Codes {
  using Code = typename Dot::Code;
  FOVEA_INLINE Code* Queries(const QueryTile& t) { return static_cast<Code*>(t.q); }
  FOVEA_INLINE Code* Weights(const QueryTile& t) {
    return reinterpret_cast<Code*>(sizeof(Code) == sizeof(float) ? t.s : t.s + size_t{kKeyTile} * t.columns);
  }
};

// The largest weight times the scale of its value counts as at least this. Then codes are the same whether the
// processor keeps subnormal numbers or not.
constexpr float kLeastTop = 0x1p-116f;

FOVEA_INLINE bool HasZero(const KeyTile& keys) { return kHasI8Tensors && keys.numbers().value_zero_point != 0.0f; }

// For one vector of rows: stores the zero point times the sum of the weights' codes. `scaled`: the weights are already
// multiplied by the scales of the values.
FOVEA_CALLED void NoteZero(const QueryTile& t, const KeyTile& keys, size_t column, VF inverse, bool scaled) {
  const I8Numbers& numbers = keys.numbers();
  VF sum = hn::Zero(kF);
  for (uint32_t j = keys.begin; j < keys.end; ++j) {
    VF weight = hn::LoadU(kF, t.s + size_t(j) * t.columns + column);
    if (!scaled) weight = hn::MulSet(weight, numbers.value_scale[j]);
    const VF biased = hn::AddSet(hn::Mul(weight, inverse), kRoundingBias);
    sum = hn::Add(sum, hn::Sub(biased, hn::Set(kF, kRoundingBias)));
  }
  hn::StoreU(hn::MulSet(sum, numbers.value_zero_point), kF, zero_sums(t) + column);
}

FOVEA_CALLED void TakeOutZero(const QueryTile& t, size_t column) {
  const VF zero = hn::Mul(hn::LoadU(kF, zero_sums(t) + column), hn::LoadU(kF, value_factors(t) + column));
  float* o = t.o + column;
  for (size_t e = 0; e < t.value_dim; ++e, o += t.columns) hn::StoreU(hn::Sub(hn::LoadU(kF, o), zero), kF, o);
}

#endif  // FOVEA_SRC_ATTENTION_I8_CODES_INL_
