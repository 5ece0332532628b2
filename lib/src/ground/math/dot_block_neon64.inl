// SPDX-License-Identifier: Apache-2.0
//
// The register blocks of dot_block.inl for AArch64. Rows are read 16 codes at a time.
#ifndef FOVEA_SRC_MATH_DOT_BLOCK_NEON64_INL_
#define FOVEA_SRC_MATH_DOT_BLOCK_NEON64_INL_

#include "ground/math/dot_block.inl"

template <class Dot>
struct NeonBlock : DotSums<Dot> {
  using Code = typename Dot::Code;
  using RowCode = typename Dot::RowCode;
  static constexpr size_t kReads = Dot::kReads;

  // Rows of keys, or elements of values, of a register block: with four vectors of columns, sums fill half the
  // registers.
  template <int kVectors>
  static constexpr int kRows = kVectors <= 2 ? 8 : 4;

  // The codes of rows after their last whole 16, followed by zeros.
  template <int kRows>
  FOVEA_CALLED_TEMPLATE void CopyRest(const RowCode* const (&at)[kRows], size_t dim, RowCode (&rest)[kRows][16]) {
    const size_t whole = dim / kReads * kReads;
    for (int k = 0; k < kRows; ++k) {
      for (size_t i = 0; i < kReads; ++i) rest[k][i] = whole + i < dim ? at[k][whole + i] : RowCode{0};
    }
  }

  // sums += columns, from x on, times kRows rows of dim codes. The pointers to the rows advance.
  template <int kVectors, int kRows>
  FOVEA_INLINE void MultiplyRows(const Code* x, size_t columns, const RowCode* (&at)[kRows], size_t dim,
                                 typename Dot::template Sums<kRows, kVectors>& sums) {
    RowCode rest[kRows][kReads];
    const size_t step = columns * Dot::kGroup;
    size_t reads = dim / kReads;
    bool rests = dim % kReads != 0;
    if (rests) {
      const RowCode* rows[kRows];  // so that `at` need not be in memory
      FOVEA_EACH(k, kRows) rows[k] = at[k];
      CopyRest(rows, dim, rest);
    }
    for (;; reads = 1) {
      for (; reads > 0; --reads) {
        typename Dot::E e[kRows];
        FOVEA_EACH(k, kRows) {
          e[k] = Dot::LoadE(at[k]);
          at[k] += kReads;
          FOVEA_OPAQUE(at[k]);
        }
        Dot::AddKeys(x, step, e, sums);
      }
      if (!rests) break;
      rests = false;
      FOVEA_EACH(k, kRows) at[k] = rest[k];
    }
  }

  // sums[k][v] += columns of weights times element k of the values from `value` on, of groups of `padded` elements.
  template <int kVectors, class BlockSums>
  FOVEA_INLINE void MultiplyValues(const Code* x, size_t columns, const RowCode* value, size_t padded, uint32_t groups,
                                   BlockSums& sums) {
    FOVEA_UNROLL_LONG_LOOP(4)
    for (; groups > 0; --groups) Dot::AddValues(x, columns * Dot::kGroup, value, padded * Dot::kGroup, sums);
  }

  template <int kRows, int kVectors>
  using Sums = typename Dot::template Sums<kRows, kVectors>;
  template <class BlockSums>
  FOVEA_INLINE void Begin(int k, int32_t start, BlockSums& sums) {
    Dot::Begin(k, start, sums);
  }
  template <class BlockSums>
  FOVEA_INLINE VI IntsOf(const BlockSums& sums, int k, int v) {
    return Dot::IntsOf(sums, k, v);
  }
  template <class BlockSums>
  FOVEA_INLINE VF FloatsOf(const BlockSums& sums, int k, int v) {
    return Dot::SumsOf(sums, k, v);
  }
};

template <class Dot>
struct DotBlock<Dot, kDotSdot> : NeonBlock<Dot> {};
template <class Dot>
struct DotBlock<Dot, kDotSmmla> : NeonBlock<Dot> {};

#endif  // FOVEA_SRC_MATH_DOT_BLOCK_NEON64_INL_
