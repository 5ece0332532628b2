// SPDX-License-Identifier: Apache-2.0
//
// A tile times rows, by register blocks: the product that q.k and a linear layer share. A lane is a query, or a token;
// rows (keys, or weights) are read as they lie in memory, an element at a time, and multiply whole vectors.

using hn::kBlockVectors;
using hn::kElems;

// Rows, or elements of one row, of a register block: the largest count whose sums with kVectors vectors fit the
// registers beside those vectors and the elements that are loaded at once.
constexpr int kMostRows = kLanes == 1 ? 4 : 8;
template <int kVectors, bool kOneRow, int kCount = kMostRows>
constexpr int LargestBlock() {
  constexpr int kLoads = kElems == 1 ? 1 : kOneRow ? kCount / kElems : kCount;
  constexpr int kOfEach = kElems > int(kLanes) ? kElems : 1;
  constexpr int kBeside = hn::kScalarElems ? 1 : kVectors + kLoads * kOfEach;
  if constexpr (kCount == 2 || kCount * kVectors + kBeside <= hn::kRegisters) {
    return kCount;
  } else {
    return LargestBlock<kVectors, kOneRow, kCount / 2>();
  }
}
template <int kVectors>
constexpr int kBlockOf = LargestBlock<kVectors, false>();

// acc[k][v] += x[v] * element i of e[k].
template <int i, int kRows, int kVectors>
FOVEA_INLINE void MulAddElem(const VF (&x)[kVectors], const hn::Elems (&e)[kRows], VF (&acc)[kRows][kVectors]) {
  FOVEA_UNROLL(8)
  for (int k = 0; k < kRows; ++k) {
    FOVEA_UNROLL(4)
    for (int v = 0; v < kVectors; ++v) acc[k][v] = hn::MulAddElem<i>(x[v], e[k], acc[k][v]);
  }
}

// The same for elements from i on, each with the next vectors of x; the first of them are loaded.
template <int kCount, int i, int kRows, int kVectors>
FOVEA_INLINE void MulAddElems(const VF (&xi)[kVectors], const float*& x, size_t columns, const hn::Elems (&e)[kRows],
                              VF (&acc)[kRows][kVectors]) {
  if constexpr (i + 1 == kCount) {
    MulAddElem<i>(xi, e, acc);
  } else {  // a load takes some cycles, which not every processor fills by itself
    VF next[kVectors];
    if (hn::kLoadsAhead) hn::NextVectors(x, ptrdiff_t(columns), next);
    MulAddElem<i>(xi, e, acc);
    if (!hn::kLoadsAhead) hn::NextVectors(x, ptrdiff_t(columns), next);
    MulAddElems<kCount, i + 1>(next, x, columns, e, acc);
  }
}

// The same where elements are scalars, which leave the vectors' registers to the sums: one is enough for x.
template <int kCount, int i, int kRows, int kVectors>
FOVEA_INLINE void MulAddScalars(const float*& x, size_t columns, const hn::Elems (&e)[kRows],
                                VF (&acc)[kRows][kVectors]) {
  FOVEA_UNROLL(4)
  for (int v = 0; v < kVectors; ++v) {
    const VF xv = hn::LoadU(kF, x + v * kLanes);
    FOVEA_UNROLL(8)
    for (int k = 0; k < kRows; ++k) acc[k][v] = hn::MulAddElem<i>(xv, e[k], acc[k][v]);
  }
  x += columns;
  FOVEA_OPAQUE(x);
  if constexpr (i + 1 < kCount) MulAddScalars<kCount, i + 1>(x, columns, e, acc);
}

// acc += x * row, for kCount elements of each row, which move on, as x does.
template <int kCount, int kRows, int kVectors>
FOVEA_INLINE void MultiplyElems(const float*& x, size_t columns, const float* (&at)[kRows],
                                VF (&acc)[kRows][kVectors]) {
  VF xv[kVectors];
  hn::Elems e[kRows];
  if constexpr (kCount == kElems) {
    hn::NextElems(at, e);
  } else {
    FOVEA_UNROLL(8)
    for (int k = 0; k < kRows; ++k) e[k] = hn::LoadElem(at[k]++);
  }
  if constexpr (hn::kScalarElems) {
    MulAddScalars<kCount, 0>(x, columns, e, acc);
  } else {
    hn::NextVectors(x, ptrdiff_t(columns), xv);
    MulAddElems<kCount, 0>(xv, x, columns, e, acc);
  }
}

