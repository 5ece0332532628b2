// SPDX-License-Identifier: Apache-2.0
//
// The loop of all-integer attention over key tiles, for the query rows of an IntegerBlock.
#ifndef FOVEA_SRC_INTEGER_BLOCK_INL_
#define FOVEA_SRC_INTEGER_BLOCK_INL_

#include "layers/integer/softmax.inl"

FOVEA_INLINE void BeginRows(const IntegerBlock& b) {
  for (uint32_t r = 0; r < b.count; ++r) {
    IntegerRow& row = b.arrays.rows[r];
    BringQuery(b, r, row.query);
    row.sum = 0;
  }
}

FOVEA_INLINE uint32_t InTile(uint32_t key, const IntegerTile& t) {
  return key <= t.first ? 0 : key - t.first < t.count ? key - t.first : t.count;
}
FOVEA_INLINE void AttendTile(const IntegerBlock& b, const IntegerTile& t) {
  const uint32_t read = t.count + (0u - t.count) % kKeysRead;
  for (uint32_t r = 0; r < b.count; ++r) {
    if (r % kIntegerScoreRows == 0) Scores(b, t, r);
    const IntegerRow& row = b.arrays.rows[r];
    WeighRow(b, r, InTile(row.lo, t), InTile(row.hi, t), read);
  }
  Values(b, t);
}

FOVEA_INLINE void AttendBlock(const IntegerBlock& b) {
  BeginRows(b);
  uint32_t lo = UINT32_MAX, hi = 0;  // keys that some row sees
  for (uint32_t r = 0; r < b.count; ++r) {
    const IntegerRow& row = b.arrays.rows[r];
    if (row.lo >= row.hi) continue;
    if (row.lo < lo) lo = row.lo;
    if (row.hi > hi) hi = row.hi;
  }
  for (uint32_t first = lo / kIntegerKeyTile * kIntegerKeyTile; first < hi; first += kIntegerKeyTile) {
    const uint32_t left = hi - first;
    AttendTile(b, {b.keys + ptrdiff_t(first) * b.key_stride, b.values + ptrdiff_t(first) * b.value_stride, first,
                   left < kIntegerKeyTile ? left : kIntegerKeyTile});
  }
  for (uint32_t r = 0; r < b.count; ++r) EndRow(b, r);
}

#endif  // FOVEA_SRC_INTEGER_BLOCK_INL_
