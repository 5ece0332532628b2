// SPDX-License-Identifier: Apache-2.0
//
// The sums of a register block where each vector of columns has a sum for each row.

template <int kRows, int kVectors>
using BlockSums = dot::Sum[kRows][kVectors];

template <int kRows, int kVectors>
FOVEA_INLINE void ZeroSums(BlockSums<kRows, kVectors>& sums) {
  FOVEA_UNROLL(8)
  for (int k = 0; k < kRows; ++k) {
    FOVEA_UNROLL(4)
    for (int v = 0; v < kVectors; ++v) sums[k][v] = dot::Start(0);
  }
}
template <int kRows, int kVectors>
FOVEA_INLINE VI IntsOf(const dot::Sum (&sums)[kRows][kVectors], int k, int v) {
  return dot::ToInts(sums[k][v]);
}
template <int kVectors, int kRows>
FOVEA_INLINE void AddRows(const dot::Code* x, size_t columns, const dot::RowCode* (&at)[kRows], size_t dim,
                          dot::Sum (&sums)[kRows][kVectors]) {
  const dot::RowCode* row[kRows];
  FOVEA_UNROLL(8)
  for (int k = 0; k < kRows; ++k) row[k] = at[k];
  MultiplyKeys(x, columns, row, dim, sums);
}
