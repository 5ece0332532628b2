// SPDX-License-Identifier: Apache-2.0
//
// products.inl for AArch64. There an instruction multiplies columns by one of the four groups of codes in a register
// (sdot), or by two rows (smmla).

// Scores of kRows keys, of which `left` exist: the others repeat the last one.
template <int kVectors, int kRows>
FOVEA_INLINE void ScoreBlock(const QueryTile& t, size_t column, const dot::RowCode* key, ptrdiff_t stride,
                             uint32_t left, const float* key_scales, float* s) {
  const dot::RowCode* at[kRows];
  dot::Sums<kRows, kVectors> sums;
  FOVEA_UNROLL(8)
  for (uint32_t k = 0; k < kRows; ++k) {
    at[k] = key;
    key += left >= kRows || k + 1 < left ? stride : 0;
    dot::Begin(k, 0, sums);
  }
  const size_t columns = t.columns;
  Block::MultiplyKeys<kVectors>(QueryCodes(t) + column * kGroup, columns, at, t.head_dim, sums);
  VF query_scale[kVectors];
  dot::LoadVectors(QueryScales(t) + column, query_scale);
  FOVEA_UNROLL(8)
  for (int k = 0; k < kRows; ++k, s += columns) {
    const VF key_scale = hn::Set(kF, key_scales[k]);
    VF score[kVectors];
    FOVEA_UNROLL(4)
    for (int v = 0; v < kVectors; ++v) score[v] = hn::Mul(hn::Mul(dot::SumsOf(sums, k, v), key_scale), query_scale[v]);
    dot::StoreVectors(score, s);
  }
}

// Whole register blocks fill a key tile, so there is room for the scores of a last block that is not full.
template <int kVectors>
FOVEA_INLINE void Scores(const QueryTile& t, const KeyTile& keys, size_t column) {
  constexpr int kRows = Block::kRows<kVectors>;
  static_assert(kKeyGrain % kRows == 0, "blocks must tile the key tile");
  const ptrdiff_t stride = keys.keys.stride;
  const dot::RowCode* key = static_cast<const dot::RowCode*>(keys.keys.data) + ptrdiff_t(keys.begin) * stride;
  float* s = t.s + size_t(keys.begin) * t.columns + column;
  for (uint32_t j = keys.begin; j < keys.end; j += kRows, key += kRows * stride, s += kRows * t.columns) {
    ScoreBlock<kVectors, kRows>(t, column, key, stride, keys.end - j, keys.numbers().key_scale + j, s);
  }
}

// What all register blocks of a tile's values share.
struct WeightGroups {
  const dot::Code* x;  // the first group of weights
  uint32_t count;      // groups
  size_t step, value_step;
};

// o[e][vector] = o[e][vector] * rescale + factor * sum_j weight[j][vector] * value[j][e], for kRows elements.
template <int kVectors, int kRows>
FOVEA_INLINE void ValueBlock(const QueryTile& t, const WeightGroups& weights, const dot::RowCode* value,
                             const int32_t* starts, size_t column, size_t element) {
  const size_t columns = t.columns;
  dot::Sums<kRows, kVectors> sums;
  FOVEA_UNROLL(8)
  for (int k = 0; k < kRows; ++k) dot::Begin(k, dot::kSignedWeights ? starts[element + k] : 0, sums);
  const dot::Code* x = weights.x;
  FOVEA_UNROLL_LONG_LOOP(4)
  for (uint32_t n = weights.count; n > 0; --n) dot::AddValues(x, weights.step, value, weights.value_step, sums);
  VF rescale[kVectors], factor[kVectors];
  dot::LoadVectors(t.rescale + column, rescale);
  dot::LoadVectors(ValueFactors(t) + column, factor);
  float* o = t.o + element * columns + column;
  FOVEA_UNROLL(8)
  for (int k = 0; k < kRows; ++k, o += columns) {
    if (element + k >= t.value_dim) continue;  // clang does not unroll loops that may end early
    VF sum[kVectors];
    dot::LoadVectors(o, sum);
    FOVEA_UNROLL(4)
    for (int v = 0; v < kVectors; ++v) {
      sum[v] = hn::Add(hn::Mul(sum[v], rescale[v]), hn::Mul(dot::SumsOf(sums, k, v), factor[v]));
    }
    dot::StoreVectors(sum, o);
  }
}

template <bool kHides, int kVectors>
FOVEA_INLINE void Values(const QueryTile& t, const KeyTile& keys, size_t column) {
  constexpr int kRows = Block::kRows<kVectors>;
  static_assert(kValueGrain % kRows == 0, "blocks must tile the values");
  const I8Numbers& numbers = keys.numbers();
  const uint32_t first = (dot::kSignedWeights ? numbers.begin : keys.begin) / kGroup;
  const uint32_t end = uint32_t(((dot::kSignedWeights ? numbers.end : keys.end) + kGroup - 1) / kGroup);
  const size_t step = t.columns * kGroup, value_step = padded_values(t.value_dim) * kGroup;
  const WeightGroups weights = {WeightCodes(t) + first * step + column * kGroup, end - first, step, value_step};
  const dot::RowCode* value = static_cast<const dot::RowCode*>(keys.values.data) + first * value_step;
  for (size_t e = 0; e < t.value_dim; e += kRows, value += kRows * kGroup) {
    ValueBlock<kVectors, kRows>(t, weights, value, numbers.value_start, column, e);
  }
}
