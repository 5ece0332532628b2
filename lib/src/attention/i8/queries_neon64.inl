// SPDX-License-Identifier: Apache-2.0
//
// The queries of i8/tile.inl for AArch64: four rows at a time.

template <fovea_dtype kType>
FOVEA_INLINE void BeginColumns(const QueryTile& t, const LaneRows<char>& queries, VF scale, size_t column) {
  FormatRow<kType> rows[4];
  const VF largest = hn::Mul(NeonCodes<dot>::LargestOfRows(queries.at, t.head_dim, rows), hn::Abs(scale));
  const ScaleI8 fit = ScaleI8::From(hn::Max(largest, hn::Set(kF, kLeastMaxI8)), hn::Mul(largest, hn::Zero(kF)));
  hn::StoreU(fit.scale, kF, QueryScales(t) + column);
  NeonCodes<dot>::PutColumns(rows, t.head_dim, scale, fit.inverse, QueryCodes(t) + column * kGroup, t.columns * kGroup);
}

// The same for rows of codes.
FOVEA_INLINE void BeginCodes(const QueryTile& t, const LaneRows<char>& queries, size_t column) {
  const size_t step = t.columns * kGroup, dim = t.head_dim;
  dot::Code* x = QueryCodes(t) + column * kGroup;
  for (size_t d = 0; d < dim; d += kReads, x += kReads / kGroup * step) {
    const size_t n = dim - d < kReads ? dim - d : kReads;
    int8_t codes[4][kReads] = {};
    dot::E rows[4];
    for (int r = 0; r < 4; ++r) {
      __builtin_memcpy(codes[r], queries.at[r] + d, n);
      rows[r] = dot::LoadE(codes[r]);
    }
    dot::StoreColumns(rows, x, step);
  }
}

FOVEA_KERNEL void Begin(const QueryTile& t, const TypedRows& q, float scale) {
  const size_t columns = t.columns;
  for (size_t column = 0; column < columns; column += kLanes) {
    const LaneRows<char> rows = RowsOf(t, BytesOf(q), column);
    const auto begin = [&] {
      if (kHasI8Tensors && q.dtype == FOVEA_I8) return BeginCodes(t, rows, column);
      FOVEA_WITH_FORMAT(kUnscaledFormats, q.dtype, BeginColumns<kType>(t, rows, hn::Set(kF, scale), column));
    };
    begin();
    hn::StoreU(hn::Set(kF, -kInfinity), kF, t.row_max + column);
    hn::StoreU(hn::Zero(kF), kF, t.row_sum + column);
  }
  ZeroVectors(t.o, columns / kLanes * t.value_dim);
}
