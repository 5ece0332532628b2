// SPDX-License-Identifier: Apache-2.0
//
// The inner loops of block_loops.inl for NEON on 32-bit Arm, whose loads of vectors and of broadcast elements take no
// index, but advance their address.
#ifndef FOVEA_SRC_MATH_BLOCK_NEON32_INL_
#define FOVEA_SRC_MATH_BLOCK_NEON32_INL_

// Vectors of x or p that are loaded together: all, or two if sums leave no registers for more.
template <int kVectors>
constexpr int kTogether = kVectors <= 3 ? kVectors : 2;

constexpr int RegistersForRows(int vectors, int rows) { return vectors <= 3 ? vectors + 1 : 2 + rows; }
constexpr int RegistersForValues(int vectors, int elements) { return RegistersForRows(vectors, elements); }

FOVEA_INLINE VF NextSpreadElement(const float*& p) {
  const VF element = hn::Set(kF, *p);
  p += 1;
  FOVEA_OPAQUE(p);
  return element;
}

// Loads vectors of x together, from kFirst on. x advances past them, and past the last to the next row of `columns`.
template <int kFirst, int kVectors, int kNow>
FOVEA_INLINE void NextOfRow(const float*& x, size_t columns, VF (&v)[kNow]) {
  constexpr size_t kBefore = kFirst * kLanes;
  hn::NextVectors(x, ptrdiff_t(kFirst + kNow < kVectors ? kNow * kLanes : columns - kBefore), v);
}
template <int kFirst, int kVectors>
constexpr int kNowOf = kVectors - kFirst < kTogether<kVectors> ? kVectors - kFirst : kTogether<kVectors>;

// acc[k][v] += x[v] * element[k], v >= kFirst. Each element is read when it is needed. If more than one load of vectors
// needs it, all elements are read with the first.
template <int kFirst, int kRows, int kVectors>
FOVEA_INLINE void MultiplyOne(const float*& x, size_t columns, const float* (&at)[kRows], VF (&element)[kRows],
                              VF (&acc)[kRows][kVectors]) {
  constexpr int kNow = kNowOf<kFirst, kVectors>;
  VF xd[kNow];
  NextOfRow<kFirst, kVectors>(x, columns, xd);
  FOVEA_EACH(k, kRows) {
    if (kFirst == 0 && kNow < kVectors) element[k] = NextSpreadElement(at[k]);
  }
  FOVEA_EACH(k, kRows) {
    if (kNow == kVectors) element[k] = NextSpreadElement(at[k]);
    FOVEA_EACH(v, kNow) acc[k][kFirst + v] = hn::MulAdd(xd[v], element[k], acc[k][kFirst + v]);
  }
  if constexpr (kFirst + kNow < kVectors) MultiplyOne<kFirst + kNow>(x, columns, at, element, acc);
}

template <bool kPrefetches, int kRows, int kVectors>
FOVEA_INLINE void MultiplyPart(const float*& x, size_t columns, size_t dim, const float* (&at)[kRows], const float*,
                               VF (&acc)[kRows][kVectors]) {
  FOVEA_UNROLL_LONG_LOOP(4)
  for (; dim > 0; --dim) {
    VF element[kRows];
    MultiplyOne<0>(x, columns, at, element, acc);
  }
}

// acc[e][v] += p[v] * element[e], v >= kFirst. The elements are those of a value, whose address advances by to_next
// after the last.
template <bool kHides, int kFirst, int kBlock, int kVectors>
FOVEA_INLINE void AddValue(const float*& p, size_t columns, const float*& value, ptrdiff_t to_next,
                           VF (&element)[kBlock], VF (&acc)[kBlock][kVectors]) {
  constexpr int kNow = kNowOf<kFirst, kVectors>;
  VF pj[kNow];
  MF hidden[kNow];
  NextOfRow<kFirst, kVectors>(p, columns, pj);
  FOVEA_EACH(v, kNow) hidden[v] = kHides ? hn::SignMask(pj[v]) : MF();
  FOVEA_EACH(e, kBlock) {
    if (kFirst == 0 && kNow < kVectors) element[e] = hn::NextSpread(value, e + 1 < kBlock ? 1 : to_next);
  }
  FOVEA_EACH(e, kBlock) {
    if (kNow == kVectors) element[e] = e + 1 < kBlock ? NextSpreadElement(value) : hn::NextSpread(value, to_next);
    FOVEA_EACH(v, kNow) {
      VF& sum = acc[e][kFirst + v];
      sum = kHides ? hn::MulAddUnless(hidden[v], pj[v], element[e], sum) : hn::MulAdd(pj[v], element[e], sum);
    }
  }
  if constexpr (kFirst + kNow < kVectors) AddValue<kHides, kFirst + kNow>(p, columns, value, to_next, element, acc);
}

template <bool kHides, int kBlock, int kVectors>
FOVEA_INLINE void AddValues(const float* p, size_t columns, const float* value, ptrdiff_t stride, uint32_t n,
                            VF (&acc)[kBlock][kVectors]) {
  const ptrdiff_t to_next = ptrdiff_t(size_t(stride) - (kBlock - 1));  // with a single key, stride may be anything
  FOVEA_UNROLL_LONG_LOOP(4)
  for (; n > 0; --n) {
    VF element[kBlock];
    AddValue<kHides, 0>(p, columns, value, to_next, element, acc);
  }
}

#endif  // FOVEA_SRC_MATH_BLOCK_NEON32_INL_
