// SPDX-License-Identifier: Apache-2.0
//
// The inner loops of block_loops.inl for Helium, which multiplies a vector by a general register. One instruction loads
// two of these. They leave the vector registers to the sums, so one vector register is enough for x.
#ifndef FOVEA_SRC_MATH_BLOCK_HELIUM_INL_
#define FOVEA_SRC_MATH_BLOCK_HELIUM_INL_

constexpr int kElems = 2;  // elements of a row that are loaded at once

constexpr int RegistersForRows(int, int) { return 1; }
constexpr int RegistersForValues(int, int) { return 1; }

template <int kCount, int kRows, int kVectors>
FOVEA_INLINE void MultiplyElements(const float*& x, size_t columns, const float (&row)[kRows][kElems],
                                   VF (&acc)[kRows][kVectors]) {
  FOVEA_EACH(i, kCount) {
    FOVEA_EACH(v, kVectors) {
      const VF xv = hn::NextVector(x);
      FOVEA_EACH(k, kRows) acc[k][v] = hn::MulAddScalar(xv, row[k][i], acc[k][v]);
    }
    x += columns - kVectors * kLanes;
  }
}

template <bool kPrefetches, int kRows, int kVectors>
FOVEA_INLINE void MultiplyPart(const float*& x, size_t columns, size_t dim, const float* (&at)[kRows], const float*,
                               VF (&acc)[kRows][kVectors]) {
  float row[kRows][kElems];
  for (size_t n = dim / kElems; n > 0; --n) {
    FOVEA_EACH(k, kRows) hn::NextTwo(at[k], row[k]);
    MultiplyElements<kElems>(x, columns, row, acc);
  }
  for (size_t n = dim % kElems; n > 0; --n) {
    FOVEA_EACH(k, kRows) row[k][0] = *at[k]++;
    MultiplyElements<1>(x, columns, row, acc);
  }
}

// The addresses advance between two multiply-adds, where a Cortex-M55 has time for it.
template <bool kHides, int kBlock, int kVectors>
FOVEA_INLINE void AddValues(const float* p, size_t columns, const float* value, ptrdiff_t stride, uint32_t n,
                            VF (&acc)[kBlock][kVectors]) {
  for (; n > 0; --n) {
    float elements[kBlock];
    if constexpr (kBlock == 1) {
      elements[0] = *value;
    } else {
      FOVEA_UNROLL(4)
      for (int e = 0; e < kBlock; e += kElems) hn::LoadTwo(value + e, &elements[e]);
    }
    FOVEA_EACH(v, kVectors) {
      const VF pv = hn::NextVector(p);
      const MF hidden = kHides ? hn::SignMask(pv) : MF();
      FOVEA_EACH(e, kBlock) {
        VF& sum = acc[e][v];
        sum = kHides ? hn::MulAddScalarUnless(hidden, pv, elements[e], sum) : hn::MulAddScalar(pv, elements[e], sum);
        if (e > 0) continue;
        if (v == 0) {
          value += stride;
          FOVEA_OPAQUE(value);
        }
        if (v + 1 == kVectors) {
          p += columns - kVectors * kLanes;
          FOVEA_OPAQUE(p);
        }
      }
    }
  }
}

#endif  // FOVEA_SRC_MATH_BLOCK_HELIUM_INL_
