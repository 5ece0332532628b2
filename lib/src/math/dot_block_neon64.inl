// SPDX-License-Identifier: Apache-2.0
//
// The register blocks of dot_block.inl for AArch64. Rows are read 16 codes at a time.

// Rows of keys, or elements of values, of a register block: with four vectors of columns, sums fill half the registers.
template <int kVectors>
constexpr int kDotRows = kVectors <= 2 ? 8 : 4;

// The codes of rows after their last whole 16, followed by zeros.
template <int kRows>
FOVEA_CALLED_TEMPLATE void CopyRest(const dot::RowCode* const (&at)[kRows], size_t dim,
                                    dot::RowCode (&rest)[kRows][16]) {
  const size_t whole = dim / kReads * kReads;
  for (int k = 0; k < kRows; ++k) {
    for (size_t i = 0; i < kReads; ++i) rest[k][i] = whole + i < dim ? at[k][whole + i] : dot::RowCode{0};
  }
}

// sums += columns, from x on, times kRows rows of dim codes. The pointers to the rows advance.
template <int kVectors, int kRows>
FOVEA_INLINE void MultiplyKeys(const dot::Code* x, size_t step, const dot::RowCode* (&at)[kRows], size_t dim,
                               dot::Sums<kRows, kVectors>& sums) {
  dot::RowCode rest[kRows][kReads];
  size_t reads = dim / kReads;
  bool rests = dim % kReads != 0;
  if (rests) {
    const dot::RowCode* rows[kRows];  // so that `at` need not be in memory
    FOVEA_UNROLL(8)
    for (int k = 0; k < kRows; ++k) rows[k] = at[k];
    CopyRest(rows, dim, rest);
  }
  for (;; reads = 1) {
    for (; reads > 0; --reads) {
      dot::E e[kRows];
      FOVEA_UNROLL(8)
      for (int k = 0; k < kRows; ++k) {
        e[k] = dot::LoadE(at[k]);
        at[k] += kReads;
        FOVEA_OPAQUE(at[k]);
      }
      dot::AddKeys(x, step, e, sums);
    }
    if (!rests) break;
    rests = false;
    FOVEA_UNROLL(8)
    for (int k = 0; k < kRows; ++k) at[k] = rest[k];
  }
}

template <int kRows, int kVectors>
using BlockSums = dot::Sums<kRows, kVectors>;

template <int kRows, int kVectors>
FOVEA_INLINE void ZeroSums(BlockSums<kRows, kVectors>& sums) {
  FOVEA_UNROLL(8)
  for (int k = 0; k < kRows; ++k) dot::Begin(k, 0, sums);
}
using dot::IntsOf;
template <int kVectors, int kRows>
FOVEA_INLINE void AddRows(const dot::Code* x, size_t columns, const dot::RowCode* (&at)[kRows], size_t dim,
                          dot::Sums<kRows, kVectors>& sums) {
  MultiplyKeys<kVectors>(x, columns * kGroup, at, dim, sums);
}

// Rows are read in place.
constexpr bool kRowsInPlace = true;
FOVEA_INLINE const dot::RowCode* ReachRows(const int8_t* rows, uint32_t, size_t, dot::RowCode*, ptrdiff_t*) {
  return rows;
}
