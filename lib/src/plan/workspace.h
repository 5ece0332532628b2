// SPDX-License-Identifier: Apache-2.0
//
// How a workspace is cut. One function both measures it and carves it.
#ifndef FOVEA_SRC_PLAN_WORKSPACE_H_
#define FOVEA_SRC_PLAN_WORKSPACE_H_

#include "kernels/attention_table.h"
#include "plan/memory.h"

namespace fovea {

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

// Arrays of one query tile of up to `rows` rows. Fills in the pointers of *tile and returns the bytes so far.
inline CheckedSize carve_query_tile(Carver& carver, size_t rows, size_t head_dim, size_t value_dim, QueryTile* tile) {
  tile->q_t = carver.take<float>(rows, head_dim);
  tile->s = carver.take<float>(rows, kKeyTile);
  tile->o_t = carver.take<float>(rows, value_dim);
  tile->row_max = carver.take<float>(rows);
  tile->row_sum = carver.take<float>(rows);
  tile->rescale = carver.take<float>(rows);
  tile->lo = carver.take<int32_t>(rows);
  tile->hi = carver.take<int32_t>(rows);
  tile->pos = carver.take<int32_t>(rows);
  tile->slope = carver.take<float>(rows);
  tile->sink = carver.take<float>(rows);
  return carver.used();
}

}  // namespace fovea

#endif  // FOVEA_SRC_PLAN_WORKSPACE_H_
