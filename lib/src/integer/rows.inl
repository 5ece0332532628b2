// SPDX-License-Identifier: Apache-2.0
//
// What the products of all-integer attention know of the rows of a block.

// The keys [first, first + count) of the grid.
struct IntegerTile {
  const int8_t *keys, *values;
  uint32_t first, count;
};

FOVEA_INLINE int32_t* ScoresOf(const IntegerBlock& b, uint32_t row) {
  return b.arrays.scores + row * kIntegerKeyTile;
}
FOVEA_INLINE int32_t* SumsOf(const IntegerBlock& b, uint32_t row) { return b.arrays.sums + row * b.sum_stride(); }

// Adds sums of a key tile to those of its row.
FOVEA_INLINE void TakeUp(const IntegerRow& row, whole::V of_tile, int32_t* sums) {
  const whole::V before = whole::MulRound(whole::Load(sums), row.kept);
  whole::Store(whole::Add(before, whole::MulRound(whole::ShiftLeft(of_tile, 6), row.taken)), sums);
}
