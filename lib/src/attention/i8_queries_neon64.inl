// SPDX-License-Identifier: Apache-2.0
//
// The queries of i8_tile.inl for AArch64: four rows together, 16 elements of each at a time.

// n elements of a row from d on, and 0 behind them.
template <fovea_dtype kType>
FOVEA_INLINE void LoadElements(const FormatRow<kType>& row, size_t d, size_t n, VF (&v)[4]) {
  if (n < kReads) {
    for (size_t i = 0; i < 4; ++i, d += kLanes, n -= n < kLanes ? n : kLanes) {
      v[i] = n == 0 ? hn::Zero(kF) : row.Part(d, n < kLanes ? n : kLanes);
    }
  } else if constexpr (kType == FOVEA_F32) {
    dot::LoadVectors(row.data + d, v);
  } else {
    FOVEA_UNROLL(4)
    for (size_t i = 0; i < 4; ++i) v[i] = row.Whole(d + i * kLanes);
  }
}

// The largest magnitude of a row, in some lane. NaN if an element is NaN.
template <fovea_dtype kType>
FOVEA_INLINE VF LargestOf(const FormatRow<kType>& row, size_t dim) {
  VF most[4] = {hn::Zero(kF), hn::Zero(kF), hn::Zero(kF), hn::Zero(kF)};
  const auto take = [&](size_t d, size_t n) __attribute__((always_inline)) {
    VF v[4];
    LoadElements(row, d, n, v);
    FOVEA_UNROLL(4)
    for (int i = 0; i < 4; ++i) most[i] = dot::MaxOrNan(most[i], hn::Abs(v[i]));
  };
  size_t d = 0;
  for (; d + kReads <= dim; d += kReads) take(d, kReads);
  if (d < dim) take(d, dim - d);
  return dot::MaxOrNan(dot::MaxOrNan(most[0], most[1]), dot::MaxOrNan(most[2], most[3]));
}

// 16 codes of row r, of which n are not 0.
template <int r, fovea_dtype kType>
FOVEA_INLINE dot::E CodesOf(const FormatRow<kType> (&rows)[4], size_t d, size_t n, VF scale, VF inverse) {
  VF v[4];
  LoadElements(rows[r], d, n, v);
  FOVEA_UNROLL(4)
  for (int i = 0; i < 4; ++i) v[i] = hn::Mul(v[i], scale);
  return dot::Codes<r>(v, inverse);
}

template <fovea_dtype kType>
FOVEA_INLINE void BeginColumns(const QueryTile& t, const LaneRows<char>& queries, VF scale, size_t column) {
  const size_t step = t.columns * kGroup, dim = t.head_dim;
  FormatRow<kType> rows[4];
  VF most[4];
  FOVEA_UNROLL(4)
  for (int r = 0; r < 4; ++r) {
    rows[r] = FormatRow<kType>::Of(queries.at[r], nullptr);
    most[r] = LargestOf(rows[r], dim);
  }
  // Rounding keeps the order, so this is the largest product with scale.
  const VF largest = hn::Mul(dot::LargestLanes(most), hn::Abs(scale));
  const ScaleI8 fit = ScaleI8::From(hn::Max(largest, hn::Set(kF, kLeastMaxI8)), hn::Mul(largest, hn::Zero(kF)));
  hn::StoreU(fit.scale, kF, QueryScales(t) + column);
  dot::Code* x = QueryCodes(t) + column * kGroup;
  const auto put = [&](size_t d, size_t n) __attribute__((always_inline)) {
    const dot::E codes[4] = {
        CodesOf<0>(rows, d, n, scale, fit.inverse), CodesOf<1>(rows, d, n, scale, fit.inverse),
        CodesOf<2>(rows, d, n, scale, fit.inverse), CodesOf<3>(rows, d, n, scale, fit.inverse)};
    dot::StoreColumns(codes, x, step);
    x += kReads / kGroup * step;
  };
  size_t d = 0;
  for (; d + kReads <= dim; d += kReads) put(d, kReads);
  if (d < dim) put(d, dim - d);
}

// The same of rows of codes.
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
    const LaneRows<char> rows = RowsOf(t, BytesOf<kTensorFormats>(q), column);
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
