// SPDX-License-Identifier: Apache-2.0
//
// The products of dot_block.inl for smlad. Two rows are interleaved pair by pair, so that one instruction loads a pair
// of each, and one a pair of two columns. A register block of two rows and four columns uses all registers.
#ifndef FOVEA_SRC_MATH_DOT_BLOCK_SMLAD_INL_
#define FOVEA_SRC_MATH_DOT_BLOCK_SMLAD_INL_

#include "ground/math/dot_block.inl"

template <class Dot>
struct DotBlock<Dot, kDotSmlad> : DotSums<Dot> {
  using Code = typename Dot::Code;
  using RowCode = typename Dot::RowCode;
  using Pair = typename Dot::Pair;
  using Sum = typename Dot::Sum;
  template <int>
  static constexpr int kRows = 2;

  // Elements of a piece of the values.
  static constexpr size_t kPieceValues = FOVEA_PIECE_ELEMENTS * 4 / sizeof(RowCode);

  // sums[k][v] += pairs of columns times pairs of two rows, n of them. The pairs of the rows are kStep bytes apart.
  template <int kStep, int kVectors>
  FOVEA_INLINE void AddPairs(const Pair*& x, size_t columns, const Pair*& rows, Sum (&sums)[2][kVectors]) {
    Pair row[2];
    Dot::template NextOfRows<kStep>(rows, row);
    FOVEA_UNROLL(4)
    for (int v = 0; v + 1 < kVectors; v += 2) {
      Dot::AddTwoColumns(x, row, sums[0][v], sums[0][v + 1], sums[1][v], sums[1][v + 1]);
    }
    if constexpr (kVectors % 2 != 0) Dot::AddOneColumn(x, row, sums[0][kVectors - 1], sums[1][kVectors - 1]);
    if (kVectors < Dot::kBlockVectors) x += columns - kVectors;
  }
  // A separate function: inlined, g++ 12 has no registers left for the sums.
  template <int kStep, int kVectors>
  FOVEA_CALLED_TEMPLATE void MultiplyPairs(const Pair* x, size_t columns, const Pair* rows, size_t n,
                                           Sum (&out)[2][kVectors]) {
    Sum sums[2][kVectors] = {};
    if constexpr (!kSmallText) {
      for (size_t rounds = n / 8; rounds > 0; --rounds) {
        FOVEA_EACH(i, 8) AddPairs<kStep>(x, columns, rows, sums);
      }
      n %= 8;
    }
    for (; n > 0; --n) AddPairs<kStep>(x, columns, rows, sums);
    FOVEA_EACH(k, 2) {
      FOVEA_EACH(v, kVectors) out[k][v] = sums[k][v];
    }
  }

  template <int kVectors, int kRows>
  FOVEA_INLINE void MultiplyRows(const Code* x, size_t columns, const RowCode* const (&row)[kRows], size_t dim,
                                 Sum (&sums)[kRows][kVectors]) {
    // The columns of a whole tile are adjacent.
    MultiplyPairs<8>(reinterpret_cast<const Pair*>(x), kVectors == Dot::kBlockVectors ? kVectors : columns,
                     reinterpret_cast<const Pair*>(row[0]), ::fovea::round_up(dim, Dot::kReads) / Dot::kGroup, sums);
  }

  // Puts `count` rows of dim codes into `to`, as pairs of rows. *stride becomes the stride of these rows.
  FOVEA_INLINE const RowCode* ReachRows(const int8_t* rows, uint32_t count, size_t dim, RowCode* to,
                                        ptrdiff_t* stride) {
    const ptrdiff_t step = *stride;
    *stride = ptrdiff_t(::fovea::round_up(dim, Dot::kReads));
    RowCode* row = to;
    for (uint32_t i = 0; i < count; i += 2, rows += 2 * step, row += 2 * *stride) {
      Dot::PutTwoKeys(rows, i + 1 < count ? rows + step : rows, dim, reinterpret_cast<Pair*>(row));
    }
    return to;
  }
};

#endif  // FOVEA_SRC_MATH_DOT_BLOCK_SMLAD_INL_
