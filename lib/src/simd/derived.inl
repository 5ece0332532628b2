// SPDX-License-Identifier: Apache-2.0
//
// Words that follow from others, for the pages whose processors have nothing better. Included at the end of a page.

constexpr bool kScalarElems = false;
FOVEA_INLINE Elems NextElems(const float*& p) {
  const Elems e = LoadElems(p);
  p += kElems;
  return e;
}

FOVEA_INLINE VF MulAddSet(VF a, VF b, float c) { return MulAdd(a, b, Set(kF, c)); }

FOVEA_INLINE void LoadTransposed(const float* const (&at)[kLanes], size_t d, size_t n, VF (&v)[kLanes]) {
  if (n == kLanes) {
    FOVEA_UNROLL(16)
    for (size_t i = 0; i < kLanes; ++i) v[i] = LoadU(kF, at[i] + d);
  } else {
    FOVEA_UNROLL(16)
    for (size_t i = 0; i < kLanes; ++i) v[i] = LoadN(kF, at[i] + d, n);
  }
  Transpose(v);
}
FOVEA_INLINE void StoreTransposed(VF (&v)[kLanes], float* const (&at)[kLanes], size_t live, size_t d, size_t n) {
  Transpose(v);
  if (n == kLanes && live >= kLanes) {
    FOVEA_UNROLL(16)
    for (size_t i = 0; i < kLanes; ++i) StoreU(v[i], kF, at[i] + d);
  } else {
    FOVEA_UNROLL(16)
    for (size_t i = 0; i < kLanes; ++i) {
      if (i < live) StoreN(v[i], kF, at[i] + d, n);
    }
  }
}
