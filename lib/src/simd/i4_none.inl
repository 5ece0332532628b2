// SPDX-License-Identifier: Apache-2.0
//
// For dot headers that have no words of their own for rows of i4: these are never called.

constexpr bool kWidensI4 = false;
template <bool>
FOVEA_INLINE void LargestOfI4(const uint8_t*, ptrdiff_t, const uint16_t*, ptrdiff_t, size_t, float*, float*) {}
template <bool>
FOVEA_INLINE void CodesOfI4(const uint8_t*, ptrdiff_t, const uint16_t*, ptrdiff_t, size_t, const float*, uint8_t*,
                            size_t) {}
