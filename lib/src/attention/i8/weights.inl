// SPDX-License-Identifier: Apache-2.0
//
// Weights become codes from 0 to 255 that fill each key tile: the largest weight times the scale of its value is 255.

// Stores the codes of some groups of keys. Unless kWhole, keys outside the tile's [begin, end) get the code 0.
template <bool kWhole>
FOVEA_INLINE void PackGroups(const KeyTile& keys, const float* s, size_t rows, VF inverse, uint32_t first, uint32_t end,
                             dot::Code* codes) {
  constexpr uint32_t kAtOnce = kGroup > 8 ? 1 : kGroup;
  const float* value_scale = keys.numbers().value_scale + first * kGroup;
  s += first * kGroup * rows;
  codes += first * kGroup * rows;
  for (uint32_t g = first; g < end; ++g, codes += kGroup * rows) {
    for (uint32_t k = 0; k < kGroup; k += kAtOnce, s += kAtOnce * rows, value_scale += kAtOnce) {
      VF biased[kAtOnce];
      FOVEA_UNROLL(8)
      for (uint32_t i = 0; i < kAtOnce; ++i) {
        const uint32_t key = uint32_t(g * kGroup + k + i);
        biased[i] = hn::Set(kF, kRoundingBias);
        if (!kWhole && (key < keys.begin || key >= keys.end)) continue;
        const VF weight = hn::MulSet(hn::LoadU(kF, s + i * rows), value_scale[i]);
        biased[i] = hn::AddSet(hn::Mul(weight, inverse), kRoundingBias);
      }
      dot::StoreWeights(biased, codes + k);
    }
  }
}

// Turns the weights of one vector of rows, times the scales of their values, into codes from 0 to 255. ValueFactors
// becomes what a sum of codes is multiplied by.
FOVEA_SHARED void PackWeights(const QueryTile& t, const KeyTile& keys, size_t column, bool changed) {
  const size_t rows = t.columns;
  const I8Numbers& numbers = keys.numbers();
  const float* const s = t.s + column;
  VF top = hn::LoadU(kF, ValueFactors(t) + column), nan = hn::Zero(kF);
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
  hn::StoreU(hn::Add(hn::Mul(top, hn::Set(kF, 1.0f / 255)), nan), kF, ValueFactors(t) + column);
  const VF inverse = hn::Div(hn::Set(kF, 255.0f), top);
  if (HasZero(keys)) NoteZero(t, keys, column, inverse, false);

  const uint32_t first = (dot::kSignedWeights ? numbers.begin : keys.begin) / kGroup;
  const uint32_t end = uint32_t(((dot::kSignedWeights ? numbers.end : keys.end) + kGroup - 1) / kGroup);
  dot::Code* const codes = WeightCodes(t) + column * kGroup;
  if constexpr (kPreferSize) return PackGroups<false>(keys, s, rows, inverse, first, end, codes);
  const uint32_t whole = uint32_t(round_up(keys.begin, kGroup)) / kGroup;
  const uint32_t full = uint32_t(keys.end / kGroup), part = full > whole ? full : whole;
  PackGroups<false>(keys, s, rows, inverse, first, whole, codes);
  PackGroups<true>(keys, s, rows, inverse, whole, part, codes);
  PackGroups<false>(keys, s, rows, inverse, part, end, codes);
}
