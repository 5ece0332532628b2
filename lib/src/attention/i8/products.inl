// SPDX-License-Identifier: Apache-2.0
//
// The two products of a tile with integer codes, by register blocks.
#include FOVEA_DOT_SUMS

// Scores of the keys j .. j + kRows - 1. Those past the end repeat the last one.
template <int kVectors, int kRows>
FOVEA_INLINE void ScoreBlock(const QueryTile& t, const KeyTile& keys, size_t column, uint32_t j) {
  const dot::RowCode* at[kRows];
  const I8Numbers& numbers = keys.numbers();
  dot::Sum sums[kRows][kVectors];
  uint32_t key[kRows];
  FOVEA_UNROLL(8)
  for (int k = 0; k < kRows; ++k) {
    key[k] = j + k < keys.end ? j + k : keys.end - 1;
    const char* const row = static_cast<const char*>(keys.keys.data) + ptrdiff_t(key[k]) * keys.keys.stride;
    at[k] = reinterpret_cast<const dot::RowCode*>(row);
    FOVEA_UNROLL(4)
    for (int v = 0; v < kVectors; ++v) sums[k][v] = dot::Start(dot::kUnsignedQueries ? numbers.key_start[key[k]] : 0);
  }
  const size_t columns = t.columns;
  Block::MultiplyKeys(QueryCodes(t) + column * kGroup, columns, at, t.head_dim, sums);
  float* s = t.s + size_t(j) * columns + column;
  FOVEA_UNROLL(8)
  for (int k = 0; k < kRows; ++k, s += columns) {
    StoreScores(sums[k], numbers.key_scale[key[k]], QueryScales(t) + column, s);
  }
}

template <int kVectors>
FOVEA_INLINE void Scores(const QueryTile& t, const KeyTile& keys, size_t column) {
  constexpr int kRows = Block::kRows<kVectors>;
  static_assert(kKeyGrain % kRows == 0, "blocks must tile the key tile");
  for (uint32_t j = keys.begin; j < keys.end; j += kRows) ScoreBlock<kVectors, kRows>(t, keys, column, j);
}

// o[e][vector] = o[e][vector] * rescale + factor * sum_j weight[j][vector] * value[j][e], for kRows elements.
template <int kVectors, int kRows>
FOVEA_INLINE void ValueBlock(const QueryTile& t, const KeyTile& keys, size_t column, size_t element) {
  const I8Numbers& numbers = keys.numbers();
  const size_t columns = t.columns, padded = Block::PaddedValues(t.value_dim);
  dot::Sum sums[kRows][kVectors];
  FOVEA_UNROLL(8)
  for (int k = 0; k < kRows; ++k) {
    FOVEA_UNROLL(4)
    for (int v = 0; v < kVectors; ++v) {
      sums[k][v] = dot::Start(dot::kSignedWeights ? numbers.value_start[element + k] : 0);
    }
  }
  const uint32_t first = (dot::kSignedWeights ? numbers.begin : keys.begin) / kGroup;
  const uint32_t end = ((dot::kSignedWeights ? numbers.end : keys.end) + kGroup - 1) / kGroup;
  const dot::Code* x = WeightCodes(t) + (size_t(first) * columns + column) * kGroup;
  const dot::RowCode* value =
      static_cast<const dot::RowCode*>(keys.values.data) + (size_t(first) * padded + element) * kGroup;
  Block::MultiplyValues(x, columns, value, padded, end - first, sums);
  float* o = t.o + element * columns + column;
  FOVEA_UNROLL(8)
  for (int k = 0; k < kRows; ++k, o += columns) {
    if (element + k >= t.value_dim) return;
    AddOutputs(sums[k], t.rescale + column, ValueFactors(t) + column, o);
  }
}

template <bool kHides, int kVectors>
FOVEA_INLINE void Values(const QueryTile& t, const KeyTile& keys, size_t column) {
  constexpr int kRows = Block::kRows<kVectors>;
  static_assert(kValueGrain % kRows == 0, "blocks must tile the values");
  for (size_t e = 0; e < t.value_dim; e += kRows) ValueBlock<kVectors, kRows>(t, keys, column, e);
}
