// SPDX-License-Identifier: Apache-2.0
//
// Sums of the products of columns with rows of weights, by register blocks.

constexpr uint32_t kRowsAtOnce = Block::kRowsInPlace ? kLinearOutputs : kLinearGrain;

// The codes of columns, from an input on.
struct BlockCodes {
  const dot::Code* x;
  size_t columns;
};

template <int kVectors>
FOVEA_TEMPLATE void MultiplyVectors(const BlockCodes& b, const dot::RowCode* rows, ptrdiff_t stride, uint32_t count,
                                    size_t inputs, bool goes_on, float* sums, size_t column) {
  constexpr uint32_t kRows = Block::kRows<kVectors>;
  static_assert(kLinearGrain % kRows == 0, "blocks must tile the tile");
  const size_t columns = b.columns;
  const dot::Code* const x = b.x + column * kGroup;
  sums += column;
  for (uint32_t left = count;; left -= kRows) {
    const dot::RowCode* at[kRows];
    const dot::RowCode* next = rows;
    FOVEA_UNROLL(8)
    for (uint32_t k = 0; k < kRows; ++k) {  // rows past the last repeat it
      at[k] = next;
      next += k + 1 < left ? stride : 0;
    }
    Block::Sums<kRows, kVectors> block;
    Block::ZeroSums<kRows, kVectors>(block);
    Block::MultiplyKeys<kVectors>(x, columns, at, inputs, block);
    FOVEA_UNROLL(8)
    for (uint32_t k = 0; k < kRows; ++k, sums += columns) {
      FOVEA_UNROLL(4)
      for (int v = 0; v < kVectors; ++v) {
        VI sum = Block::IntsOf(block, k, v);
        if (goes_on) sum = hn::Add(sum, LoadInts(sums + v * kLanes));
        StoreInts(sum, sums + v * kLanes);
      }
    }
    if (left <= kRows) return;
    rows += ptrdiff_t(kRows) * stride;
  }
}

// Whether the next register block has kMost vectors, if this many columns are left: not if it would leave one vector.
template <int kMost>
FOVEA_INLINE bool TakesVectors(size_t columns) {
  return columns >= kMost * kLanes && (kSizeCounts || kMost <= 2 || columns != (kMost + 1) * kLanes);
}

template <int kMost>
FOVEA_INLINE void MultiplyColumns(const BlockCodes& b, const dot::RowCode* rows, ptrdiff_t stride, uint32_t count,
                                  size_t inputs, bool goes_on, float* sums, size_t column) {
  for (; TakesVectors<kMost>(b.columns - column); column += kMost * kLanes) {
    MultiplyVectors<kMost>(b, rows, stride, count, inputs, goes_on, sums, column);
  }
  if constexpr (kMost > 1) {
    MultiplyColumns<kSizeCounts ? 1 : kMost - 1>(b, rows, stride, count, inputs, goes_on, sums, column);
  }
}

// sums[row][column] = the sum of products of `inputs` inputs, from `input` on, with the codes of a row; += if goes_on.
// `sums` are those of the first block; the others have theirs as far from it as StepOfSums says.
FOVEA_INLINE void MultiplyRowsOfTile(const I8TokenTile& t, const int8_t* weights, ptrdiff_t stride, uint32_t count,
                                     size_t input, size_t inputs, bool goes_on, float* sums) {
  ptrdiff_t row_stride = stride;
  const dot::RowCode* const rows =
      Block::ReachRows(weights, count, inputs, static_cast<dot::RowCode*>(t.rows), &row_stride);
  for (size_t column = 0; column < t.columns; column += BlockOf(t, column).columns, sums += StepOfSums(t)) {
    const size_t columns = BlockOf(t, column).columns;
    const BlockCodes block = {CodesOf(t, column) + input * columns, columns};
    if (!goes_on && MultiplyWholeTile(block.x, columns, rows, row_stride, count, sums)) continue;
    MultiplyColumns<kBlockVectors>(block, rows, row_stride, count, inputs, goes_on, sums, 0);
  }
}
