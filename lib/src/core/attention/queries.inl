// SPDX-License-Identifier: Apache-2.0
//
// Queries become columns of a tile.
#ifndef FOVEA_SRC_ATTENTION_QUERIES_INL_
#define FOVEA_SRC_ATTENTION_QUERIES_INL_

#include "core/attention/rows.inl"

// A base of the Parts of a TileKernel: its Begin. They have QueryElements, where a tile has the elements that the
// products read; QueryFactors, the factors of rows; StoreQuery for a vector of rows, and LoadQuery for a row that is
// alone in a vector.
template <class Parts, class Element>
struct TileQueries {
  // Stores elements d + i of a vector of rows, i < n, in q_t, which advances by kLanes rows of the tile. `second`: the
  // rows are not the first of a vector of the products.
  FOVEA_INLINE void StoreQueries(const LaneRows<char>& rows, fovea_dtype dtype, size_t d, size_t n, VF scales,
                                 bool second, Element*& q_t, size_t columns) {
    VF lanes[kLanes];
    LoadTransposed(rows.at, dtype, d, n, lanes);
    FOVEA_UNROLL(16)
    for (size_t i = 0; i < kLanes; ++i, q_t += columns) {
      if (i < n) Parts::StoreQuery(hn::Mul(lanes[i], scales), q_t, second);
    }
  }

  FOVEA_INLINE void BeginColumns(const QueryTile& t, const TypedRows& q, float scale, size_t column, bool second) {
    const size_t columns = t.columns, head_dim = t.head_dim;
    const LaneRows<char> rows = RowsOf(t, BytesOf(q), column);
    const VF scales = Parts::QueryFactors(t, rows, q.dtype, column, scale);
    Element* q_t = Parts::QueryElements(t) + column;
    if (kLanes == 1) return Parts::LoadQuery(q.dtype, rows.at[0], head_dim, scales, q_t, columns);
    size_t d = 0;
    if constexpr (!kSizeCounts) {  // whole vectors are known to be whole
      for (; d + kLanes <= head_dim; d += kLanes) StoreQueries(rows, q.dtype, d, kLanes, scales, second, q_t, columns);
    }
    for (; d < head_dim; d += kLanes) {
      StoreQueries(rows, q.dtype, d, head_dim - d < kLanes ? head_dim - d : kLanes, scales, second, q_t, columns);
    }
  }

  FOVEA_SECTION_OF(Parts) FOVEA_KERNEL void Begin(const QueryTile& t, const TypedRows& q, float scale) {
    const size_t columns = t.columns;
    for (size_t column = 0; column < columns; column += kLanes) {
      const bool second = Parts::kStoresInTwo && column % Parts::kProductLanes != 0;
      if (!kSizeCounts && second) {
        BeginColumns(t, q, scale, column, true);
      } else {
        BeginColumns(t, q, scale, column, kSizeCounts && second);
      }
      BeginSoftmax(t, column);
    }
    ZeroVectors(t.o, columns / kLanes * t.value_dim);
  }
};

#endif  // FOVEA_SRC_ATTENTION_QUERIES_INL_
