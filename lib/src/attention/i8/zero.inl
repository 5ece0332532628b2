// SPDX-License-Identifier: Apache-2.0
//
// The zero point of values. It adds the same number to all elements of a row's sums: the zero point times the sum of
// the codes of the weights. After each key tile this number is computed and subtracted. So values that are all 0 give
// exactly 0.

FOVEA_INLINE float* ZeroSums(const QueryTile& t) { return ::fovea::zero_sums(t); }
FOVEA_INLINE bool HasZero(const KeyTile& keys) { return kHasI8Tensors && keys.numbers().value_zero != 0.0f; }

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
  hn::StoreU(hn::MulSet(sum, numbers.value_zero), kF, ZeroSums(t) + column);
}

FOVEA_CALLED void TakeOutZero(const QueryTile& t, size_t column) {
  const VF zero = hn::Mul(hn::LoadU(kF, ZeroSums(t) + column), hn::LoadU(kF, ValueFactors(t) + column));
  float* o = t.o + column;
  for (size_t e = 0; e < t.value_dim; ++e, o += t.columns) hn::StoreU(hn::Sub(hn::LoadU(kF, o), zero), kF, o);
}
template <int kVectors>
FOVEA_INLINE void ScaleScores(const QueryTile&, const KeyTile&, size_t) {}
template <int kVectors>
FOVEA_INLINE void TakeOutZeros(const QueryTile& t, const KeyTile& keys, size_t column) {
  for (int v = 0; HasZero(keys) && v < kVectors; ++v) TakeOutZero(t, column + v * kLanes);
}
