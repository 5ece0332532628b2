// SPDX-License-Identifier: Apache-2.0
//
// The inner loops of block_loops.inl for Arm's scalar floating point, where one instruction loads several consecutive
// registers.
#ifndef FOVEA_SRC_MATH_BLOCK_VFP_INL_
#define FOVEA_SRC_MATH_BLOCK_VFP_INL_

constexpr int kElems = 2;  // elements of a row that are loaded at once

constexpr int RegistersForRows(int vectors, int rows) { return vectors + kElems * rows; }
constexpr int RegistersForValues(int vectors, int elements) { return vectors + elements; }

// Whether the compiler knows that the vectors of a step directly follow those of the step before: then one load takes
// those of several steps. True in attention, not in linear layers.
template <int kVectors>
FOVEA_INLINE bool StepsAdjoin(size_t columns) {
  return (kVectors & (kVectors - 1)) == 0 && __builtin_constant_p(columns) && columns == kVectors;
}

// acc[k][v] += x[v] * element kElement of row[k]. A function of one element: g++ 12 unrolls loops over elements too
// late to keep registers as they were loaded, which takes 9 % more instructions on a Cortex-M4F.
template <int kElement, int kRows, int kVectors, int kElements>
FOVEA_INLINE void MultiplyByElement(const VF* x, const float (&row)[kRows][kElements], VF (&acc)[kRows][kVectors]) {
  FOVEA_EACH(k, kRows) {
    FOVEA_EACH(v, kVectors) acc[k][v] = hn::MulAdd(x[v], hn::Set(kF, row[k][kElement]), acc[k][v]);
  }
}

// The next kElems elements.
template <int kRows, int kVectors>
FOVEA_INLINE void MultiplyElements(const float*& x, size_t columns, const float (&row)[kRows][kElems],
                                   VF (&acc)[kRows][kVectors]) {
  if (StepsAdjoin<kVectors>(columns)) {
    VF xi[kElems * kVectors];
    hn::NextVectors(x, ptrdiff_t(kElems * columns), xi);
    MultiplyByElement<0>(xi, row, acc);
    MultiplyByElement<1>(xi + kVectors, row, acc);
  } else {
    VF xi[kVectors];
    hn::NextVectors(x, ptrdiff_t(columns), xi);
    MultiplyByElement<0>(xi, row, acc);
    hn::NextVectors(x, ptrdiff_t(columns), xi);
    MultiplyByElement<1>(xi, row, acc);
  }
}

// The next n elements, one by one.
template <int kRows, int kVectors>
FOVEA_INLINE void MultiplyOneByOne(const float*& x, size_t columns, size_t n, const float* (&at)[kRows],
                                   VF (&acc)[kRows][kVectors]) {
  for (; n > 0; --n) {
    float row[kRows][1];
    VF xi[kVectors];
    FOVEA_EACH(k, kRows) row[k][0] = *at[k]++;
    hn::NextVectors(x, ptrdiff_t(columns), xi);
    MultiplyByElement<0>(xi, row, acc);
  }
}

template <bool kPrefetches, int kRows, int kVectors>
FOVEA_INLINE void MultiplyPart(const float*& x, size_t columns, size_t dim, const float* (&at)[kRows], const float*,
                               VF (&acc)[kRows][kVectors]) {
#if FOVEA_SCALAR_FUSES
  if constexpr (kRows == 4 && kVectors == 1) {
    if (StepsAdjoin<kVectors>(columns)) {
      constexpr size_t kFours = AtOnce(2);
      for (size_t n = dim / (4 * kFours); n > 0; --n) {
        FOVEA_EACH(i, kFours) hn::MulAddFour(x, at, acc);
      }
      return MultiplyOneByOne(x, columns, dim % (4 * kFours), at, acc);
    }
  }
#endif
  FOVEA_UNROLL_LONG_LOOP(4)
  for (size_t n = dim / kElems; n > 0; --n) {
    float row[kRows][kElems];
    hn::NextElements(at, row);
    MultiplyElements(x, columns, row, acc);
  }
  MultiplyOneByOne(x, columns, dim % kElems, at, acc);
}

// acc[e][v] += p[v] * element[e].
template <int kBlock, int kVectors>
FOVEA_INLINE void AddKey(const VF* p, const float (&elements)[kBlock], VF (&acc)[kBlock][kVectors]) {
  FOVEA_EACH(e, kBlock) {
    FOVEA_EACH(v, kVectors) acc[e][v] = hn::MulAdd(p[v], hn::Set(kF, elements[e]), acc[e][v]);
  }
}

// One vector of each of the next two steps.
FOVEA_INLINE void NextTwo(const float*& p, size_t columns, VF (&v)[2]) {
  if (StepsAdjoin<1>(columns)) return hn::NextVectors(p, 2, v);
  VF one[1];
  hn::NextVectors(p, ptrdiff_t(columns), one);
  v[0] = one[0];
  hn::NextVectors(p, ptrdiff_t(columns), one);
  v[1] = one[0];
}

template <bool kHides, int kBlock, int kVectors>
FOVEA_INLINE void AddValues(const float* p, size_t columns, const float* value, ptrdiff_t stride, uint32_t n,
                            VF (&acc)[kBlock][kVectors]) {
  if constexpr (!kHides && kBlock == 8 && kVectors == 1) {
    for (uint32_t pairs = n / 2; pairs > 0; --pairs) {
      float elements[kBlock];
      VF pj[2];
      NextTwo(p, columns, pj);
      hn::NextElements(value, stride, elements);
      AddKey(pj, elements, acc);
      hn::NextElements(value, stride, elements);
      AddKey(pj + 1, elements, acc);
    }
    n %= 2;
  }
  if constexpr (!kHides && kBlock == 4 && kVectors == 4) {
    if (StepsAdjoin<kVectors>(columns)) {
      const float* pair[2] = {value, value + (n > 1 ? stride : 0)};
      FOVEA_UNROLL_LONG_LOOP(4)
      for (uint32_t pairs = n / 2; pairs > 0; --pairs) {
        float elements[2][kBlock];
        VF pj[2 * kVectors];
        hn::NextElements(pair, 2 * stride, elements);
        hn::NextVectors(p, ptrdiff_t(2 * columns), pj);
        AddKey(pj, elements[0], acc);
        AddKey(pj + kVectors, elements[1], acc);
      }
      value = pair[0];
      n %= 2;
    }
  }
  FOVEA_UNROLL_LONG_LOOP(4)
  for (; n > 0; --n) {
    float elements[kBlock];
    VF pj[kVectors];
    hn::NextElements(value, stride, elements);
    hn::NextVectors(p, ptrdiff_t(columns), pj);
    if constexpr (!kHides) {
      AddKey(pj, elements, acc);
      continue;
    }
    MF hidden[kVectors];
    FOVEA_EACH(v, kVectors) hidden[v] = hn::SignMask(pj[v]);
    FOVEA_EACH(e, kBlock) {
      const VF element = hn::Set(kF, elements[e]);
      FOVEA_EACH(v, kVectors) acc[e][v] = hn::MulAddUnless(hidden[v], pj[v], element, acc[e][v]);
    }
  }
}

#endif  // FOVEA_SRC_MATH_BLOCK_VFP_INL_
