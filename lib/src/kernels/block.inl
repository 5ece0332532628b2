// SPDX-License-Identifier: Apache-2.0
//
// A tile times rows, by register blocks: the product that q.k and a linear layer share. A lane is a query, or a token;
// rows (keys, or weights) are read as they lie in memory, an element at a time, and multiply whole vectors.

using hn::kBlockKeys;
using hn::kBlockVectors;
using hn::kElems;

// Rows, or value elements, of a register block with this many vectors: one vector alone needs more of them, or the
// multiply-adds would wait for one another.
template <int kVectors>
constexpr int kBlockOf = kVectors == 1 ? hn::kRegisters / 2 < 8 ? hn::kRegisters / 2 : 8 : kBlockKeys;

// acc[v] += x[v] * e[0..kElems), for one row or value element block.
template <int kCount, int kVectors, int i = 0>
FOVEA_INLINE void MulAddElems(const VF (&x)[kElems][kVectors], hn::Elems e, VF (&acc)[kVectors]) {
  FOVEA_UNROLL(4)
  for (int v = 0; v < kVectors; ++v) acc[v] = hn::MulAddElem<i>(x[i][v], e, acc[v]);
  if constexpr (i + 1 < kCount) MulAddElems<kCount, kVectors, i + 1>(x, e, acc);
}

// The same for a block of rows, where elements are scalars: all of them stay in general registers, and a vector of x at a
// time is loaded for them.
template <int kCount, int kRows, int kVectors, int i = 0>
FOVEA_INLINE void MulAddScalars(const float* FOVEA_RESTRICT& x, size_t columns, const hn::Elems (&e)[kRows],
                                VF (&acc)[kRows][kVectors]) {
  FOVEA_UNROLL(4)
  for (int v = 0; v < kVectors; ++v) {
    const VF xv = hn::LoadU(kF, x + v * kLanes);
    FOVEA_UNROLL(8)
    for (int k = 0; k < kRows; ++k) acc[k][v] = hn::MulAddElem<i>(xv, e[k], acc[k][v]);
  }
  x += columns;
  FOVEA_OPAQUE(x);
  if constexpr (i + 1 < kCount) MulAddScalars<kCount, kRows, kVectors, i + 1>(x, columns, e, acc);
}

// s[row][vector] = sum_d x[d][vector] * row[d], for a block of rows; or, where it goes on, s += that. Each sum is one chain
// of multiply-adds in the order of d, whatever the block, so that its bits do not depend on it.
template <int kVectors, bool kGoesOn, int kRows>
FOVEA_INLINE void MultiplyBlock(const float* FOVEA_RESTRICT x, size_t columns, size_t dim,
                                const float* const (&row)[kRows], float* FOVEA_RESTRICT s) {
  VF acc[kRows][kVectors];
  FOVEA_UNROLL(8)
  for (int k = 0; k < kRows; ++k) {
    FOVEA_UNROLL(4)
    for (int v = 0; v < kVectors; ++v) {
      acc[k][v] = kGoesOn ? hn::LoadU(kF, s + size_t(k) * columns + v * kLanes) : hn::Zero(kF);
    }
  }
  if constexpr (hn::kScalarElems) {
    const float* at[kRows];
    hn::Elems e[kRows];
    FOVEA_UNROLL(8)
    for (int k = 0; k < kRows; ++k) at[k] = row[k];
    for (size_t n = dim / kElems; n > 0; --n) {
      FOVEA_UNROLL(8)
      for (int k = 0; k < kRows; ++k) e[k] = hn::NextElems(at[k]);
      MulAddScalars<kElems>(x, columns, e, acc);
    }
    for (size_t n = dim % kElems; n > 0; --n) {
      FOVEA_UNROLL(8)
      for (int k = 0; k < kRows; ++k) e[k] = hn::LoadElem(at[k]++);
      MulAddScalars<1>(x, columns, e, acc);
    }
  } else {
    VF vectors[kElems][kVectors];
    size_t d = 0;
    for (; d + kElems <= dim; d += kElems) {
      FOVEA_UNROLL(4)
      for (int i = 0; i < kElems; ++i) {
        FOVEA_UNROLL(4)
        for (int v = 0; v < kVectors; ++v) vectors[i][v] = hn::LoadU(kF, x + (d + i) * columns + v * kLanes);
      }
      FOVEA_UNROLL(8)
      for (int k = 0; k < kRows; ++k) MulAddElems<kElems>(vectors, hn::LoadElems(row[k] + d), acc[k]);
    }
    for (; d < dim; ++d) {  // never runs where kElems is 1
      FOVEA_UNROLL(4)
      for (int v = 0; v < kVectors; ++v) vectors[0][v] = hn::LoadU(kF, x + d * columns + v * kLanes);
      FOVEA_UNROLL(8)
      for (int k = 0; k < kRows; ++k) MulAddElems<1>(vectors, hn::LoadElem(row[k] + d), acc[k]);
    }
  }
  FOVEA_UNROLL(8)
  for (int k = 0; k < kRows; ++k, s += columns) {
    FOVEA_UNROLL(4)
    for (int v = 0; v < kVectors; ++v) hn::StoreU(acc[k][v], kF, s + v * kLanes);
  }
}

// The same for `count` rows, and vectors from the column x on. A last block that is not full repeats the last row, so s has
// room for whole blocks.
template <int kVectors, bool kGoesOn>
FOVEA_INLINE void MultiplyRows(const float* x, size_t columns, size_t dim, const float* rows, ptrdiff_t stride,
                               uint32_t count, float* s) {
  constexpr uint32_t kRows = kBlockOf<kVectors>;
  for (uint32_t j = 0; j < count; j += kRows, s += kRows * columns) {
    const float* row[kRows];
    FOVEA_UNROLL(8)
    for (uint32_t k = 0; k < kRows; ++k) row[k] = rows + ptrdiff_t(j + k < count ? j + k : count - 1) * stride;
    MultiplyBlock<kVectors, kGoesOn>(x, columns, dim, row, s);
  }
}
