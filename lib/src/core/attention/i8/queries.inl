// SPDX-License-Identifier: Apache-2.0
//
// Queries become codes.
#ifndef FOVEA_SRC_ATTENTION_I8_QUERIES_INL_
#define FOVEA_SRC_ATTENTION_I8_QUERIES_INL_

#include "core/attention/i8/codes.inl"
#include "ground/math/dot_codes.inl"
#include "ground/math/dot_codes_neon64.inl"

// A row of queries times scale. Where size counts, one text serves all formats.
constexpr FormatSet kQueryTexts = kSmallText ? kOnlyF32 : kUnscaledFormats;
template <fovea_dtype kType>
struct ScaledRow {
  const void* data;
  fovea_dtype dtype;
  VF scale;
  FOVEA_MEMBER VF operator()(size_t d, size_t n) const {
    if constexpr (kSmallText) {
      return hn::Mul(LoadPart(dtype, data, d, n), scale);
    } else {
      const FormatRow<kType> row = FormatRow<kType>::Of(data, nullptr);
      return hn::Mul(n == kLanes ? row.Whole(d) : row.Part(d, n), scale);
    }
  }
};

// Instructions that do it in another way have theirs by their kind.
template <class Dot, DotKind kKind = Dot::kKind>
struct I8Queries {
  using Codes = I8Codes<Dot>;
  using Code = typename Dot::Code;
  static constexpr size_t kGroup = Dot::kGroup;

  // kPuts: by the instruction's own words, which multiply only the largest magnitude by the scale: no other product is
  // larger.
  template <bool kPuts, fovea_dtype kType>
  FOVEA_INLINE ScaleI8 FitQuery(const ScaledRow<kType>& row, size_t dim) {
    if constexpr (kPuts) {
      VF largest = Dot::LargestMagnitude(static_cast<const float*>(row.data), dim);
      largest = hn::Mul(largest, hn::Abs(row.scale));
      return ScaleI8::From(hn::Max(largest, hn::Set(kF, kLeastMaxI8)), hn::Sub(largest, largest));
    } else {
      return ScaleI8::Of(row, dim);
    }
  }
  template <fovea_dtype kType>
  FOVEA_INLINE void BeginColumn(const QueryTile& t, const ScaledRow<kType>& row, size_t column) {
    constexpr bool kPuts = Dot::kPutsQueries && kType == FOVEA_F32 && !kSmallText;
    const ScaleI8 fit = FitQuery<kPuts>(row, t.head_dim);
    size_t done = 0;
    if constexpr (kPuts) {
      done = Dot::PutQueries(static_cast<const float*>(row.data), t.head_dim, row.scale, fit.inverse,
                             Codes::Queries(t) + column * kGroup, t.columns);
    }
    hn::StoreN(fit.scale, kF, query_scales(t) + column, 1);
    DotCodes<Dot>::PutColumn(row, fit, t.head_dim, Codes::Queries(t) + column * kGroup, t.columns, done);
  }

  FOVEA_SECTION_OF(Dot) FOVEA_KERNEL void Begin(const QueryTile& t, const TypedRows& q, float scale) {
    const size_t columns = t.columns;
    const RowArray<char> queries = BytesOf(q);
    const auto begin_column = [&](size_t column) {
      const char* const query = queries.data + RowOffset(t, column, queries.token_stride, queries.head_stride);
      if (kHasI8Tensors && q.dtype == FOVEA_I8) {
        const CodeRow row = CodeRow::Of(query);  // its scale is in query_scales already
        return DotCodes<Dot>::PutColumn(row, CodesAsTheyAre{}, t.head_dim, Codes::Queries(t) + column * kGroup,
                                        columns);
      }
      FOVEA_WITH_FORMAT(kQueryTexts, q.dtype, BeginColumn<kType>(t, {query, q.dtype, hn::Set(kF, scale)}, column));
    };
    for (size_t column = 0; column < columns; ++column) begin_column(column);
    for (size_t column = 0; column < columns; column += kLanes) {
      BeginSoftmax(t, column);
    }
    ZeroVectors(t.o, columns / kLanes * t.value_dim);
  }
};

#endif  // FOVEA_SRC_ATTENTION_I8_QUERIES_INL_
