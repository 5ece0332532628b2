// SPDX-License-Identifier: Apache-2.0
//
// What integer products do in another way on AArch64.
#ifndef FOVEA_SRC_ATTENTION_I8_OWN_NEON64_INL_
#define FOVEA_SRC_ATTENTION_I8_OWN_NEON64_INL_

#include "core/attention/i8/queries.inl"
#include "core/attention/i8/softmax.inl"
#include "core/attention/i8/whole_block.inl"

template <class Dot>
struct NeonQueries {
  using Codes = I8Codes<Dot>;
  using Code = typename Dot::Code;
  using E = typename Dot::E;
  static constexpr size_t kGroup = Dot::kGroup, kReads = Dot::kReads;

  template <fovea_dtype kType>
  FOVEA_INLINE void BeginColumns(const QueryTile& t, const LaneRows<char>& queries, VF scale, size_t column) {
    FormatRow<kType> rows[4];
    const VF largest = hn::Mul(NeonCodes<Dot>::LargestOfRows(queries.at, t.head_dim, rows), hn::Abs(scale));
    const ScaleI8 fit = ScaleI8::From(hn::Max(largest, hn::Set(kF, kLeastMaxI8)), hn::Mul(largest, hn::Zero(kF)));
    hn::StoreU(fit.scale, kF, query_scales(t) + column);
    NeonCodes<Dot>::PutColumns(rows, t.head_dim, scale, fit.inverse, Codes::Queries(t) + column * kGroup,
                               t.columns * kGroup);
  }

  // The same for rows of codes.
  FOVEA_INLINE void BeginCodes(const QueryTile& t, const LaneRows<char>& queries, size_t column) {
    const size_t step = t.columns * kGroup, dim = t.head_dim;
    Code* x = Codes::Queries(t) + column * kGroup;
    for (size_t d = 0; d < dim; d += kReads, x += kReads / kGroup * step) {
      const size_t n = dim - d < kReads ? dim - d : kReads;
      int8_t codes[4][kReads] = {};
      E rows[4];
      for (int r = 0; r < 4; ++r) {
        __builtin_memcpy(codes[r], queries.at[r] + d, n);
        rows[r] = Dot::LoadE(codes[r]);
      }
      Dot::StoreColumns(rows, x, step);
    }
  }

  FOVEA_SECTION_OF(Dot) FOVEA_KERNEL void Begin(const QueryTile& t, const TypedRows& q, float scale) {
    const size_t columns = t.columns;
    for (size_t column = 0; column < columns; column += kLanes) {
      const LaneRows<char> rows = RowsOf(t, BytesOf(q), column);
      const auto begin = [&] {
        if (kHasI8Tensors && q.dtype == FOVEA_I8) return BeginCodes(t, rows, column);
        FOVEA_WITH_FORMAT(kUnscaledFormats, q.dtype, BeginColumns<kType>(t, rows, hn::Set(kF, scale), column));
      };
      begin();
      BeginSoftmax(t, column);
    }
    ZeroVectors(t.o, columns / kLanes * t.value_dim);
  }
};

template <class Dot>
struct I8Queries<Dot, kDotSdot> : NeonQueries<Dot> {};
template <class Dot>
struct I8Queries<Dot, kDotSmmla> : NeonQueries<Dot> {};

template <class Dot>
struct I8Whole<Dot, kDotSdot> : WholeBlock<Dot> {};
template <class Dot>
struct I8Whole<Dot, kDotSmmla> : WholeBlock<Dot> {};

#endif  // FOVEA_SRC_ATTENTION_I8_OWN_NEON64_INL_
