// SPDX-License-Identifier: Apache-2.0
//
// The products of dot_block.inl for smlad. Two rows are interleaved pair by pair, so that one instruction loads a pair
// of each, and one a pair of two columns. A register block of two rows and four columns uses all registers.

template <int>
constexpr int kDotRows = 2;

// Elements of a piece of the values, and of the room for it.
constexpr size_t kPieceValues = FOVEA_PIECE_ELEMENTS * 4 / sizeof(dot::RowCode);
constexpr size_t PaddedValues(size_t) { return kPieceValues; }

// sums[k][v] += pairs of columns times pairs of two rows, n of them. The pairs of the rows are kStep bytes apart.
template <int kStep, int kVectors>
FOVEA_INLINE void AddPairs(const dot::Pair*& x, size_t columns, const dot::Pair*& rows, dot::Sum (&sums)[2][kVectors]) {
  dot::Pair row[2];
  dot::NextOfRows<kStep>(rows, row);
  FOVEA_UNROLL(4)
  for (int v = 0; v + 1 < kVectors; v += 2) {
    dot::AddTwoColumns(x, row, sums[0][v], sums[0][v + 1], sums[1][v], sums[1][v + 1]);
  }
  if constexpr (kVectors % 2 != 0) dot::AddOneColumn(x, row, sums[0][kVectors - 1], sums[1][kVectors - 1]);
  if (kVectors < kBlockVectors) x += columns - kVectors;
}
// A separate function: inlined, g++ 12 has no registers left for the sums.
template <int kStep, int kVectors>
FOVEA_CALLED_TEMPLATE void MultiplyPairs(const dot::Pair* x, size_t columns, const dot::Pair* rows, size_t n,
                                         dot::Sum (&out)[2][kVectors]) {
  dot::Sum sums[2][kVectors] = {};
  if constexpr (!kPreferSize) {
    for (size_t rounds = n / 8; rounds > 0; --rounds) {
      FOVEA_UNROLL(8)
      for (int i = 0; i < 8; ++i) AddPairs<kStep>(x, columns, rows, sums);
    }
    n %= 8;
  }
  for (; n > 0; --n) AddPairs<kStep>(x, columns, rows, sums);
  FOVEA_UNROLL(2)
  for (int k = 0; k < 2; ++k) {
    FOVEA_UNROLL(4)
    for (int v = 0; v < kVectors; ++v) out[k][v] = sums[k][v];
  }
}
template <int kStep, int kVectors>
FOVEA_INLINE void MultiplyPairs(const dot::Code* x, size_t columns, const dot::RowCode* rows, size_t n,
                                dot::Sum (&sums)[2][kVectors]) {
  // The columns of a whole tile are adjacent.
  MultiplyPairs<kStep>(reinterpret_cast<const dot::Pair*>(x), kVectors == kBlockVectors ? kVectors : columns,
                       reinterpret_cast<const dot::Pair*>(rows), n, sums);
}

template <int kVectors>
FOVEA_INLINE void MultiplyKeys(const dot::Code* x, size_t columns, const dot::RowCode* const (&row)[2], size_t dim,
                               dot::Sum (&sums)[2][kVectors]) {
  MultiplyPairs<8>(x, columns, row[0], round_up(dim, kReads) / kGroup, sums);
}
template <int kVectors>
FOVEA_INLINE void MultiplyValues(const dot::Code* x, size_t columns, const dot::RowCode* value, size_t, uint32_t groups,
                                 dot::Sum (&sums)[2][kVectors]) {
  MultiplyPairs<kPieceValues * 4>(x, columns, value, groups, sums);
}

#include "math/dot_sums.inl"

// Puts `count` rows of dim codes into `to`, as pairs of rows. *stride becomes the stride of these rows.
constexpr bool kRowsInPlace = false;
FOVEA_INLINE const dot::RowCode* ReachRows(const int8_t* rows, uint32_t count, size_t dim, dot::RowCode* to,
                                           ptrdiff_t* stride) {
  const ptrdiff_t step = *stride;
  *stride = ptrdiff_t(round_up(dim, kReads));
  dot::RowCode* row = to;
  for (uint32_t i = 0; i < count; i += 2, rows += 2 * step, row += 2 * *stride) {
    dot::PutTwoKeys(rows, i + 1 < count ? rows + step : rows, dim, reinterpret_cast<dot::Pair*>(row));
  }
  return to;
}
