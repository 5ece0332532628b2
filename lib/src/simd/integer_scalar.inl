// SPDX-License-Identifier: Apache-2.0
//
// The words of all-integer attention where a vector is one integer.
#ifndef FOVEA_SRC_SIMD_INTEGER_SCALAR_INL_
#define FOVEA_SRC_SIMD_INTEGER_SCALAR_INL_

namespace whole {

constexpr size_t kLanes = 1;
using V = int32_t;

FOVEA_INLINE V Set(int32_t x) { return x; }
FOVEA_INLINE V Load(const int32_t* p) { return *p; }
FOVEA_INLINE void Store(V v, int32_t* p) { *p = v; }
// Clamps to the range of a signed byte.
FOVEA_INLINE V Saturate(V v) {
#if FOVEA_SMLAD
  asm("ssat %0, #8, %0" : "+r"(v));
  return v;
#else
  return v < -128 ? -128 : v > 127 ? 127 : v;
#endif
}
FOVEA_INLINE void StoreBytes(V v, int8_t* p) { *p = int8_t(v); }
FOVEA_INLINE void StoreSomeBytes(V v, int8_t* p, size_t) { *p = int8_t(v); }
FOVEA_INLINE V Add(V a, V b) { return a + b; }
FOVEA_INLINE V Sub(V a, V b) { return a - b; }
FOVEA_INLINE V Min(V a, V b) { return a < b ? a : b; }
FOVEA_INLINE V Max(V a, V b) { return a > b ? a : b; }
FOVEA_INLINE int32_t LargestLane(V v) { return v; }
FOVEA_INLINE V ShiftLeft(V v, int n) { return V(uint32_t(v) << n); }
// (v + 2^(n - 1)) / 2^n, rounded down.
FOVEA_INLINE V ShiftRight(V v, int n) { return (v + (1 << (n - 1))) >> n; }
// The upper half of v * x.
FOVEA_INLINE V MulHigh(V v, int32_t x) { return V((int64_t(v) * x) >> 32); }
// v * x / 2^31, rounded to the nearest, where |v| < 2^30.
FOVEA_INLINE V MulRound(V v, int32_t x) {
#if FOVEA_SMLAD
  V high;
  asm("smmulr %0, %1, %2" : "=r"(high) : "r"(V(uint32_t(v) * 2)), "r"(x));
  return high;
#else
  return V((int64_t(v) * x + (1 << 30)) >> 31);
#endif
}
FOVEA_INLINE V Lookup(const uint8_t* table, V index) { return table[index]; }

}  // namespace whole

#endif  // FOVEA_SRC_SIMD_INTEGER_SCALAR_INL_
