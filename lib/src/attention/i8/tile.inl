// SPDX-License-Identifier: Apache-2.0
//
// The two products of a tile with integer codes, and the softmax between them. A lane is a query row. Written over the
// dot words of one instruction (simd/dot_*.inl):
//   x = query codes [head_dim / group][column][group], rows = keys as they are stored   -> scores, f32
//   x = weight codes [key / group][column][group], rows = values [key / group][element][group] -> sums of values
// Between the products Mul and Add are not fused, and the keys' places in the tile fix the order of sums. So the bits
// are the same on every target.

FOVEA_INLINE dot::Code* QueryCodes(const QueryTile& t) { return reinterpret_cast<dot::Code*>(t.q); }
FOVEA_INLINE dot::Code* WeightCodes(const QueryTile& t) {
  return reinterpret_cast<dot::Code*>(sizeof(dot::Code) == sizeof(float) ? t.s : t.s + size_t{kKeyTile} * t.columns);
}
FOVEA_INLINE float* QueryScales(const QueryTile& t) { return ::fovea::query_scales(t); }
FOVEA_INLINE float* ValueFactors(const QueryTile& t) { return ::fovea::value_factors(t); }

// ------------------------------------------------------------------------------------------------------- queries

// A row of queries times scale. Where size counts, one text serves all formats.
constexpr FormatSet kQueryTexts = kPreferSize ? kOnlyF32 : kUnscaledFormats;
template <fovea_dtype kType>
struct ScaledRow {
  const void* data;
  fovea_dtype dtype;
  VF scale;
  inline __attribute__((always_inline)) VF operator()(size_t d, size_t n) const {
    if constexpr (kPreferSize) {
      return hn::Mul(LoadPart(dtype, data, d, n), scale);
    } else {
      const FormatRow<kType> row = FormatRow<kType>::Of(data, nullptr);
      return hn::Mul(n == kLanes ? row.Whole(d) : row.Part(d, n), scale);
    }
  }
};

#if defined(FOVEA_DOT_QUERIES)
#include FOVEA_DOT_QUERIES
#else

#if FOVEA_DOT_HELIUM || FOVEA_DOT_SMLAD || FOVEA_DOT_VWMACC
// Equal to ScaleI8::Of. It multiplies only the largest magnitude by the scale: no other product is larger.
template <fovea_dtype kType>
FOVEA_INLINE ScaleI8 FitQuery(const ScaledRow<kType>& row, size_t dim) {
  VF largest = dot::LargestMagnitude(static_cast<const float*>(row.data), dim);
  largest = hn::Mul(largest, hn::Abs(row.scale));
  return ScaleI8::From(hn::Max(largest, hn::Set(kF, kLeastMaxI8)), hn::Sub(largest, largest));
}
template <fovea_dtype kType>
FOVEA_INLINE size_t PutQuery(const QueryTile& t, const ScaledRow<kType>& row, const ScaleI8& fit, size_t column) {
  return dot::PutQueries(static_cast<const float*>(row.data), t.head_dim, row.scale, fit.inverse,
                         QueryCodes(t) + column * kGroup, t.columns);
}
#endif

template <fovea_dtype kType>
FOVEA_INLINE void BeginColumn(const QueryTile& t, const ScaledRow<kType>& row, size_t column) {
#if FOVEA_DOT_HELIUM || FOVEA_DOT_SMLAD || FOVEA_DOT_VWMACC
  constexpr bool kPuts = kType == FOVEA_F32 && !kPreferSize;
  const ScaleI8 fit = kPuts ? FitQuery(row, t.head_dim) : ScaleI8::Of(row, t.head_dim);
  const size_t done = kPuts ? PutQuery(t, row, fit, column) : 0;
#else
  const ScaleI8 fit = ScaleI8::Of(row, t.head_dim);
  const size_t done = 0;
#endif
  hn::StoreN(fit.scale, kF, QueryScales(t) + column, 1);
  DotCodes<dot>::PutColumn(row, fit, t.head_dim, QueryCodes(t) + column * kGroup, t.columns, done);
}

FOVEA_KERNEL void Begin(const QueryTile& t, const TypedRows& q, float scale) {
  const size_t columns = t.columns;
  const RowArray<char> queries = BytesOf(q);
  const auto begin_column = [&](size_t column) {
    const char* const query = queries.data + RowOffset(t, column, queries.token_stride, queries.head_stride);
    if (kHasI8Tensors && q.dtype == FOVEA_I8) {
      const CodeRow row = CodeRow::Of(query);  // its scale is in QueryScales already
      return DotCodes<dot>::PutColumn(row, CodesAsTheyAre{}, t.head_dim, QueryCodes(t) + column * kGroup, columns);
    }
    FOVEA_WITH_FORMAT(kQueryTexts, q.dtype, BeginColumn<kType>(t, {query, q.dtype, hn::Set(kF, scale)}, column));
  };
  for (size_t column = 0; column < columns; ++column) begin_column(column);
  for (size_t column = 0; column < columns; column += kLanes) {
    hn::StoreU(hn::Set(kF, -kInfinity), kF, t.row_max + column);
    hn::StoreU(hn::Zero(kF), kF, t.row_sum + column);
  }
  ZeroVectors(t.o, columns / kLanes * t.value_dim);
}

#endif
