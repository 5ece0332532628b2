// SPDX-License-Identifier: Apache-2.0
//
// The words of all-integer attention for Helium.
#ifndef FOVEA_SRC_SIMD_INTEGER_HELIUM_INL_
#define FOVEA_SRC_SIMD_INTEGER_HELIUM_INL_

namespace whole {

constexpr size_t kLanes = 4;
using V = int32x4_t;

FOVEA_INLINE V Set(int32_t x) { return vdupq_n_s32(x); }
FOVEA_INLINE V Load(const int32_t* p) { return hn::LoadU(kI, p); }
FOVEA_INLINE void Store(V v, int32_t* p) { *reinterpret_cast<hn::VIInMemory*>(p) = v; }
// Clamps to the range of a signed byte.
FOVEA_INLINE V Saturate(V v) { return vmaxq_s32(vminq_s32(v, vdupq_n_s32(127)), vdupq_n_s32(-128)); }
FOVEA_INLINE void StoreBytes(V v, int8_t* p) { vstrbq_s32(p, v); }
FOVEA_INLINE void StoreSomeBytes(V v, int8_t* p, size_t n) { vstrbq_p_s32(p, v, vctp32q(uint32_t(n))); }
FOVEA_INLINE V Add(V a, V b) { return vaddq_s32(a, b); }
FOVEA_INLINE V Sub(V a, V b) { return vsubq_s32(a, b); }
FOVEA_INLINE V Min(V a, V b) { return vminq_s32(a, b); }
FOVEA_INLINE V Max(V a, V b) { return vmaxq_s32(a, b); }
FOVEA_INLINE int32_t LargestLane(V v) { return vmaxvq_s32(INT32_MIN, v); }
FOVEA_INLINE V ShiftLeft(V v, int n) { return vshlq_r_s32(v, n); }
// (v + 2^(n - 1)) / 2^n, rounded down.
FOVEA_INLINE V ShiftRight(V v, int n) { return vrshlq_n_s32(v, -n); }
// The upper half of v * x.
FOVEA_INLINE V MulHigh(V v, int32_t x) { return vmulhq_s32(v, vdupq_n_s32(x)); }
// v * x / 2^31, rounded to the nearest, where |v| < 2^30.
FOVEA_INLINE V MulRound(V v, int32_t x) { return vqrdmulhq_n_s32(v, x); }
FOVEA_INLINE V Lookup(const uint8_t* table, V index) {
  return vreinterpretq_s32_u32(vldrbq_gather_offset_u32(table, vreinterpretq_u32_s32(index)));
}

// *p = a and p[kDistance] = b; then the pointer advances past a.
template <int kDistance>
FOVEA_INLINE void StoreTwoNext(int32_t a, int32_t b, int32_t*& p) {
  p[kDistance] = b;
  asm("str %2, [%1], #4" : "=m"(*p), "+r"(p) : "r"(a));
}
// The pointer advances past the byte.
FOVEA_INLINE int32_t NextByte(const int8_t*& p) {
  int32_t byte;
  asm("ldrsb %0, [%1], #1" : "=r"(byte), "+r"(p) : "m"(*p));
  return byte;
}
FOVEA_INLINE int32_t AddAll(int8x16_t bytes, int32_t sum) { return vaddvaq_s8(sum, bytes); }

}  // namespace whole

#endif  // FOVEA_SRC_SIMD_INTEGER_HELIUM_INL_
