// SPDX-License-Identifier: Apache-2.0
//
// The inner loops of block_loops.inl for Arm's scalar floating point, where one instruction loads the elements of
// several registers that follow each other.

constexpr int kElems = 2;  // elements of a row that are loaded at once

constexpr int RegistersForRows(int vectors, int rows) { return vectors + kElems * rows; }
constexpr int RegistersForValues(int vectors, int elements) { return vectors + elements; }

template <int kCount, int kRows, int kVectors>
FOVEA_INLINE void MultiplyElements(const float*& x, size_t columns, const VF (&row)[kRows][kElems],
                                   VF (&acc)[kRows][kVectors]) {
  FOVEA_UNROLL(2)
  for (int i = 0; i < kCount; ++i) {
    VF xi[kVectors];
    hn::NextVectors(x, ptrdiff_t(columns), xi);
    FOVEA_UNROLL(4)
    for (int k = 0; k < kRows; ++k) {
      FOVEA_UNROLL(4)
      for (int v = 0; v < kVectors; ++v) acc[k][v] = hn::MulAdd(xi[v], row[k][i], acc[k][v]);
    }
  }
}

template <bool kAsks, int kRows, int kVectors>
FOVEA_INLINE void MultiplyPart(const float*& x, size_t columns, size_t dim, const float* (&at)[kRows], const float*,
                               VF (&acc)[kRows][kVectors]) {
  VF row[kRows][kElems];
  for (size_t n = dim / kElems; n > 0; --n) {
    hn::NextElements(at, row);
    MultiplyElements<kElems>(x, columns, row, acc);
  }
  for (size_t n = dim % kElems; n > 0; --n) {
    FOVEA_UNROLL(4)
    for (int k = 0; k < kRows; ++k) row[k][0] = hn::Set(kF, *at[k]++);
    MultiplyElements<1>(x, columns, row, acc);
  }
}

template <bool kHides, int kBlock, int kVectors>
FOVEA_INLINE void AddValues(const float* p, size_t columns, const float* value, ptrdiff_t stride, uint32_t n,
                            VF (&acc)[kBlock][kVectors]) {
  FOVEA_UNROLL_LONG_LOOP(4)
  for (; n > 0; --n) {
    VF elements[kBlock], pj[kVectors];
    MF hidden[kVectors];
    hn::NextElements(value, stride, elements);
    hn::NextVectors(p, ptrdiff_t(columns), pj);
    FOVEA_UNROLL(4)
    for (int v = 0; v < kVectors; ++v) hidden[v] = kHides ? hn::SignMask(pj[v]) : MF();
    FOVEA_UNROLL(8)
    for (int e = 0; e < kBlock; ++e) {
      FOVEA_UNROLL(4)
      for (int v = 0; v < kVectors; ++v) {
        VF& sum = acc[e][v];
        sum = kHides ? hn::MulAddUnless(hidden[v], pj[v], elements[e], sum) : hn::MulAdd(pj[v], elements[e], sum);
      }
    }
  }
}
