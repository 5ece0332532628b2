// SPDX-License-Identifier: Apache-2.0
//
// The products of dot_block.inl for smlad. Two rows lie pair by pair next to each other, so that one instruction loads a
// pair of each, and one a pair of two columns: a block of two rows and four columns leaves no register over.

template <int>
constexpr int kDotRows = 2;

// sums[k][v] += pairs of columns times pairs of two rows, n of them. The pairs of the rows are kStep bytes apart.
template <int kStep, int kVectors>
FOVEA_INLINE void AddPairs(const dot::Pair*& x, size_t columns, const dot::Pair*& rows,
                           dot::Sum (&sums)[2][kVectors]) {
  dot::Pair row[2];
  dot::NextOfRows<kStep>(rows, row);
  FOVEA_UNROLL(4)
  for (int v = 0; v + 1 < kVectors; v += 2) {
    dot::AddTwoColumns(x, row, sums[0][v], sums[0][v + 1], sums[1][v], sums[1][v + 1]);
  }
  if constexpr (kVectors % 2 != 0) dot::AddOneColumn(x, row, sums[0][kVectors - 1], sums[1][kVectors - 1]);
  x += columns - kVectors;
}
template <int kStep, int kVectors>
FOVEA_INLINE void MultiplyPairs(const dot::Code* codes, size_t columns, const dot::RowCode* row_codes, size_t n,
                                dot::Sum (&sums)[2][kVectors]) {
  const dot::Pair* x = reinterpret_cast<const dot::Pair*>(codes);
  const dot::Pair* rows = reinterpret_cast<const dot::Pair*>(row_codes);
  if constexpr (!kPreferSize) {
    for (; n >= 4; n -= 4) {
      FOVEA_UNROLL(4)
      for (int i = 0; i < 4; ++i) AddPairs<kStep>(x, columns, rows, sums);
    }
  }
  for (; n > 0; --n) AddPairs<kStep>(x, columns, rows, sums);
}

template <int kVectors>
FOVEA_INLINE void MultiplyKeys(const dot::Code* x, size_t columns, const dot::RowCode* const (&row)[2], size_t dim,
                               dot::Sum (&sums)[2][kVectors]) {
  MultiplyPairs<8>(x, columns, row[0], round_up(dim, kReads) / kGroup, sums);
}
template <int kVectors>
FOVEA_INLINE void MultiplyValues(const dot::Code* x, size_t columns, const dot::RowCode* value, size_t, uint32_t groups,
                                 dot::Sum (&sums)[2][kVectors]) {
  MultiplyPairs<kValueGrain * 4>(x, columns, value, groups, sums);
}
