// SPDX-License-Identifier: Apache-2.0
//
// Words of the few-rows kernel for dot headers that have nothing better.

// In the lanes of each row p[0], p[1] and so on.
template <int kHave>
FOVEA_INLINE VF Repeated(VF v) {
  if constexpr (kHave == int(kLanes)) {
    return v;
  } else {
    return Repeated<2 * kHave>(hn::Add(v, hn::SwapLanes<kHave>(v)));
  }
}
template <int kRows>
FOVEA_INLINE VF LoadForEachRow(const float* p) {
  return Repeated<int(kLanes) / kRows>(hn::LoadN(kF, p, kLanes / kRows));
}

// Rows of i4 become rows of i8 in the kernel's own loop.
constexpr bool kWidensI4 = false;
template <bool>
FOVEA_INLINE void LargestOfI4(const uint8_t*, ptrdiff_t, const uint16_t*, ptrdiff_t, size_t, float*, float*) {}
template <bool>
FOVEA_INLINE void CodesOfI4(const uint8_t*, ptrdiff_t, const uint16_t*, ptrdiff_t, size_t, const float*, uint8_t*,
                            size_t) {}
