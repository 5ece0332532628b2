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
