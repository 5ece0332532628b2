// SPDX-License-Identifier: Apache-2.0
#include <immintrin.h>

#include <cstring>
#include <initializer_list>

#include "bench/probes/kernels.h"

namespace fovea::bench {
namespace {

// Sixteen loads a round are ORed into eight registers: an OR takes one cycle on any of several pipes. The empty
// assembly fixes the order of the loads, and keeps each result in a register.
#define FOVEA_READ_LOOP(Vector, kRegister, zero, load, join)                        \
  const Vector* p = static_cast<const Vector*>(data);                               \
  Vector a = zero, b = a, c = a, d = a, e = a, f = a, g = a, h = a;                 \
  for (const Vector* end = p + bytes / sizeof *p; p != end; p += 16) {              \
    for (int half = 0; half < 16; half += 8) {                                      \
      const Vector* q = p + half;                                                   \
      a = join(a, load(q)), b = join(b, load(q + 1)), c = join(c, load(q + 2));     \
      __asm__ volatile("" : kRegister(a), kRegister(b), kRegister(c));              \
      d = join(d, load(q + 3)), e = join(e, load(q + 4)), f = join(f, load(q + 5)); \
      __asm__ volatile("" : kRegister(d), kRegister(e), kRegister(f));              \
      g = join(g, load(q + 6)), h = join(h, load(q + 7));                           \
      __asm__ volatile("" : kRegister(g), kRegister(h));                            \
    }                                                                               \
  }                                                                                 \
  a = join(join(join(a, b), join(c, d)), join(join(e, f), join(g, h)));             \
  alignas(sizeof a) uint64_t words[sizeof a / sizeof(uint64_t)];                    \
  std::memcpy(words, &a, sizeof a);                                                 \
  uint64_t all = 0;                                                                 \
  for (const uint64_t word : words) all |= word;                                    \
  return all

__attribute__((target("avx512f"))) uint64_t read_avx512(const void* data, size_t bytes) {
  FOVEA_READ_LOOP(__m512i, "+v", _mm512_setzero_si512(), _mm512_load_si512, _mm512_or_si512);
}

__attribute__((target("avx2"))) uint64_t read_avx2(const void* data, size_t bytes) {
  FOVEA_READ_LOOP(__m256i, "+x", _mm256_setzero_si256(), _mm256_load_si256, _mm256_or_si256);
}

uint64_t read_sse2(const void* data, size_t bytes) {
  FOVEA_READ_LOOP(__m128i, "+x", _mm_setzero_si128(), _mm_load_si128, _mm_or_si128);
}

#undef FOVEA_READ_LOOP

__attribute__((target("avx512f"))) void exp_avx512(float* out, const float* in, size_t count) {
  for (size_t i = 0; i < count; i += 64) {
    for (size_t j = i; j < i + 64; j += 16) {
      const __m512 x = _mm512_max_ps(_mm512_loadu_ps(in + j), _mm512_set1_ps(kExpFloor));
      const __m512 n =
          _mm512_roundscale_ps(_mm512_mul_ps(x, _mm512_set1_ps(kLog2E)), _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC);
      __m512 r = _mm512_fnmadd_ps(n, _mm512_set1_ps(kLn2High), x);
      r = _mm512_fnmadd_ps(n, _mm512_set1_ps(kLn2Low), r);
      __m512 y = _mm512_set1_ps(kExpTerms[6]);
      for (int k = 5; k >= 0; --k) y = _mm512_fmadd_ps(y, r, _mm512_set1_ps(kExpTerms[k]));
      _mm512_storeu_ps(out + j, _mm512_scalef_ps(y, n));
    }
  }
}

__attribute__((target("avx2,fma"))) void exp_avx2(float* out, const float* in, size_t count) {
  for (size_t i = 0; i < count; i += 32) {
    for (size_t j = i; j < i + 32; j += 8) {
      const __m256 x = _mm256_max_ps(_mm256_loadu_ps(in + j), _mm256_set1_ps(kExpFloor));
      const __m256 n =
          _mm256_round_ps(_mm256_mul_ps(x, _mm256_set1_ps(kLog2E)), _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC);
      __m256 r = _mm256_fnmadd_ps(n, _mm256_set1_ps(kLn2High), x);
      r = _mm256_fnmadd_ps(n, _mm256_set1_ps(kLn2Low), r);
      __m256 y = _mm256_set1_ps(kExpTerms[6]);
      for (int k = 5; k >= 0; --k) y = _mm256_fmadd_ps(y, r, _mm256_set1_ps(kExpTerms[k]));
      const __m256i power = _mm256_slli_epi32(_mm256_cvtps_epi32(n), 23);
      _mm256_storeu_ps(out + j, _mm256_castsi256_ps(_mm256_add_epi32(_mm256_castps_si256(y), power)));
    }
  }
}

// SSE2 is enough: conversion to int rounds as SSE4's roundps does.
void exp_sse(float* out, const float* in, size_t count) {
  for (size_t i = 0; i < count; i += 16) {
    for (size_t j = i; j < i + 16; j += 4) {
      const __m128 x = _mm_max_ps(_mm_loadu_ps(in + j), _mm_set1_ps(kExpFloor));
      const __m128i whole = _mm_cvtps_epi32(_mm_mul_ps(x, _mm_set1_ps(kLog2E)));
      const __m128 n = _mm_cvtepi32_ps(whole);
      __m128 r = _mm_sub_ps(x, _mm_mul_ps(n, _mm_set1_ps(kLn2High)));
      r = _mm_sub_ps(r, _mm_mul_ps(n, _mm_set1_ps(kLn2Low)));
      __m128 y = _mm_set1_ps(kExpTerms[6]);
      for (int k = 5; k >= 0; --k) y = _mm_add_ps(_mm_mul_ps(y, r), _mm_set1_ps(kExpTerms[k]));
      const __m128i bits = _mm_add_epi32(_mm_castps_si128(y), _mm_slli_epi32(whole, 23));
      _mm_storeu_ps(out + j, _mm_castsi128_ps(bits));
    }
  }
}

__attribute__((target("avx512f,avx512vnni"))) float chains_avx512_vnni(uint64_t rounds, float seed) {
  const __m512i x = _mm512_set1_epi8(static_cast<char>(seed));
  __m512i a[16];
  for (int i = 0; i < 16; ++i) a[i] = _mm512_set1_epi32(i);
  for (; rounds; --rounds) {
    for (int i = 0; i < 16; ++i) a[i] = _mm512_dpbusd_epi32(a[i], x, x);
  }
  for (int i = 1; i < 16; ++i) a[0] = _mm512_add_epi32(a[0], a[i]);
  return static_cast<float>(_mm512_cvtsi512_si32(a[0]));
}

// Sums are named variables, four at a time: g++ 12 would copy an array. The empty assembly keeps each in a register.
#define FOVEA_DOT_FOUR(a, b, c, d)                                            \
  a = _mm256_dpbusd_avx_epi32(a, x, x), b = _mm256_dpbusd_avx_epi32(b, x, x); \
  c = _mm256_dpbusd_avx_epi32(c, x, x), d = _mm256_dpbusd_avx_epi32(d, x, x); \
  __asm__("" : "+x"(a), "+x"(b), "+x"(c), "+x"(d))
__attribute__((target("avx2,avxvnni"))) float chains_avx2_vnni(uint64_t rounds, float seed) {
  const __m256i x = _mm256_set1_epi8(static_cast<char>(seed));
  __m256i a = x, b = x, c = x, d = x, e = x, f = x, g = x, h = x, i = x, j = x, k = x, l = x;
  for (; rounds; --rounds) {
    FOVEA_DOT_FOUR(a, b, c, d);
    FOVEA_DOT_FOUR(e, f, g, h);
    FOVEA_DOT_FOUR(i, j, k, l);
  }
  __m256i all = a;
  for (const __m256i sum : {b, c, d, e, f, g, h, i, j, k, l}) all = _mm256_add_epi32(all, sum);
  return static_cast<float>(_mm256_cvtsi256_si32(all));
}
#undef FOVEA_DOT_FOUR

}  // namespace

uint64_t read_all(const void* data, size_t bytes) {
  if (__builtin_cpu_supports("avx512f")) return read_avx512(data, bytes);
  if (__builtin_cpu_supports("avx2")) return read_avx2(data, bytes);
  return read_sse2(data, bytes);
}

IntegerLoop integer_loop(fovea_target target) {
  if (target == FOVEA_TARGET_AVX512_VNNI) return {chains_avx512_vnni, 16 * 64 * 2};
  if (target == FOVEA_TARGET_AVX2_VNNI) return {chains_avx2_vnni, 12 * 32 * 2};
  return {};
}

ExpLoop exp_loop(fovea_target target) {
  switch (target) {
    case FOVEA_TARGET_AVX512: return exp_avx512;
    case FOVEA_TARGET_AVX2: return exp_avx2;
    case FOVEA_TARGET_SSE4: return exp_sse;
    default: return nullptr;
  }
}

}  // namespace fovea::bench
