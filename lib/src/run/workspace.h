// SPDX-License-Identifier: Apache-2.0
//
// How a workspace is cut. The same functions measure it for the plan and carve it for the run.
#ifndef FOVEA_SRC_RUN_WORKSPACE_H_
#define FOVEA_SRC_RUN_WORKSPACE_H_

#include "kernels/attention_table.h"

namespace fovea {

// A size that remembers whether any step to it overflowed.
struct CheckedSize {
  size_t value = 0;
  bool overflow = false;

  CheckedSize& times(size_t x) {
    overflow |= __builtin_mul_overflow(value, x, &value);
    return *this;
  }
  CheckedSize& plus(size_t x) {
    overflow |= __builtin_add_overflow(value, x, &value);
    return *this;
  }
};

// Hands out consecutive aligned arrays; with a null base it only counts.
class Carver {
 public:
  explicit Carver(void* base) : base_(static_cast<unsigned char*>(base)) {}

  template <class T>
  T* take(size_t columns, size_t rows = 1) {
    T* array = base_ ? reinterpret_cast<T*>(base_ + used_.value) : nullptr;
    CheckedSize bytes{columns};
    bytes.times(rows).times(sizeof(T)).plus(FOVEA_WORKSPACE_ALIGNMENT - 1);
    used_.plus(bytes.value / FOVEA_WORKSPACE_ALIGNMENT * FOVEA_WORKSPACE_ALIGNMENT);
    used_.overflow |= bytes.overflow;
    return array;
  }
  CheckedSize used() const { return used_; }

 private:
  unsigned char* base_;
  CheckedSize used_;
};

// The arrays of a query tile. Fills in the pointers of *tile.
struct TileShape {
  size_t columns;
  size_t q_rows, q_columns;  // of the matrices q and o, which differ between the kernels
  size_t o_rows, o_columns;
};

inline TileShape tile_shape(size_t lanes, size_t vectors, size_t head_dim, size_t value_dim) {
  const size_t columns = lanes * vectors;
  return {columns, head_dim, columns, value_dim, columns};
}

inline TileShape few_rows_shape(size_t lanes, size_t head_dim, size_t value_dim) {
  const auto vectors = [lanes](size_t dim) { return dim / lanes + (dim % lanes != 0); };
  return {lanes, vectors(head_dim), lanes * kFewRows, vectors(value_dim), lanes * kFewRows};
}

inline void carve_query_tile(Carver& carver, const TileShape& shape, QueryTile* tile) {
  tile->q = carver.take<float>(shape.q_columns, shape.q_rows);
  tile->s = carver.take<float>(shape.columns, kKeyTile);
  tile->o = carver.take<float>(shape.o_columns, shape.o_rows);
  tile->row_max = carver.take<float>(shape.columns);
  tile->row_sum = carver.take<float>(shape.columns);
  tile->rescale = carver.take<float>(shape.columns);
  tile->lo = carver.take<int32_t>(shape.columns);
  tile->hi = carver.take<int32_t>(shape.columns);
  tile->pos = carver.take<int32_t>(shape.columns);
  tile->far_pos = carver.take<float>(shape.columns);
  tile->slope = carver.take<float>(shape.columns);
  tile->sink = carver.take<float>(shape.columns);
}

inline CheckedSize measure_query_tiles(const TileShape& shape, uint32_t tiles) {
  Carver carver(nullptr);
  QueryTile tile;
  for (uint32_t i = 0; i < tiles; ++i) carve_query_tile(carver, shape, &tile);
  return carver.used();
}

}  // namespace fovea

#endif  // FOVEA_SRC_RUN_WORKSPACE_H_
