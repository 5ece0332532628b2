// SPDX-License-Identifier: Apache-2.0
//
// The two products of a tile with integer codes, and the softmax between them. A lane is a query row. Written over the
// dot words of one instruction (simd/dot_*.inl):
//   x = query codes [head_dim / group][column][group], rows = keys as they lie          -> scores, f32
//   x = weight codes [key / group][column][group], rows = values [key / group][element][group] -> sums of values
// Between the products Mul and Add are apart and the sums' order is fixed by the keys' places in the tile, so that the
// bits are the same on every target.

using hn::kBlockVectors;
constexpr size_t kGroup = kDotTraits[dot::kKind].group, kReads = kDotTraits[dot::kKind].reads;

FOVEA_INLINE dot::Code* QueryCodes(const QueryTile& t) { return reinterpret_cast<dot::Code*>(t.q); }
FOVEA_INLINE dot::Code* WeightCodes(const QueryTile& t) {
  return reinterpret_cast<dot::Code*>(sizeof(dot::Code) == sizeof(float) ? t.s : t.s + size_t{kKeyTile} * t.columns);
}
FOVEA_INLINE float* QueryScales(const QueryTile& t) { return t.rescale + t.columns; }
FOVEA_INLINE float* ValueFactors(const QueryTile& t) { return t.rescale + 2 * size_t{t.columns}; }

#include FOVEA_DOT_BLOCK

// ------------------------------------------------------------------------------------------------------- queries

// A row of queries times scale.
struct ScaledRow {
  fovea_dtype dtype;
  const char* data;
  VF scale;
  inline __attribute__((always_inline)) VF operator()(size_t d, size_t n) const {
    return hn::Mul(LoadPart(dtype, data, d, n), scale);
  }
};

// Puts the codes of `count` elements from d on into a column of x: groups of them lie together.
FOVEA_INLINE void PutCodes(const dot::Code* codes, size_t d, size_t count, dot::Code* x, size_t columns) {
  constexpr size_t kChunk = kGroup < kLanes ? kGroup : kLanes;
  for (size_t i = 0; i < count; i += kChunk) {
    const size_t place = dot::PlaceOf(d + i);
    dot::Code* const to = x + place / kGroup * columns * kGroup + place % kGroup;
    __builtin_memcpy(to, codes + i, kChunk * sizeof *codes);
  }
}

FOVEA_KERNEL void Begin(const QueryTile& t, const TypedRows& q, float scale) {
  const size_t columns = t.columns, padded = round_up(t.head_dim, kReads);
  const RowArray<char> queries = BytesOf(q);
  for (size_t column = 0; column < columns; ++column) {
    const ptrdiff_t offset = RowOffset(t, column, queries.token_stride, queries.head_stride);
    const ScaledRow row = {q.dtype, queries.data + offset, hn::Set(kF, scale)};
    const ScaleI8 fit = ScaleI8::Of(row, t.head_dim);
    hn::StoreN(fit.scale, kF, QueryScales(t) + column, 1);
    dot::Code* const x = QueryCodes(t) + column * kGroup;
    for (size_t d = 0; d < padded; d += kLanes) {
      const size_t n = d >= t.head_dim ? 0 : t.head_dim - d < kLanes ? t.head_dim - d : kLanes;
      dot::Code codes[kLanes];
      dot::StoreQueries(fit.Biased(row(d, n)), codes);
      PutCodes(codes, d, padded - d < kLanes ? padded - d : kLanes, x, columns);
    }
  }
  for (size_t column = 0; column < columns; column += kLanes) {
    hn::StoreU(hn::Set(kF, -kInfinity), kF, t.row_max + column);
    hn::StoreU(hn::Zero(kF), kF, t.row_sum + column);
  }
  for (size_t i = 0; i < columns * t.value_dim; i += kLanes) hn::StoreU(hn::Zero(kF), kF, t.o + i);
}

// ------------------------------------------------------------------------------------------------------ products

// Scores of the keys j .. j + kRows - 1, of which those behind the end repeat the last one.
template <int kVectors, int kRows>
FOVEA_INLINE void ScoreBlock(const QueryTile& t, const KeyTile& keys, size_t column, uint32_t j) {
  const dot::RowCode* at[kRows];
  const I8Numbers& numbers = *keys.numbers;
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
  MultiplyKeys(QueryCodes(t) + column * kGroup, columns, at, t.head_dim, sums);
  float* s = t.s + size_t(j) * columns + column;
  FOVEA_UNROLL(8)
  for (int k = 0; k < kRows; ++k, s += columns) {
    const VF key_scale = hn::Set(kF, numbers.key_scale[key[k]]);
    FOVEA_UNROLL(4)
    for (int v = 0; v < kVectors; ++v) {
      const VF query_scale = hn::LoadU(kF, QueryScales(t) + column + v * kLanes);
      hn::StoreU(hn::Mul(hn::Mul(dot::ToFloat(sums[k][v]), key_scale), query_scale), kF, s + v * kLanes);
    }
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
  const size_t columns = t.columns, padded = round_up(t.value_dim, kValueGrain);
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
  MultiplyValues(x, columns, value, padded, end - first, sums);
  float* o = t.o + element * columns + column;
  FOVEA_UNROLL(8)
  for (int k = 0; k < kRows; ++k, o += columns) {
    if (element + k >= t.value_dim) return;
    FOVEA_UNROLL(4)
    for (int v = 0; v < kVectors; ++v) {
      const VF rescale = hn::LoadU(kF, t.rescale + column + v * kLanes);
      const VF factor = hn::LoadU(kF, ValueFactors(t) + column + v * kLanes);
      const VF old = hn::Mul(hn::LoadU(kF, o + v * kLanes), rescale);
      hn::StoreU(hn::Add(old, hn::Mul(dot::ToFloat(sums[k][v]), factor)), kF, o + v * kLanes);
    }
  }
}

template <bool kHides, int kVectors>
FOVEA_INLINE void Values(const QueryTile& t, const KeyTile& keys, size_t column) {
  constexpr int kRows = kDotRows<kVectors>;
  static_assert(kValueGrain % kRows == 0, "blocks must tile the values");
  for (size_t e = 0; e < t.value_dim; e += kRows) ValueBlock<kVectors, kRows>(t, keys, column, e);
}
