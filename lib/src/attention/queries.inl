// SPDX-License-Identifier: Apache-2.0
//
// Queries become columns of a tile, as elements of the type that the products read.

// Stores elements d + i of a vector of rows, i < n, in q_t, which advances by kLanes rows of the tile.
FOVEA_INLINE void StoreQueries(const LaneRows<char>& rows, fovea_dtype dtype, size_t d, size_t n, VF scales,
                               QueryElement*& q_t, size_t columns) {
  VF lanes[kLanes];
  LoadTransposed(rows, dtype, d, n, lanes);
  FOVEA_UNROLL(16)
  for (size_t i = 0; i < kLanes; ++i, q_t += columns) {
    if (i < n) StoreQuery(hn::Mul(lanes[i], scales), q_t);
  }
}

FOVEA_KERNEL void Begin(const QueryTile& t, const TypedRows& q, float scale) {
  const VF scales = hn::Set(kF, scale);
  const size_t columns = t.columns, head_dim = t.head_dim;
  for (size_t column = 0; column < columns; column += kLanes) {
    const LaneRows<char> rows = RowsOf(t, BytesOf(q), column);
    QueryElement* q_t = QueryElements(t) + column;
    if (kLanes == 1) {
      LoadQuery(q.dtype, rows.at[0], head_dim, scales, q_t, columns);
    } else {
      size_t d = 0;
      if constexpr (!kPreferSize) {  // whole vectors are known to be whole
        for (; d + kLanes <= head_dim; d += kLanes) StoreQueries(rows, q.dtype, d, kLanes, scales, q_t, columns);
      }
      for (; d < head_dim; d += kLanes) {
        StoreQueries(rows, q.dtype, d, head_dim - d < kLanes ? head_dim - d : kLanes, scales, q_t, columns);
      }
    }
    hn::StoreU(hn::Set(kF, -kInfinity), kF, t.row_max + column);
    hn::StoreU(hn::Zero(kF), kF, t.row_sum + column);
  }
  ZeroVectors(t.o, columns / kLanes * t.value_dim);
}
