// SPDX-License-Identifier: Apache-2.0
//
// The register blocks of dot_block.inl for RISC-V. Here all vectors of columns that a register block has are one group
// of registers: one instruction multiplies them all by an element of a row, which it takes from a scalar register.
#ifndef FOVEA_SRC_MATH_DOT_BLOCK_RVV_INL_
#define FOVEA_SRC_MATH_DOT_BLOCK_RVV_INL_

#include "ground/math/dot_block.inl"

template <class Dot>
struct DotBlock<Dot, kDotVwmacc> : DotSums<Dot> {
  using Code = typename Dot::Code;
  using RowCode = typename Dot::RowCode;
  using Sum = typename Dot::Sum;

  // The sums take kRows * kVectors registers.
  template <int kVectors>
  static constexpr int kRows = kVectors > 2 ? 4 : 8;

  // sums[k][kFirst + v] += the codes of `steps` steps of columns, from x on, times as many codes of row k. Unless rows
  // are adjacent, those of a row are; else code 0 of all rows is at row[0], and code 1 is `step` after it. Codes of
  // queries are signed, those of weights are not. The compiler keeps one address for each row, and none for each step.
  template <bool kSigned, int kFirst, int kWide, int kRows, int kVectors>
  FOVEA_INLINE void AddProducts(const Code* x, size_t columns, const RowCode* const (&row)[kRows], size_t step,
                                size_t steps, Sum (&sums)[kRows][kVectors]) {
    constexpr bool kAdjacentRows = !kSigned;
    typename Dot::template WideSums<kWide> acc[kRows];
    const RowCode* at[kRows];
    FOVEA_EACH(k, kRows) {
      __builtin_memcpy(&acc[k], &sums[k][kFirst], sizeof acc[k]);
      at[k] = row[k];
      if constexpr (!kAdjacentRows) FOVEA_OPAQUE(at[k]);
    }
    x += kFirst * kLanes;
    FOVEA_UNROLL_LONG_LOOP(4)
    for (size_t i = 0; i < steps; ++i, x += columns) {
      const auto codes = Dot::template LoadColumns<kWide, kSigned>(x);
      FOVEA_EACH(k, kRows) {
        acc[k] = Dot::template AddColumns<kWide>(codes, kAdjacentRows ? at[0][k] : at[k][i], acc[k]);
      }
      if constexpr (kAdjacentRows) {
        at[0] += step;
        FOVEA_OPAQUE(at[0]);
      }
    }
    FOVEA_EACH(k, kRows) __builtin_memcpy(&sums[k][kFirst], &acc[k], sizeof acc[k]);
  }
  template <bool kSigned, int kRows, int kVectors>
  FOVEA_INLINE void AddAllProducts(const Code* x, size_t columns, const RowCode* const (&row)[kRows], size_t step,
                                   size_t steps, Sum (&sums)[kRows][kVectors]) {
    if constexpr (kVectors == 3) {  // a group has one, two or four registers
      AddProducts<kSigned, 0, 2>(x, columns, row, step, steps, sums);
      AddProducts<kSigned, 2, 1>(x, columns, row, step, steps, sums);
    } else {
      AddProducts<kSigned, 0, kVectors>(x, columns, row, step, steps, sums);
    }
  }

  template <int kVectors, int kRows>
  FOVEA_INLINE void MultiplyRows(const Code* x, size_t columns, const RowCode* const (&row)[kRows], size_t dim,
                                 Sum (&sums)[kRows][kVectors]) {
    AddAllProducts<true>(x, columns, row, 1, dim, sums);
  }
  template <int kVectors, int kRows>
  FOVEA_INLINE void MultiplyValues(const Code* x, size_t columns, const RowCode* value, size_t padded, uint32_t groups,
                                   Sum (&sums)[kRows][kVectors]) {
    const RowCode* elements[kRows];
    FOVEA_EACH(k, kRows) elements[k] = value + k;
    AddAllProducts<false>(x, columns, elements, padded, groups, sums);
  }
};

#endif  // FOVEA_SRC_MATH_DOT_BLOCK_RVV_INL_
