// SPDX-License-Identifier: Apache-2.0
//
// A tile times rows, by register blocks: the product that q.k and a linear layer share. A lane is a query, or a token;
// rows (keys, or weights) are read as they are stored, an element at a time, and multiply whole vectors. More unrolling,
// aligned loops and -O3 gained nothing.
#ifndef FOVEA_SRC_MATH_BLOCK_INL_
#define FOVEA_SRC_MATH_BLOCK_INL_

using hn::kBlockVectors;

#if !defined(FOVEA_BLOCK_LOOPS)
#define FOVEA_BLOCK_LOOPS "ground/math/block_loops.inl"
#endif
#include FOVEA_BLOCK_LOOPS
#undef FOVEA_BLOCK_LOOPS

template <int n>
struct Vectors {
  static constexpr int kCount = n;
};
// Calls f(Vectors<n>(), column) for register blocks of n <= kMost vectors of columns, the largest first. kEvenly: none
// that would leave one vector. A copy of `columns` would take a register.
template <int kMost, bool kEvenly, class F>
FOVEA_INLINE void ForColumns(const uint32_t& columns, const F& f, size_t column = 0) {
  constexpr size_t kTaken = kMost * kLanes;
  constexpr bool kNotBeforeOne = kEvenly && !kSizeCounts && kMost > 2;
  for (; column + kTaken <= columns && !(kNotBeforeOne && columns - column == kTaken + kLanes); column += kTaken) {
    f(Vectors<kMost>(), column);
  }
  if constexpr (kMost > 1) ForColumns<kSizeCounts ? 1 : kMost - 1, kEvenly>(columns, f, column);
}

// Rows, or elements of one row, of a register block: the largest count for which the sums with kVectors vectors, and
// what the loops load, fit the registers.
constexpr int kMostRows = kLanes == 1 ? 4 : 8;
template <int kVectors, bool kOneRow, int kCount = kMostRows>
constexpr int LargestBlock() {
  constexpr int kLoadRegisters = kOneRow ? RegistersForValues(kVectors, kCount) : RegistersForRows(kVectors, kCount);
  if constexpr (kCount == 2 || kCount * kVectors + kLoadRegisters <= hn::kRegisters) {
    return kCount;
  } else {
    return LargestBlock<kVectors, kOneRow, kCount / 2>();
  }
}
template <int kVectors>
constexpr int kBlockOf = LargestBlock<kVectors, false>();

// Products in a partial sum: its rounding errors are those of this many terms, whatever the dimension. A multiple of
// what the loops take at once.
constexpr size_t kPartialSum = 32;

// s[row][vector] = sum_d x[d][vector] * row[d], for kRows rows; += if goes_on. Partial sums, each a chain of
// multiply-adds in the order of d, are added in their order, so that bits do not depend on the register block.
template <int kVectors, bool kPrefetches, int kRows>
FOVEA_INLINE void MultiplyBlock(const float* x, size_t columns, size_t dim, const float* const (&row)[kRows],
                                bool goes_on, float* FOVEA_RESTRICT s, const float* ahead) {
  const float* at[kRows];
  FOVEA_EACH(k, kRows) {
    at[k] = row[k];
    FOVEA_OPAQUE(at[k]);
  }
  for (;; goes_on = true) {
    const size_t part = dim < kPartialSum ? dim : kPartialSum;
    VF acc[kRows][kVectors];
    FOVEA_EACH(k, kRows) {
      FOVEA_EACH(v, kVectors) acc[k][v] = hn::Zero(kF);
    }
    MultiplyPart<kPrefetches>(x, columns, part, at, ahead, acc);
    if (goes_on) {
      FOVEA_EACH(k, kRows) {
        FOVEA_EACH(v, kVectors) {
          acc[k][v] = hn::Add(hn::LoadU(kF, s + size_t(k) * columns + v * kLanes), acc[k][v]);
        }
      }
    }
    FOVEA_EACH(k, kRows) {
      FOVEA_EACH(v, kVectors) hn::StoreU(acc[k][v], kF, s + size_t(k) * columns + v * kLanes);
    }
    dim -= part;
    if (dim == 0) return;
    if (kPrefetches) ahead += part * kRows;
  }
}

// The same for `count` >= 1 rows, and vectors from the column x on. A last register block that is not full repeats the
// last row, so s has room for whole register blocks.
template <int kVectors, bool kPrefetches = false>
FOVEA_INLINE void MultiplyRows(const float* x, size_t columns, size_t dim, const float* rows, ptrdiff_t stride,
                               uint32_t count, bool goes_on, float* s, const float* ahead = nullptr) {
  constexpr uint32_t kRows = kBlockOf<kVectors>;
  for (uint32_t left = count;;) {
    const float* row[kRows];
    if (!kSizeCounts && left >= kRows) {
      FOVEA_EACH(k, kRows) row[k] = rows + ptrdiff_t(k) * stride;
    } else {
      const float* next = rows;
      FOVEA_EACH(k, kRows) {
        row[k] = next;
        next += k + 1 < left ? stride : 0;
      }
    }
    MultiplyBlock<kVectors, kPrefetches>(x, columns, dim, row, goes_on, s, ahead);
    if (left <= kRows) return;
    left -= kRows;
    if constexpr (kPrefetches) ahead += kRows * dim;
    rows += ptrdiff_t(kRows) * stride;
    s += kRows * columns;
  }
}

#endif  // FOVEA_SRC_MATH_BLOCK_INL_
