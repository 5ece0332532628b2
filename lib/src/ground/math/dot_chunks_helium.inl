// SPDX-License-Identifier: Apache-2.0
//
// Register blocks for Helium, whose sums are in general registers: two columns at a time with one row. Of 64 codes of
// the columns, the first 48 stay in registers for all rows. A cursor loads the codes of a row, and moves to the next
// row.
#ifndef FOVEA_SRC_MATH_DOT_CHUNKS_HELIUM_INL_
#define FOVEA_SRC_MATH_DOT_CHUNKS_HELIUM_INL_

#include "ground/simd/dot_helium.inl"

// sums[row][column] = codes of the columns times those of the rows, 16 * kChunks of them; += if kGoesOn.
template <int kChunks, bool kGoesOn, class Cursor>
FOVEA_INLINE void MultiplyTwoColumns(const int8_t* x, size_t columns, Cursor rows, uint32_t count, int32_t* sums) {
  using Dot = Helium;
  constexpr int kKept = kChunks < 4 ? kChunks : 3;
  Dot::Bytes a[kKept], b[kKept];
  FOVEA_EACH(c, kKept) {
    a[c] = Dot::LoadBytes(x + size_t(c) * columns * 16);
    b[c] = Dot::LoadBytes(x + size_t(c) * columns * 16 + 16);
  }
  const int8_t* const last = x + 3 * columns * 16;
  for (; count > 0; --count, rows.Next(), sums += columns) {
    Dot::Bytes row = rows.template Load<0>();
    int32_t of_a = kGoesOn ? Dot::DotAdd(a[0], row, sums[0]) : Dot::Dot(a[0], row);
    int32_t of_b = kGoesOn ? Dot::DotAdd(b[0], row, sums[1]) : Dot::Dot(b[0], row);
    if constexpr (kChunks > 1) {
      row = rows.template Load<1>();
      of_a = Dot::DotAdd(a[1], row, of_a);
      of_b = Dot::DotAdd(b[1], row, of_b);
    }
    if constexpr (kChunks > 2) {
      row = rows.template Load<2>();
      of_a = Dot::DotAdd(a[2], row, of_a);
      of_b = Dot::DotAdd(b[2], row, of_b);
    }
    if constexpr (kChunks > 3) {
      row = rows.template Load<3>();
      of_a = Dot::DotAdd(Dot::LoadBytes(last), row, of_a);
      of_b = Dot::DotAdd(Dot::LoadBytes(last + 16), row, of_b);
    }
    sums[0] = of_a;
    sums[1] = of_b;
  }
}
template <int kChunks, bool kGoesOn, class Cursor>
FOVEA_CALLED_TEMPLATE void MultiplyChunks(const int8_t* x, size_t columns, const Cursor& rows, uint32_t count,
                                          int32_t* sums, size_t wanted) {
  for (size_t c = 0; c < wanted; c += 2)
    MultiplyTwoColumns<kChunks, kGoesOn>(x + 16 * c, columns, rows, count, sums + c);
}

#endif  // FOVEA_SRC_MATH_DOT_CHUNKS_HELIUM_INL_
