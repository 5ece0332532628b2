// SPDX-License-Identifier: Apache-2.0
//
// The running softmax between integer products. A weight becomes a code of 8 bits, so its exponential need not be
// exact to the last bit.

// Turns the scores of n keys, in adjacent rows of s, into weights: -0 where they are hidden. Adds them to `sums`; `top`
// becomes the largest product with the scale of a value.
template <int n>
FOVEA_INLINE void WeightsOf(float* s, size_t columns, const float* value_scales, VF shift, bool hides, VF (&sums)[n],
                            VF (&top)[n]) {
  VF p[n];
  FOVEA_UNROLL(4)
  for (int i = 0; i < n; ++i) p[i] = hn::Sub(hn::LoadU(kF, s + size_t(i) * columns), shift);
  ShortExp2(p);
  FOVEA_UNROLL(4)
  for (int i = 0; i < n; ++i) {
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

// The largest weight times the scale of its value counts as at least this. Then codes are the same whether the
// processor keeps subnormal numbers or not.
constexpr float kLeastTop = 0x1p-116f;

// For one vector of rows: takes the scores of the keys into row_max and row_sum, and replaces them in s by weights.
// ValueFactors becomes the largest weight times the scale of its value. The sum of weights has 16 strands: key j
// of the tile belongs to strand j % 16. A tree adds up the strands. So the order of the sum is the same for every begin
// and end, and for kernels whose lanes are keys.
FOVEA_SHARED void SoftmaxTile(const QueryTile& t, const KeyTile& keys, size_t column, bool hides) {
  constexpr uint32_t kAtOnce = kPreferSize || hn::kRegisters < 16 ? 1 : 4;
  const size_t rows = t.columns;
  float* const s = t.s + column;
  const uint32_t begin = keys.begin, end = keys.end, padded_end = (end + 3) & ~3u;
  for (uint32_t j = end; j < padded_end; ++j) hn::StoreU(hn::Set(kF, -kInfinity), kF, s + j * rows);

  const VF old_max = hn::LoadU(kF, t.row_max + column);
  VF max[4] = {old_max, old_max, old_max, old_max};
  for (uint32_t j = begin; j < padded_end; j += 4) {
    FOVEA_UNROLL(4)
    for (uint32_t i = 0; i < 4; ++i) max[i] = hn::Max(max[i], hn::LoadU(kF, s + (j + i) * rows));
  }
  VF new_max = hn::Max(hn::Max(max[0], max[1]), hn::Max(max[2], max[3]));
  if (hides) new_max = MinusInfinityIfLowest(new_max);
  const VF shift = ShiftOf(new_max);

  const float* const value_scale = keys.numbers().value_scale;
  VF quarters[4], top[kAtOnce];
  FOVEA_UNROLL(4)
  for (VF& largest : top) largest = hn::Set(kF, kLeastTop);
  for (uint32_t quarter = 0; quarter < 4; ++quarter) {
    VF strands[4];
    for (uint32_t i = 0; i < 4; i += kAtOnce) {
      VF sums[kAtOnce];
      FOVEA_UNROLL(4)
      for (VF& sum : sums) sum = hn::Zero(kF);
      uint32_t j = begin / 16 * 16 + 4 * quarter;
      if (j < begin) j += 16;
      for (; j < padded_end; j += 16) {
        WeightsOf(s + (j + i) * rows, rows, value_scale + j + i, shift, hides, sums, top);
      }
      FOVEA_UNROLL(4)
      for (uint32_t k = 0; k < kAtOnce; ++k) strands[i + k] = sums[k];
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
  hn::StoreU(top[0], kF, ValueFactors(t) + column);
}
