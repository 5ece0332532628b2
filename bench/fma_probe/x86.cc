// SPDX-License-Identifier: Apache-2.0
//
// Each chain is a = a / 2 + 1: it stays near 2, so nothing overflows or is subnormal. The chains begin with different
// numbers, or the compiler would merge them. At -O3 the inner loops are unrolled, and the arrays are in registers.
// A core that starts two multiply-adds a cycle, with a latency of four or five, needs 8 to 10 chains. There are as many
// more as the registers allow (32 with AVX-512, else 16).
#include <immintrin.h>

#include "bench/fma_probe/fma_probe.h"
#include "bench/fma_probe/measure.h"

namespace fovea::bench {
namespace {

__attribute__((target("avx512f"))) float chains_avx512(uint64_t rounds, float seed) {
  const __m512 x = _mm512_set1_ps(seed * 0.5f), y = _mm512_set1_ps(seed);
  __m512 a[16];
  for (int i = 0; i < 16; ++i) a[i] = _mm512_set1_ps(seed + static_cast<float>(i));
  for (; rounds; --rounds) {
    for (int i = 0; i < 16; ++i) a[i] = _mm512_fmadd_ps(a[i], x, y);
  }
  for (int i = 1; i < 16; ++i) a[0] = _mm512_add_ps(a[0], a[i]);
  return _mm512_cvtss_f32(a[0]);
}

__attribute__((target("avx2,fma"))) float chains_avx2(uint64_t rounds, float seed) {
  const __m256 x = _mm256_set1_ps(seed * 0.5f), y = _mm256_set1_ps(seed);
  __m256 a[12];
  for (int i = 0; i < 12; ++i) a[i] = _mm256_set1_ps(seed + static_cast<float>(i));
  for (; rounds; --rounds) {
    for (int i = 0; i < 12; ++i) a[i] = _mm256_fmadd_ps(a[i], x, y);
  }
  for (int i = 1; i < 12; ++i) a[0] = _mm256_add_ps(a[0], a[i]);
  return _mm256_cvtss_f32(a[0]);
}

float chains_sse(uint64_t rounds, float seed) {
  const __m128 x = _mm_set1_ps(seed * 0.5f), y = _mm_set1_ps(seed);
  __m128 a[12];
  for (int i = 0; i < 12; ++i) a[i] = _mm_set1_ps(seed + static_cast<float>(i));
  for (; rounds; --rounds) {
    for (int i = 0; i < 12; ++i) a[i] = _mm_add_ps(_mm_mul_ps(a[i], x), y);
  }
  for (int i = 1; i < 12; ++i) a[0] = _mm_add_ps(a[0], a[i]);
  return _mm_cvtss_f32(a[0]);
}

float mul_add(float a, float x, float y) {
#ifdef __FP_FAST_FMAF  // if the compiler may use FMA for float, the scalar target uses it
  return __builtin_fmaf(a, x, y);
#else
  return a * x + y;
#endif
}

float chains_scalar(uint64_t rounds, float seed) {
  const float x = seed * 0.5f, y = seed;
  float a0 = y, a1 = y + 1, a2 = y + 2, a3 = y + 3, a4 = y + 4, a5 = y + 5;
  float a6 = y + 6, a7 = y + 7, a8 = y + 8, a9 = y + 9, a10 = y + 10, a11 = y + 11;
  for (; rounds; --rounds) {
    a0 = mul_add(a0, x, y), a1 = mul_add(a1, x, y), a2 = mul_add(a2, x, y), a3 = mul_add(a3, x, y);
    a4 = mul_add(a4, x, y), a5 = mul_add(a5, x, y), a6 = mul_add(a6, x, y), a7 = mul_add(a7, x, y);
    a8 = mul_add(a8, x, y), a9 = mul_add(a9, x, y), a10 = mul_add(a10, x, y), a11 = mul_add(a11, x, y);
    // No instruction, but it requires twelve registers: otherwise compilers vectorise the chains.
    __asm__("" : "+x"(a0), "+x"(a1), "+x"(a2), "+x"(a3), "+x"(a4), "+x"(a5));
    __asm__("" : "+x"(a6), "+x"(a7), "+x"(a8), "+x"(a9), "+x"(a10), "+x"(a11));
  }
  return a0 + a1 + a2 + a3 + a4 + a5 + a6 + a7 + a8 + a9 + a10 + a11;
}

}  // namespace

double fma_peak_gflops(fovea_target target, Clock clock_ns) {
  switch (target) {  // chains * lanes * 2
    case FOVEA_TARGET_AVX512: return median_gflops(chains_avx512, 16 * 16 * 2, clock_ns);
    case FOVEA_TARGET_AVX2: return median_gflops(chains_avx2, 12 * 8 * 2, clock_ns);
    case FOVEA_TARGET_SSE4: return median_gflops(chains_sse, 12 * 4 * 2, clock_ns);
    case FOVEA_TARGET_SCALAR: return median_gflops(chains_scalar, 12 * 1 * 2, clock_ns);
    default: return 0.0;
  }
}

}  // namespace fovea::bench
