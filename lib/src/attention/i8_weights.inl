// SPDX-License-Identifier: Apache-2.0
//
// Weights become codes from 0 to 255 that fill each key tile: the largest weight times the scale of its value is 255.

// Weights of one vector of rows, times the scales of their values, become codes from 0 to 255, and what a sum of codes
// is multiplied by.
FOVEA_SHARED void PackWeights(const QueryTile& t, const KeyTile& keys, size_t column, bool dropped) {
  const size_t rows = t.columns;
  const I8Numbers& numbers = *keys.numbers;
  const float* const s = t.s + column;
  VF top = hn::LoadU(kF, ValueFactors(t) + column), nan = hn::Zero(kF);
  if (dropped) top = hn::Set(kF, kLeastTop);
  for (uint32_t j = keys.begin; dropped && j < keys.end; ++j) {
    top = hn::Max(top, hn::Mul(hn::LoadU(kF, s + j * rows), hn::Set(kF, numbers.value_scale[j])));
  }
  for (uint32_t j = keys.begin; numbers.any_nan && j < keys.end; ++j) {
    const MF hidden = hn::SignMask(hn::LoadU(kF, s + j * rows));
    nan = hn::Add(nan, hn::IfThenZeroElse(hidden, hn::Set(kF, numbers.value_nan[j])));
  }
  hn::StoreU(hn::Add(hn::Mul(top, hn::Set(kF, 1.0f / 255)), nan), kF, ValueFactors(t) + column);
  const VF inverse = hn::Div(hn::Set(kF, 255.0f), top), bias = hn::Set(kF, kRoundingBias);

  const uint32_t first = (dot::kSignedWeights ? numbers.begin : keys.begin) / kGroup;
  const uint32_t end = ((dot::kSignedWeights ? numbers.end : keys.end) + kGroup - 1) / kGroup;
  for (uint32_t g = first; g < end; ++g) {
    VF biased[kGroup];
    FOVEA_UNROLL(16)
    for (uint32_t i = 0; i < kGroup; ++i) {
      const uint32_t j = g * kGroup + i;
      biased[i] = bias;
      if (kGroup > 1 && (j < keys.begin || j >= keys.end)) continue;
      const VF weight = hn::Mul(hn::LoadU(kF, s + j * rows), hn::Set(kF, numbers.value_scale[j]));
      biased[i] = hn::Add(hn::Mul(weight, inverse), bias);
    }
    dot::StoreWeights(biased, WeightCodes(t) + (size_t(g) * rows + column) * kGroup);
  }
}