// acc += x * row, for `dim` elements of each row, behind which x and `at` then are. Where it asks ahead, as much as the
// rows are is brought meanwhile from `ahead` on, for later. (Only where kElems is 1.)
template <bool kAsks, int kRows, int kVectors>
FOVEA_INLINE void MultiplyPart(const float*& x, size_t columns, size_t dim, const float* (&at)[kRows],
                               const float* ahead, VF (&acc)[kRows][kVectors]) {
  if constexpr (kElems == 1) {  // each takes a vector's register, so one after the other
    FOVEA_UNROLL_LONG_LOOP(4)
    for (size_t d = 0; d < dim; ++d) {
      VF xd[kVectors];
      hn::NextVectors(x, ptrdiff_t(columns), xd);
      if constexpr (kAsks) __builtin_prefetch(ahead + d * kRows, 0, 2);
      FOVEA_UNROLL(8)
      for (int k = 0; k < kRows; ++k) {
        const hn::Elems e = hn::kIndexed ? hn::LoadElem(at[k] + d) : hn::NextElems(at[k]);
        FOVEA_UNROLL(4)
        for (int v = 0; v < kVectors; ++v) acc[k][v] = hn::MulAddElem<0>(xd[v], e, acc[k][v]);
      }
    }
    FOVEA_UNROLL(8)
    for (int k = 0; hn::kIndexed && k < kRows; ++k) at[k] += dim;
  } else {
    for (size_t n = dim / kElems; n > 0; --n) MultiplyElems<kElems>(x, columns, at, acc);
    for (size_t n = dim % kElems; n > 0; --n) MultiplyElems<1>(x, columns, at, acc);
  }
}

// Products in a partial sum: its rounding errors are those of so many terms, whatever the dimension. A multiple of
// kElems.
constexpr size_t kPartialSum = 32;

// s[row][vector] = sum_d x[d][vector] * row[d], for a block of rows; or, where it goes on, s += that. Partial sums, each
// a chain of multiply-adds in the order of d, are added in their order, whatever the block, so that bits do not depend
// on it.
template <int kVectors, bool kAsks, int kRows>
FOVEA_INLINE void MultiplyBlock(const float* x, size_t columns, size_t dim, const float* const (&row)[kRows],
                                bool goes_on, float* FOVEA_RESTRICT s, const float* ahead) {
  const float* at[kRows];
  FOVEA_UNROLL(8)
  for (int k = 0; k < kRows; ++k) {
    at[k] = row[k];
    FOVEA_OPAQUE(at[k]);
  }
  for (;; goes_on = true) {
    const size_t part = dim < kPartialSum ? dim : kPartialSum;
    VF acc[kRows][kVectors];
    FOVEA_UNROLL(8)
    for (int k = 0; k < kRows; ++k) {
      FOVEA_UNROLL(4)
      for (int v = 0; v < kVectors; ++v) acc[k][v] = hn::Zero(kF);
    }
    MultiplyPart<kAsks>(x, columns, part, at, ahead, acc);
    if (goes_on) {
      FOVEA_UNROLL(8)
      for (int k = 0; k < kRows; ++k) {
        FOVEA_UNROLL(4)
        for (int v = 0; v < kVectors; ++v) {
          acc[k][v] = hn::Add(hn::LoadU(kF, s + size_t(k) * columns + v * kLanes), acc[k][v]);
        }
      }
    }
    FOVEA_UNROLL(8)
    for (int k = 0; k < kRows; ++k) {
      FOVEA_UNROLL(4)
      for (int v = 0; v < kVectors; ++v) hn::StoreU(acc[k][v], kF, s + size_t(k) * columns + v * kLanes);
    }
    dim -= part;
    if (dim == 0) return;
    ahead += part * kRows;
  }
}

// The same for `count` >= 1 rows, and vectors from the column x on. A last block that is not full repeats the last row,
// so s has room for whole blocks.
template <int kVectors, bool kAsks = false>
FOVEA_INLINE void MultiplyRows(const float* x, size_t columns, size_t dim, const float* rows, ptrdiff_t stride,
                               uint32_t count, bool goes_on, float* s, const float* ahead = nullptr) {
  constexpr uint32_t kRows = kBlockOf<kVectors>;
  for (uint32_t left = count;;) {
    const float* row[kRows];
    if (!kPreferSize && left >= kRows) {
      FOVEA_UNROLL(8)
      for (uint32_t k = 0; k < kRows; ++k) row[k] = rows + ptrdiff_t(k) * stride;
    } else {
      const float* next = rows;
      FOVEA_UNROLL(8)
      for (uint32_t k = 0; k < kRows; ++k) {
        row[k] = next;
        next += k + 1 < left ? stride : 0;
      }
    }
    MultiplyBlock<kVectors, kAsks>(x, columns, dim, row, goes_on, s, ahead);
    if (left <= kRows) return;
    left -= kRows;
    if constexpr (kAsks) ahead += kRows * dim;
    rows += ptrdiff_t(kRows) * stride;
    s += kRows * columns;
  }
}
