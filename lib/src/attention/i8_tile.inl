// SPDX-License-Identifier: Apache-2.0
//
// The two products of a tile with integer codes, and the softmax between them. A lane is a query row. Written over the
// dot words of one instruction (simd/dot_*.inl):
//   x = query codes [head_dim / group][column][group], rows = keys as they lie          -> scores, f32
//   x = weight codes [key / group][column][group], rows = values [key / group][element][group] -> sums of values
// Between the products Mul and Add are apart and the sums' order is fixed by the keys' places in the tile, so that the
// bits are the same on every target.

constexpr int kBlockVectors = kDotTraits[dot::kKind].vectors ? kDotTraits[dot::kKind].vectors : hn::kBlockVectors;
constexpr size_t kGroup = kDotTraits[dot::kKind].group, kReads = kDotTraits[dot::kKind].reads;

FOVEA_INLINE dot::Code* QueryCodes(const QueryTile& t) { return reinterpret_cast<dot::Code*>(t.q); }
FOVEA_INLINE dot::Code* WeightCodes(const QueryTile& t) {
  return reinterpret_cast<dot::Code*>(sizeof(dot::Code) == sizeof(float) ? t.s : t.s + size_t{kKeyTile} * t.columns);
}
FOVEA_INLINE float* QueryScales(const QueryTile& t) { return ::fovea::query_scales(t); }
FOVEA_INLINE float* ValueFactors(const QueryTile& t) { return ::fovea::value_factors(t); }

// ------------------------------------------------------------------------------------------------------- queries

// A row of queries times scale. Where size counts, one text serves all types.
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

// A row of codes, which are taken as they are. Its scale is in QueryScales by then.
struct CodeRow {
  FormatRow<FOVEA_I8> row;
  FOVEA_INLINE CodeRow Of(const void* data) { return {FormatRow<FOVEA_I8>::Of(data, nullptr)}; }
  inline __attribute__((always_inline)) VF operator()(size_t d, size_t n) const {
    return n == kLanes ? row.Whole(d) : row.Part(d, n);
  }
};
struct CodesAsTheyAre {
  inline __attribute__((always_inline)) VF Biased(VF codes) const {
    return hn::Add(codes, hn::Set(kF, kRoundingBias));
  }
};

#if defined(FOVEA_DOT_QUERIES)
#include FOVEA_DOT_QUERIES
#else

// Puts the codes of `count` <= kLanes elements, the first of which is element d from x on, where their column has them:
// groups lie together.
FOVEA_INLINE void PutCodes(VF biased, size_t d, size_t count, dot::Code* x, size_t columns) {
  constexpr size_t kChunk = kGroup < kLanes ? kGroup : kLanes;
  dot::Code codes[kLanes];
  dot::StoreQueries(biased, codes);
  for (size_t i = 0; i < count; i += kChunk) {
    const size_t place = dot::PlaceOf(d + i);
    __builtin_memcpy(x + place / kGroup * columns * kGroup + place % kGroup, codes + i, kChunk * sizeof *codes);
  }
}

template <class Row, class Fit>
FOVEA_INLINE void PutColumn(const QueryTile& t, const Row& row, const Fit& fit, size_t column) {
  constexpr size_t kStep = kReads > kLanes ? kReads : kLanes;
  const size_t columns = t.columns, dim = t.head_dim;
  dot::Code* x = QueryCodes(t) + column * kGroup;
  size_t d = 0;
  for (; d + kStep <= dim; d += kStep, x += kStep * columns) {
    FOVEA_UNROLL_FOR_SPEED(16)
    for (size_t i = 0; i < kStep; i += kLanes) PutCodes(fit.Biased(row(d + i, kLanes)), i, kLanes, x, columns);
  }
  const size_t left = dim - d, padded = round_up(left, kReads);
  for (size_t i = 0; i < padded; i += kLanes) {
    const size_t n = i >= left ? 0 : left - i < kLanes ? left - i : kLanes;
    PutCodes(fit.Biased(row(d + i, n)), i, padded - i < kLanes ? padded - i : kLanes, x, columns);
  }
}

template <fovea_dtype kType>
FOVEA_INLINE void BeginColumn(const QueryTile& t, const ScaledRow<kType>& row, size_t column) {
  const ScaleI8 fit = ScaleI8::Of(row, t.head_dim);
  hn::StoreN(fit.scale, kF, QueryScales(t) + column, 1);
  PutColumn(t, row, fit, column);
}

FOVEA_KERNEL void Begin(const QueryTile& t, const TypedRows& q, float scale) {
  const size_t columns = t.columns;
  const RowArray<char> queries = BytesOf<kTensorFormats>(q);
  const auto begin_column = [&](size_t column) {
    const char* const query = queries.data + RowOffset(t, column, queries.token_stride, queries.head_stride);
    if (kHasI8Tensors && q.dtype == FOVEA_I8) return PutColumn(t, CodeRow::Of(query), CodesAsTheyAre{}, column);
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
