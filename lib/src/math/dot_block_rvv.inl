// SPDX-License-Identifier: Apache-2.0
//
// The register blocks of dot_block.inl for RISC-V. Here all vectors of columns that a register block has are one group
// of registers: one instruction multiplies them all by an element of a row, which it takes from a scalar register.

// Rows, or elements of the values, of a register block: the sums take kRows * kVectors registers.
template <int kVectors>
constexpr int kDotRows = kVectors > 2 ? 4 : 8;

// Elements of values that were brought: whole register blocks.
constexpr size_t PaddedValues(size_t value_dim) { return padded_values(value_dim); }

template <int kVectors>
struct ColumnsOf {
  typedef int8_t Signed __attribute__((vector_size(kVectors * kLanes)));
  typedef uint8_t Unsigned __attribute__((vector_size(kVectors * kLanes)));
  typedef int16_t X __attribute__((vector_size(2 * kVectors * kLanes)));
};

// sums[k][kFirst + v] += the codes of `steps` steps of columns, from x on, times as many codes of row k. Unless rows are
// adjacent, those of a row are; else code 0 of all rows is at row[0], and code 1 is `step` after it. Codes of queries are
// signed, those of weights are not. The compiler keeps one address for each row, and none for each step.
template <bool kSigned, int kFirst, int kWide, int kRows, int kVectors>
FOVEA_INLINE void AddProducts(const dot::Code* x, size_t columns, const dot::RowCode* const (&row)[kRows], size_t step,
                              size_t steps, dot::Sum (&sums)[kRows][kVectors]) {
  using Columns = ColumnsOf<kWide>;
  using Codes = hn::raw::Choice<kSigned, typename Columns::Signed, typename Columns::Unsigned>;
  constexpr bool kAdjacentRows = !kSigned;
  dot::WideSums<kWide> acc[kRows];
  const dot::RowCode* at[kRows];
  FOVEA_UNROLL(8)
  for (int k = 0; k < kRows; ++k) {
    __builtin_memcpy(&acc[k], &sums[k][kFirst], sizeof acc[k]);
    at[k] = row[k];
    if constexpr (!kAdjacentRows) FOVEA_OPAQUE(at[k]);
  }
  x += kFirst * kLanes;
  FOVEA_UNROLL_LONG_LOOP(4)
  for (size_t i = 0; i < steps; ++i, x += columns) {
    const auto codes = __builtin_convertvector(hn::raw::Load<Codes>(x), typename Columns::X);
    const auto wide = hn::raw::Cast<dot::WideCodes<kWide>>(codes);
    FOVEA_UNROLL(8)
    for (int k = 0; k < kRows; ++k) {
      const dot::RowCode* const code = kAdjacentRows ? at[0] + k : at[k] + i;
      acc[k] = __riscv_vwmacc(acc[k], int16_t(*code), wide, dot::Wide<kWide>::Lanes());
    }
    if constexpr (kAdjacentRows) {
      at[0] += step;
      FOVEA_OPAQUE(at[0]);
    }
  }
  FOVEA_UNROLL(8)
  for (int k = 0; k < kRows; ++k) __builtin_memcpy(&sums[k][kFirst], &acc[k], sizeof acc[k]);
}
template <bool kSigned, int kRows, int kVectors>
FOVEA_INLINE void AddAllProducts(const dot::Code* x, size_t columns, const dot::RowCode* const (&row)[kRows],
                                 size_t step, size_t steps, dot::Sum (&sums)[kRows][kVectors]) {
  if constexpr (kVectors == 3) {  // a group has one, two or four registers
    AddProducts<kSigned, 0, 2>(x, columns, row, step, steps, sums);
    AddProducts<kSigned, 2, 1>(x, columns, row, step, steps, sums);
  } else {
    AddProducts<kSigned, 0, kVectors>(x, columns, row, step, steps, sums);
  }
}

// sums[k][v] += columns times row[k], of dim codes.
template <int kVectors, int kRows>
FOVEA_INLINE void MultiplyKeys(const dot::Code* x, size_t columns, const dot::RowCode* const (&row)[kRows], size_t dim,
                               dot::Sum (&sums)[kRows][kVectors]) {
  AddAllProducts<true>(x, columns, row, 1, dim, sums);
}

// sums[k][v] += columns of weights times element k of the values from `value` on.
template <int kVectors, int kRows>
FOVEA_INLINE void MultiplyValues(const dot::Code* x, size_t columns, const dot::RowCode* value, size_t padded,
                                 uint32_t groups, dot::Sum (&sums)[kRows][kVectors]) {
  const dot::RowCode* elements[kRows];
  FOVEA_UNROLL(8)
  for (int k = 0; k < kRows; ++k) elements[k] = value + k;
  AddAllProducts<false>(x, columns, elements, padded, groups, sums);
}

#include "math/dot_sums.inl"

// Rows are read in place.
constexpr bool kRowsInPlace = true;
FOVEA_INLINE const dot::RowCode* ReachRows(const int8_t* rows, uint32_t, size_t, dot::RowCode*, ptrdiff_t*) {
  return rows;
}
