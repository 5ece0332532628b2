// SPDX-License-Identifier: Apache-2.0
//
// The inner loops of block_loops.inl for NEON on 32-bit Arm, whose loads of vectors and of broadcast elements take no
// index, but move their address on.

constexpr int RegistersForRows(int vectors, int) { return vectors + 1; }
constexpr int RegistersForValues(int vectors, int) { return vectors + 1; }

FOVEA_INLINE VF NextElement(const float*& p) {
  const VF element = hn::Set(kF, *p);
  p += 1;
  FOVEA_OPAQUE(p);
  return element;
}

template <bool kAsks, int kRows, int kVectors>
FOVEA_INLINE void MultiplyPart(const float*& x, size_t columns, size_t dim, const float* (&at)[kRows], const float*,
                               VF (&acc)[kRows][kVectors]) {
  FOVEA_UNROLL_LONG_LOOP(4)
  for (size_t d = 0; d < dim; ++d) {
    VF xd[kVectors];
    hn::NextVectors(x, ptrdiff_t(columns), xd);
    FOVEA_UNROLL(8)
    for (int k = 0; k < kRows; ++k) {
      const VF element = NextElement(at[k]);
      FOVEA_UNROLL(4)
      for (int v = 0; v < kVectors; ++v) acc[k][v] = hn::MulAdd(xd[v], element, acc[k][v]);
    }
  }
}

template <bool kHides, int kBlock, int kVectors>
FOVEA_INLINE void AddValues(const float* p, size_t columns, const float* value, ptrdiff_t stride, uint32_t n,
                            VF (&acc)[kBlock][kVectors]) {
  const ptrdiff_t to_next = ptrdiff_t(size_t(stride) - (kBlock - 1));  // of one key alone, stride may be anything
  FOVEA_UNROLL_LONG_LOOP(4)
  for (; n > 0; --n) {
    VF pj[kVectors];
    MF hidden[kVectors];
    hn::NextVectors(p, ptrdiff_t(columns), pj);
    FOVEA_UNROLL(4)
    for (int v = 0; v < kVectors; ++v) hidden[v] = kHides ? hn::SignMask(pj[v]) : MF();
    FOVEA_UNROLL(8)
    for (int e = 0; e < kBlock; ++e) {
      const VF element = e + 1 < kBlock ? NextElement(value) : hn::NextSpread(value, to_next);
      FOVEA_UNROLL(4)
      for (int v = 0; v < kVectors; ++v) {
        VF& sum = acc[e][v];
        sum = kHides ? hn::MulAddUnless(hidden[v], pj[v], element, sum) : hn::MulAdd(pj[v], element, sum);
      }
    }
  }
}
