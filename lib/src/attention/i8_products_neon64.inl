// SPDX-License-Identifier: Apache-2.0
//
// The products of i8_products.inl for AArch64, where an instruction multiplies columns by one of four groups of a
// register, or by two rows. Rows are read 16 codes at a time.

// Rows of keys, or elements of values, of a register block: with four vectors of columns, sums fill half the registers.
template <int kVectors>
constexpr int kDotRows = kVectors <= 2 ? 8 : 4;

// Scores of the keys j .. j + kRows - 1, of which those behind the end repeat the last one.
template <int kVectors, int kRows>
FOVEA_INLINE void ScoreBlock(const QueryTile& t, const KeyTile& keys, size_t column, uint32_t j) {
  const dot::RowCode* at[kRows];
  const I8Numbers& numbers = *keys.numbers;
  dot::Sums<kRows, kVectors> sums;
  uint32_t key[kRows];
  FOVEA_UNROLL(8)
  for (int k = 0; k < kRows; ++k) {
    key[k] = j + k < keys.end ? j + k : keys.end - 1;
    const char* const row = static_cast<const char*>(keys.keys.data) + ptrdiff_t(key[k]) * keys.keys.stride;
    at[k] = reinterpret_cast<const dot::RowCode*>(row);
    FOVEA_OPAQUE(at[k]);
    dot::Begin(k, 0, sums);
  }
  const size_t columns = t.columns, step = columns * kGroup;
  const dot::Code* x = QueryCodes(t) + column * kGroup;
  size_t left = t.head_dim;
  dot::E e[kRows];
  for (; left >= kReads; left -= kReads) {
    FOVEA_UNROLL(8)
    for (int k = 0; k < kRows; ++k) {
      e[k] = dot::LoadE(at[k]);
      at[k] += kReads;
      FOVEA_OPAQUE(at[k]);
    }
    dot::AddKeys(x, step, e, sums);
  }
  if (left > 0) {
    FOVEA_UNROLL(8)
    for (int k = 0; k < kRows; ++k) e[k] = dot::LoadPartOfE(at[k], left);
    dot::AddKeys(x, step, e, sums);
  }
  VF query_scale[kVectors];
  dot::LoadVectors(QueryScales(t) + column, query_scale);
  float* s = t.s + size_t(j) * columns + column;
  FOVEA_UNROLL(8)
  for (int k = 0; k < kRows; ++k, s += columns) {
    const VF key_scale = hn::Set(kF, numbers.key_scale[key[k]]);
    VF score[kVectors];
    FOVEA_UNROLL(4)
    for (int v = 0; v < kVectors; ++v) score[v] = hn::Mul(hn::Mul(dot::SumsOf(sums, k, v), key_scale), query_scale[v]);
    dot::StoreVectors(score, s);
  }
}

template <int kVectors>
FOVEA_INLINE void Scores(const QueryTile& t, const KeyTile& keys, size_t column) {
  constexpr int kRows = kDotRows<kVectors>;
  static_assert(kKeyGrain % kRows == 0, "blocks must tile the key tile");
  for (uint32_t j = keys.begin; j < keys.end; j += kRows) ScoreBlock<kVectors, kRows>(t, keys, column, j);
}

// o[e][vector] = o[e][vector] * rescale + factor * sum_j weight[j][vector] * value[j][e], for a block of elements.
template <int kVectors, int kRows>
FOVEA_INLINE void ValueBlock(const QueryTile& t, const KeyTile& keys, size_t column, size_t element) {
  const I8Numbers& numbers = *keys.numbers;
  const size_t columns = t.columns, step = columns * kGroup, value_step = round_up(t.value_dim, kValueGrain) * kGroup;
  dot::Sums<kRows, kVectors> sums;
  FOVEA_UNROLL(8)
  for (int k = 0; k < kRows; ++k) dot::Begin(k, dot::kSignedWeights ? numbers.value_start[element + k] : 0, sums);
  const uint32_t first = (dot::kSignedWeights ? numbers.begin : keys.begin) / kGroup;
  const uint32_t end = ((dot::kSignedWeights ? numbers.end : keys.end) + kGroup - 1) / kGroup;
  const dot::Code* x = WeightCodes(t) + first * step + column * kGroup;
  const dot::RowCode* value = static_cast<const dot::RowCode*>(keys.values.data) + first * value_step + element * kGroup;
  FOVEA_UNROLL_LONG_LOOP(4)
  for (uint32_t n = end - first; n > 0; --n) dot::AddValues(x, step, value, value_step, sums);
  VF rescale[kVectors], factor[kVectors];
  dot::LoadVectors(t.rescale + column, rescale);
  dot::LoadVectors(ValueFactors(t) + column, factor);
  float* o = t.o + element * columns + column;
  FOVEA_UNROLL(8)
  for (int k = 0; k < kRows; ++k, o += columns) {
    if (element + k >= t.value_dim) return;
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
  constexpr int kRows = kDotRows<kVectors>;
  static_assert(kValueGrain % kRows == 0, "blocks must tile the values");
  for (size_t e = 0; e < t.value_dim; e += kRows) ValueBlock<kVectors, kRows>(t, keys, column, e);
}
