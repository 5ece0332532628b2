// SPDX-License-Identifier: Apache-2.0
//
// Integer products by register blocks: columns of codes times rows of codes, over the dot words of one instruction.

constexpr int kElements = int(kReads / kGroup);  // groups that one load of a row reads

// Rows, or elements of the values, of a register block.
template <int kVectors, int kCount = 8>
constexpr int I8Block() {
  if constexpr (kCount <= kElements || kCount * kVectors + dot::RegistersForLoads(kVectors, kCount) <= hn::kRegisters) {
    return kCount;
  } else {
    return I8Block<kVectors, kCount / 2>();
  }
}
template <int kVectors>
constexpr int kDotRows = I8Block<kVectors>();

// Elements of a group of values, rounded up.
constexpr size_t PaddedValues(size_t value_dim) { return padded_values(value_dim); }

// sums[k][v] += codes of row k times as many codes of columns, from x on, which advances past them. A load of a row
// reads one group, which is used at once.
template <int kRows, int kVectors>
FOVEA_INLINE void AddGroup(const dot::Code*& x, size_t columns, const dot::RowCode* const (&row)[kRows], size_t d,
                           dot::Sum (&sums)[kRows][kVectors]) {
  dot::X at[kVectors];
  FOVEA_UNROLL(4)
  for (int v = 0; v < kVectors; ++v) at[v] = dot::LoadX(x + v * kLanes * kGroup);
  x += columns * kGroup;
  FOVEA_UNROLL(8)
  for (int k = 0; k < kRows; ++k) {
    const dot::E e = dot::LoadE(row[k] + d);
    FOVEA_UNROLL(4)
    for (int v = 0; v < kVectors; ++v) sums[k][v] = dot::DotAdd<0>(at[v], e, sums[k][v]);
  }
}
// The same if a load e[k] reads several groups.
template <int i, int kRows, int kVectors>
FOVEA_INLINE void AddGroups(const dot::Code*& x, size_t columns, const dot::E (&e)[kRows],
                            dot::Sum (&sums)[kRows][kVectors]) {
  dot::X at[kVectors];
  FOVEA_UNROLL(4)
  for (int v = 0; v < kVectors; ++v) at[v] = dot::LoadX(x + v * kLanes * kGroup);
  x += columns * kGroup;
  FOVEA_UNROLL(8)
  for (int k = 0; k < kRows; ++k) {
    FOVEA_UNROLL(4)
    for (int v = 0; v < kVectors; ++v) sums[k][v] = dot::DotAdd<i>(at[v], e[k], sums[k][v]);
  }
  if constexpr (i + 1 < kElements) AddGroups<i + 1>(x, columns, e, sums);
}

// sums[k][v] += columns times row[k], of dim codes.
template <int kVectors, int kRows>
FOVEA_INLINE void MultiplyKeys(const dot::Code* x, size_t columns, const dot::RowCode* const (&row)[kRows], size_t dim,
                               dot::Sum (&sums)[kRows][kVectors]) {
  const size_t whole = dim / kReads * kReads;
  for (size_t d = 0; d < whole; d += kReads) {
    if constexpr (kElements == 1) {
      AddGroup(x, columns, row, d, sums);
      continue;
    }
    dot::E e[kRows];
    FOVEA_UNROLL(8)
    for (int k = 0; k < kRows; ++k) e[k] = dot::LoadE(row[k] + d);
    AddGroups<0>(x, columns, e, sums);
  }
  if (whole < dim) {
    dot::E e[kRows];
    FOVEA_UNROLL(8)
    for (int k = 0; k < kRows; ++k) e[k] = dot::LoadPartOfE(row[k] + whole, dim - whole);
    AddGroups<0>(x, columns, e, sums);
  }
}

// sums[i][v] += the weights of a group of keys times element i of those in e.
template <int i, int kVectors>
FOVEA_INLINE void AddElements(const dot::X (&x)[kVectors], dot::E e, dot::Sum (*sums)[kVectors]) {
  FOVEA_UNROLL(4)
  for (int v = 0; v < kVectors; ++v) sums[i][v] = dot::DotAdd<i>(x[v], e, sums[i][v]);
  if constexpr (i + 1 < kElements) AddElements<i + 1>(x, e, sums);
}

// sums[k][v] += columns of weights times element k of the values from `value` on, of groups of `padded` elements.
template <int kVectors, int kRows>
FOVEA_INLINE void MultiplyValues(const dot::Code* x, size_t columns, const dot::RowCode* value, size_t padded,
                                 uint32_t groups, dot::Sum (&sums)[kRows][kVectors]) {
  constexpr int kLoads = kRows / kElements;
  for (; groups > 0; --groups, x += columns * kGroup, value += padded * kGroup) {
    dot::X at[kVectors];
    FOVEA_UNROLL(4)
    for (int v = 0; v < kVectors; ++v) at[v] = dot::LoadX(x + v * kLanes * kGroup);
    FOVEA_UNROLL(8)
    for (int k = 0; k < kLoads; ++k) {
      AddElements<0>(at, dot::LoadE(value + k * kReads), &sums[k * kElements]);
    }
  }
}

#include "math/dot_sums.inl"

#if FOVEA_DOT_PMADDWD
// Widens `count` rows of dim codes into `to`, in whole groups. *stride becomes the stride of these rows.
constexpr bool kRowsInPlace = false;
FOVEA_INLINE const dot::RowCode* ReachRows(const int8_t* rows, uint32_t count, size_t dim, dot::RowCode* to,
                                           ptrdiff_t* stride) {
  const ptrdiff_t step = *stride;
  *stride = ptrdiff_t((dim + kReads - 1) / kReads * kReads);
  dot::RowCode* row = to;
  for (uint32_t i = 0; i < count; ++i, rows += step, row += *stride) dot::WidenRow(rows, dim, row);
  return to;
}
#else
// Rows are read in place.
constexpr bool kRowsInPlace = true;
FOVEA_INLINE const dot::RowCode* ReachRows(const int8_t* rows, uint32_t, size_t, dot::RowCode*, ptrdiff_t*) {
  return rows;
}
#endif
