// SPDX-License-Identifier: Apache-2.0
//
// The inner loops of block_loops.inl for Arm's scalar floating point, where one instruction loads the elements of
// several registers that follow each other.

constexpr int kElems = 2;  // elements of a row that are loaded at once

constexpr int RegistersForRows(int vectors, int rows) { return vectors + kElems * rows; }
constexpr int RegistersForValues(int vectors, int elements) { return vectors + elements; }

// acc[k][v] += sum x[i][v] * row[k][i], i from kFirst up to kCount. A loop over i would be unrolled too late for g++ 12 to
// leave the registers as NextElements fills them: 9 % more instructions on a Cortex-M4F.
template <int kCount, int kFirst, int kRows, int kVectors>
FOVEA_INLINE void MultiplyElements(const float*& x, size_t columns, const float (&row)[kRows][kElems],
                                   VF (&acc)[kRows][kVectors]) {
  VF xi[kVectors];
  hn::NextVectors(x, ptrdiff_t(columns), xi);
  FOVEA_UNROLL(4)
  for (int k = 0; k < kRows; ++k) {
    FOVEA_UNROLL(4)
    for (int v = 0; v < kVectors; ++v) acc[k][v] = hn::MulAdd(xi[v], hn::Set(kF, row[k][kFirst]), acc[k][v]);
  }
  if constexpr (kFirst + 1 < kCount) MultiplyElements<kCount, kFirst + 1>(x, columns, row, acc);
}

template <bool kAsks, int kRows, int kVectors>
FOVEA_INLINE void MultiplyPart(const float*& x, size_t columns, size_t dim, const float* (&at)[kRows], const float*,
                               VF (&acc)[kRows][kVectors]) {
  for (size_t n = dim / kElems; n > 0; --n) {
    float row[kRows][kElems];
    hn::NextElements(at, row);
    MultiplyElements<kElems, 0>(x, columns, row, acc);
  }
  for (size_t n = dim % kElems; n > 0; --n) {
    float row[kRows][kElems];
    FOVEA_UNROLL(4)
    for (int k = 0; k < kRows; ++k) row[k][0] = *at[k]++;
    MultiplyElements<1, 0>(x, columns, row, acc);
  }
}

template <bool kHides, int kBlock, int kVectors>
FOVEA_INLINE void AddValues(const float* p, size_t columns, const float* value, ptrdiff_t stride, uint32_t n,
                            VF (&acc)[kBlock][kVectors]) {
  FOVEA_UNROLL_LONG_LOOP(4)
  for (; n > 0; --n) {
    float elements[kBlock];
    VF pj[kVectors];
    MF hidden[kVectors];
    hn::NextElements(value, stride, elements);
    hn::NextVectors(p, ptrdiff_t(columns), pj);
    FOVEA_UNROLL(4)
    for (int v = 0; v < kVectors; ++v) hidden[v] = kHides ? hn::SignMask(pj[v]) : MF();
    FOVEA_UNROLL(8)
    for (int e = 0; e < kBlock; ++e) {
      const VF element = hn::Set(kF, elements[e]);
      FOVEA_UNROLL(4)
      for (int v = 0; v < kVectors; ++v) {
        VF& sum = acc[e][v];
        sum = kHides ? hn::MulAddUnless(hidden[v], pj[v], element, sum) : hn::MulAdd(pj[v], element, sum);
      }
    }
  }
}
