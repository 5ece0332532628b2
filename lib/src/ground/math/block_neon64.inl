// SPDX-License-Identifier: Apache-2.0
//
// The inner loops of block_loops.inl for AArch64, which multiplies a vector by one lane of another. There are many
// registers, and processors may be simple, so vectors are loaded before they are needed.
#ifndef FOVEA_SRC_MATH_BLOCK_NEON64_INL_
#define FOVEA_SRC_MATH_BLOCK_NEON64_INL_

#include "ground/math/block_neon64_inorder.inl"

// Whether register blocks of 8 rows or elements, and more than one vector, have their own loops.
template <int kRows, int kVectors>
constexpr bool kGoesInOrder = FOVEA_FOR_IN_ORDER&& kRows == 8 && kVectors > 1;

constexpr int kElems = 4;  // elements of a value that one vector holds

// x of two steps, and two elements of two rows.
constexpr int RegistersForRows(int vectors, int) { return 2 * vectors + 2; }
constexpr int RegistersForValues(int vectors, int elements) { return vectors + elements / kElems; }

// acc[v] += x[v] * lane kLane of row.
template <int kLane, int kVectors>
FOVEA_INLINE void MultiplyLane(const VF (&x)[kVectors], VF row, VF (&acc)[kVectors]) {
  FOVEA_EACH(v, kVectors) acc[v] = hn::MulAddLane<kLane>(x[v], row, acc[v]);
}

// Takes two steps: then a register block of 8 rows x 3 vectors fits, which loads least for each multiply-add. Two rows
// alternate, to give sums and loads time.
template <int kRows, int kVectors>
FOVEA_INLINE void MultiplyTwo(const float*& x, size_t columns, const float* (&at)[kRows], VF (&acc)[kRows][kVectors]) {
  VF first[kVectors], second[kVectors];
  hn::NextVectors(x, ptrdiff_t(columns), first);
  VF even = hn::NextTwo(at[0]), odd = hn::NextTwo(at[1]);
  hn::NextVectors(x, ptrdiff_t(columns), second);
  FOVEA_UNROLL(4)
  for (int k = 0; k < kRows; k += 2) {
    MultiplyLane<0>(first, even, acc[k]);
    MultiplyLane<0>(first, odd, acc[k + 1]);
    MultiplyLane<1>(second, even, acc[k]);
    if (k + 2 < kRows) even = hn::NextTwo(at[k + 2]);
    MultiplyLane<1>(second, odd, acc[k + 1]);
    if (k + 2 < kRows) odd = hn::NextTwo(at[k + 3]);
  }
}

template <int kRows, int kVectors>
FOVEA_INLINE void MultiplyOne(const float*& x, size_t columns, const float* (&at)[kRows], VF (&acc)[kRows][kVectors]) {
  VF xi[kVectors];
  hn::NextVectors(x, ptrdiff_t(columns), xi);
  FOVEA_EACH(k, kRows) {
    const VF row = hn::Set(kF, *at[k]++);
    FOVEA_EACH(v, kVectors) acc[k][v] = hn::MulAdd(xi[v], row, acc[k][v]);
  }
}

// Does not prefetch from `ahead` on: with 4 lanes arithmetic takes longer than memory does.
template <bool kPrefetches, int kRows, int kVectors>
FOVEA_INLINE void MultiplyPart(const float*& x, size_t columns, size_t dim, const float* (&at)[kRows], const float*,
                               VF (&acc)[kRows][kVectors]) {
  if constexpr (kGoesInOrder<kRows, kVectors>) {
    MultiplyInOrder(x, columns, dim / 2, at, acc);
  } else {
    for (size_t n = dim / 2; n > 0; --n) MultiplyTwo(x, columns, at, acc);
  }
  if (dim % 2 != 0) MultiplyOne(x, columns, at, acc);
}

// acc[e][v] += p[v] * lane e % kElems of value[e / kElems], kFirst <= e < kBlock.
template <bool kHides, int kFirst, int kVectors, int kLoads, int kBlock>
FOVEA_INLINE void AddLanes(const VF (&p)[kVectors], const MF (&hidden)[kVectors], const VF (&value)[kLoads],
                           VF (&acc)[kBlock][kVectors]) {
  constexpr int kLane = kFirst % kElems;
  const VF element = value[kFirst / kElems];
  FOVEA_EACH(v, kVectors) {
    VF& sum = acc[kFirst][v];
    sum =
        kHides ? hn::MulAddLaneUnless<kLane>(hidden[v], p[v], element, sum) : hn::MulAddLane<kLane>(p[v], element, sum);
  }
  if constexpr (kFirst + 1 < kBlock) AddLanes<kHides, kFirst + 1>(p, hidden, value, acc);
}

template <bool kHides, int kBlock, int kVectors>
FOVEA_INLINE void AddValues(const float* p, size_t columns, const float* value, ptrdiff_t stride, uint32_t n,
                            VF (&acc)[kBlock][kVectors]) {
  static_assert(kBlock == 1 || kBlock % kElems == 0, "a block is of whole vectors, or of one element");
  if constexpr (kGoesInOrder<kBlock, kVectors> && !kHides) return AddInOrder(p, columns, value, stride, n, acc);
  FOVEA_UNROLL_LONG_LOOP(4)
  for (; n > 0; --n) {
    VF elements[kBlock == 1 ? 1 : kBlock / kElems], pj[kVectors];
    MF hidden[kVectors];
    if constexpr (kBlock == 1) {
      elements[0] = hn::Set(kF, *value);
      value += stride;
    } else {
      hn::NextVectors(value, stride, elements);
    }
    hn::NextVectors(p, ptrdiff_t(columns), pj);
    FOVEA_EACH(v, kVectors) hidden[v] = kHides ? hn::SignMask(pj[v]) : MF();
    AddLanes<kHides, 0>(pj, hidden, elements, acc);
  }
}

#endif  // FOVEA_SRC_MATH_BLOCK_NEON64_INL_
