// SPDX-License-Identifier: Apache-2.0
//
// What ground/simd/half_avx512.inl needs of AVX512-FP16, computed by other instructions: -include tests/support/avx512_fp16.h
// builds the library and its tests with that text for processors with AVX-512 that lack the extension.
#pragma once
#include <immintrin.h>

#define __AVX512FP16__ 1

#if defined(__cplusplus)
#include <cstdint>
#include <cstring>

namespace avx512_fp16 {

inline float number_of(uint16_t half) { return _mm_cvtss_f32(_mm_cvtph_ps(_mm_cvtsi32_si128(half))); }

// x e + sum, rounded once to a half. In double the product is exact; the sum is rounded to odd: a sum that is not exact
// becomes the neighbour whose last bit is 1, so that the second rounding sees on which side of a tie it was.
inline uint16_t multiply_add(uint16_t x, uint16_t e, uint16_t addend) {
  const double product = double{number_of(x)} * double{number_of(e)}, sum = product + double{number_of(addend)};
  const double part = sum - product;
  const double error = (product - (sum - part)) + (double{number_of(addend)} - part);
  uint64_t bits;
  std::memcpy(&bits, &sum, sizeof bits);
  if (error == error && error != 0 && bits % 2 == 0) bits += (error < 0) == (sum < 0) ? 1 : ~uint64_t{0};
  double odd;
  std::memcpy(&odd, &bits, sizeof odd);
  // The same once more, to a float: it has more than twice the digits of a half and its exponents.
  float single = static_cast<float>(odd);
  uint32_t places;
  std::memcpy(&places, &single, sizeof places);
  const double rest = odd - double{single};
  if (rest == rest && rest != 0 && places % 2 == 0) places += (rest < 0) == (odd < 0) ? 1 : ~uint32_t{0};
  std::memcpy(&single, &places, sizeof single);
  return static_cast<uint16_t>(_mm_cvtsi128_si32(_mm_cvtps_ph(_mm_set_ss(single), _MM_FROUND_TO_NEAREST_INT)));
}

inline __m512i multiply_add(__m512i x, __m512i e, __m512i sum, __mmask32 wanted) {
  alignas(64) uint16_t of_x[32], of_e[32], sums[32];
  _mm512_store_si512(of_x, x), _mm512_store_si512(of_e, e), _mm512_store_si512(sums, sum);
  for (int i = 0; i < 32; ++i) {
    if ((wanted >> i & 1) != 0) sums[i] = multiply_add(of_x[i], of_e[i], sums[i]);
  }
  return _mm512_load_si512(sums);
}

}  // namespace avx512_fp16

#define _mm512_castsi512_ph(v) (v)
#define _mm512_castph_si512(v) (v)
#define _mm512_fmadd_ph(x, e, sum) ::avx512_fp16::multiply_add(x, e, sum, ~__mmask32{0})
#define _mm512_mask3_fmadd_ph(x, e, sum, wanted) ::avx512_fp16::multiply_add(x, e, sum, wanted)

#endif
