// SPDX-License-Identifier: Apache-2.0
//
// Words that follow from others, for the backend headers whose processors have nothing better. Included at the end of a
// backend header.

#if defined(FOVEA_CLAMP_KEEPS_ZERO)  // ClampMin of zeros of both signs is its first operand
FOVEA_INLINE VF AtLeast(VF a, VF least) { return ClampMin(a, least); }
#else
FOVEA_INLINE VF AtLeast(VF a, VF least) { return IfThenElse(Lt(a, least), least, a); }
#endif
#undef FOVEA_CLAMP_KEEPS_ZERO

#if FOVEA_FOR_SCALAR
FOVEA_INLINE VF ClampMax(VF a, VF most) { return IfThenElse(Lt(most, a), most, a); }
#endif
FOVEA_INLINE VF AddSet(VF a, float b) { return Add(a, Set(kF, b)); }
FOVEA_INLINE VF MulSet(VF a, float b) { return Mul(a, Set(kF, b)); }
FOVEA_INLINE VF MulAddSet(VF a, VF b, float c) { return MulAdd(a, b, Set(kF, c)); }
FOVEA_INLINE VF MulAddScalar(VF a, float b, VF c) { return MulAdd(a, Set(kF, b), c); }

// For several adjacent vectors.
template <size_t n>
FOVEA_INLINE void LoadNext(const float*& p, VF (&v)[n]) {
  FOVEA_EACH(i, n) v[i] = LoadU(kF, p + i * kLanes);
  p += n * kLanes;
}
template <size_t n>
FOVEA_INLINE void StoreNextMulAdd(VF (&v)[n], const float*& b, const float*& c, float*& p) {
  FOVEA_EACH(i, n) {
    StoreU(MulAdd(v[i], LoadU(kF, b + i * kLanes), LoadU(kF, c + i * kLanes)), kF, p + i * kLanes);
  }
  b += n * kLanes, c += n * kLanes, p += n * kLanes;
}

FOVEA_INLINE void LoadTransposed(const float* const (&at)[kLanes], size_t d, size_t n, VF (&v)[kLanes]) {
  if (n == kLanes) {
    FOVEA_EACH(i, kLanes) v[i] = LoadU(kF, at[i] + d);
  } else {
    FOVEA_EACH(i, kLanes) v[i] = LoadN(kF, at[i] + d, n);
  }
  Transpose(v);
}
FOVEA_INLINE void StoreTransposed(VF (&v)[kLanes], float* const (&at)[kLanes], size_t live, size_t d, size_t n) {
  Transpose(v);
  if (n == kLanes && live >= kLanes) {
    FOVEA_EACH(i, kLanes) StoreU(v[i], kF, at[i] + d);
  } else {
    FOVEA_EACH(i, kLanes) {
      if (i < live) StoreN(v[i], kF, at[i] + d, n);
    }
  }
}
