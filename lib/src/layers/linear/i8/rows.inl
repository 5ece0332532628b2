// SPDX-License-Identifier: Apache-2.0
//
// Sums of the products of columns with rows of weights, by register blocks.
#ifndef FOVEA_SRC_LINEAR_I8_ROWS_INL_
#define FOVEA_SRC_LINEAR_I8_ROWS_INL_

#include "ground/math/dot_block.inl"
#include "layers/linear/i8/steps.inl"

// The codes of columns, from an input on.
template <class Dot>
struct BlockCodes {
  const typename Dot::Code* x;
  size_t columns;
};

template <class Dot, int kVectors>
FOVEA_TEMPLATE void MultiplyVectors(const BlockCodes<Dot>& b, const typename Dot::RowCode* rows, ptrdiff_t stride,
                                    uint32_t count, size_t inputs, bool goes_on, float* sums, size_t column) {
  using Block = DotBlock<Dot>;
  using RowCode = typename Dot::RowCode;
  constexpr uint32_t kRows = Block::template kRows<kVectors>;
  static_assert(kLinearGrain % kRows == 0, "blocks must tile the tile");
  const size_t columns = b.columns;
  const typename Dot::Code* const x = b.x + column * Dot::kGroup;
  sums += column;
  for (uint32_t left = count;; left -= kRows) {
    const RowCode* at[kRows];
    const RowCode* next = rows;
    FOVEA_EACH(k, kRows) {  // rows past the last repeat it
      at[k] = next;
      next += k + 1 < left ? stride : 0;
    }
    typename Block::template Sums<kRows, kVectors> block;
    FOVEA_EACH(k, kRows) Block::Begin(k, 0, block);
    Block::template MultiplyRows<kVectors>(x, columns, at, inputs, block);
    FOVEA_UNROLL(8)
    for (uint32_t k = 0; k < kRows; ++k, sums += columns) {
      FOVEA_EACH(v, kVectors) {
        VI sum = Block::IntsOf(block, k, v);
        if (goes_on) sum = hn::Add(sum, LoadInts(sums + v * kLanes));
        StoreInts(sum, sums + v * kLanes);
      }
    }
    if (left <= kRows) return;
    rows += ptrdiff_t(kRows) * stride;
  }
}

template <class Dot, DotKind kKind = Dot::kKind>
struct TileRows {
  using Block = DotBlock<Dot>;
  using RowCode = typename Dot::RowCode;
  static constexpr uint32_t kRowsAtOnce = Block::kRowsInPlace ? kLinearOutputs : kLinearGrain;

  // sums[row][column] = the sum of products of `inputs` inputs, from `input` on, with the codes of a row; += if
  // goes_on. `sums` are those of the first block; the others have theirs as far from it as StepOfSums says.
  FOVEA_INLINE void Multiply(const I8TokenTile& t, const int8_t* weights, ptrdiff_t stride, uint32_t count,
                             size_t input, size_t inputs, bool goes_on, float* sums) {
    using Steps = TileSteps<Dot>;
    ptrdiff_t row_stride = stride;
    const RowCode* const rows = Block::ReachRows(weights, count, inputs, static_cast<RowCode*>(t.rows), &row_stride);
    for (size_t column = 0; column < t.columns;
         column += Steps::BlockOf(t, column).columns, sums += Steps::StepOfSums(t)) {
      const size_t columns = Steps::BlockOf(t, column).columns;
      const BlockCodes<Dot> block = {CodesOf<Dot>(t, column) + input * columns, columns};
      if (!goes_on && Steps::MultiplyWholeTile(block.x, columns, rows, row_stride, count, sums)) continue;
      ForColumns<Dot::kBlockVectors, true>(columns, [&](auto vectors, size_t first) __attribute__((always_inline)) {
        MultiplyVectors<Dot, vectors.kCount>(block, rows, row_stride, count, inputs, goes_on, sums, first);
      });
    }
  }
};

template <class Dot>
struct TileRows<Dot, kDotHelium> {
  static constexpr uint32_t kRowsAtOnce = kLinearOutputs;

  FOVEA_INLINE void Multiply(const I8TokenTile& t, const int8_t* weights, ptrdiff_t stride, uint32_t count,
                             size_t input, size_t inputs, bool goes_on, float* sums) {
    const auto* const x = static_cast<const typename Dot::Code*>(t.x) + input * t.columns;
    FOVEA_COMMON_NAMESPACE::byte_kernels::multiply_rows(x, t.columns, weights, stride, count, inputs, goes_on,
                                                        reinterpret_cast<int32_t*>(sums), t.columns);
  }
};

#endif  // FOVEA_SRC_LINEAR_I8_ROWS_INL_
