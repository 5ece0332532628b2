// SPDX-License-Identifier: Apache-2.0
//
// What the products of all-integer attention use of an IntegerBlock's rows.
#ifndef FOVEA_SRC_INTEGER_ROWS_INL_
#define FOVEA_SRC_INTEGER_ROWS_INL_

#include "ground/simd/integers.inl"

// The keys [first, first + count) of the grid.
struct IntegerTile {
  const int8_t *keys, *values;
  uint32_t first, count;
};

FOVEA_INLINE int32_t* ScoresOf(const IntegerBlock& b, uint32_t row) {
  const uint32_t place = row % kIntegerScoreRows, step = kIntegerScoreStep;
  return b.arrays.scores + place / step * step * kIntegerKeyTile + place % step;
}
FOVEA_INLINE int32_t* SumsOf(const IntegerBlock& b, uint32_t row) { return b.arrays.sums + row * b.sum_stride(); }

// Adds sums of a key tile to those of a row. PutFirst stores them instead, if there are none yet.
struct TakeUp {
  int32_t kept, taken;

  explicit TakeUp(const IntegerRow& row) : kept(row.kept), taken(row.taken) {}
  FOVEA_MEMBER void operator()(integers::V of_tile, int32_t* sums) const {
    const integers::V before = integers::MulRound(integers::Load(sums), kept);
    integers::Store(integers::Add(before, integers::MulRound(integers::ShiftLeft(of_tile, 6), taken)), sums);
  }
};
FOVEA_INLINE void PutFirst(integers::V of_tile, int32_t* sums) {
  integers::Store(integers::ShiftLeft(of_tile, 6), sums);
}

#endif  // FOVEA_SRC_INTEGER_ROWS_INL_
