// SPDX-License-Identifier: Apache-2.0
//
// The words that x86 libraries lack or define inexactly, on raw vectors of FOVEA_X86_LANES floats. Included by the
// Highway and xsimd pages inside their namespace hn.

namespace raw {

#if FOVEA_X86_LANES == 16

using V = __m512;

FOVEA_INLINE V LoadN(const float* p, size_t n) { return _mm512_maskz_loadu_ps(__mmask16((1u << n) - 1u), p); }
FOVEA_INLINE void StoreN(V v, float* p, size_t n) { _mm512_mask_storeu_ps(p, __mmask16((1u << n) - 1u), v); }
FOVEA_INLINE V UnpackLo32(V a, V b) { return _mm512_unpacklo_ps(a, b); }
FOVEA_INLINE V UnpackHi32(V a, V b) { return _mm512_unpackhi_ps(a, b); }
FOVEA_INLINE V UnpackLo64(V a, V b) {
  return _mm512_castpd_ps(_mm512_unpacklo_pd(_mm512_castps_pd(a), _mm512_castps_pd(b)));
}
FOVEA_INLINE V UnpackHi64(V a, V b) {
  return _mm512_castpd_ps(_mm512_unpackhi_pd(_mm512_castps_pd(a), _mm512_castps_pd(b)));
}
// n bytes, each in a 32-bit lane; the other lanes 0.
FOVEA_INLINE __m512i LoadU8N(const uint8_t* p, size_t n) {
  return _mm512_cvtepu8_epi32(_mm_maskz_loadu_epi8(__mmask16((1u << n) - 1u), p));
}

// Column c of block b of rows 4g..4g+3 stands in v[4g + c], block b: bring the blocks of a column together.
FOVEA_INLINE void TransposeBlocks(V (&v)[16]) {
  FOVEA_UNROLL(4)
  for (int c = 0; c < 4; ++c) {
    const V even01 = _mm512_shuffle_f32x4(v[c], v[4 + c], 0x88),
            even23 = _mm512_shuffle_f32x4(v[8 + c], v[12 + c], 0x88);
    const V odd01 = _mm512_shuffle_f32x4(v[c], v[4 + c], 0xdd), odd23 = _mm512_shuffle_f32x4(v[8 + c], v[12 + c], 0xdd);
    v[c] = _mm512_shuffle_f32x4(even01, even23, 0x88);
    v[4 + c] = _mm512_shuffle_f32x4(odd01, odd23, 0x88);
    v[8 + c] = _mm512_shuffle_f32x4(even01, even23, 0xdd);
    v[12 + c] = _mm512_shuffle_f32x4(odd01, odd23, 0xdd);
  }
}

template <int k>
FOVEA_INLINE V SwapLanes(V v) {
  if constexpr (k == 1) return _mm512_permute_ps(v, 0xb1);
  if constexpr (k == 2) return _mm512_permute_ps(v, 0x4e);
  if constexpr (k == 4) return _mm512_shuffle_f32x4(v, v, 0xb1);
  if constexpr (k == 8) return _mm512_shuffle_f32x4(v, v, 0x4e);
}
FOVEA_INLINE V Sum(V a, V b) { return _mm512_add_ps(a, b); }
// v[i] holds, in each block, the sums of four vectors over that block: add the blocks.
FOVEA_INLINE V SumBlocks(const V (&v)[4]) {
  const V v01 = Sum(_mm512_shuffle_f32x4(v[0], v[1], 0x88), _mm512_shuffle_f32x4(v[0], v[1], 0xdd));
  const V v23 = Sum(_mm512_shuffle_f32x4(v[2], v[3], 0x88), _mm512_shuffle_f32x4(v[2], v[3], 0xdd));
  return Sum(_mm512_shuffle_f32x4(v01, v23, 0x88), _mm512_shuffle_f32x4(v01, v23, 0xdd));
}

#elif FOVEA_X86_LANES == 8

using V = __m256;

FOVEA_INLINE __m256i FirstN(size_t n) {
  return _mm256_cmpgt_epi32(_mm256_set1_epi32(int(n)), _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7));
}
FOVEA_INLINE V LoadN(const float* p, size_t n) { return _mm256_maskload_ps(p, FirstN(n)); }
FOVEA_INLINE void StoreN(V v, float* p, size_t n) { _mm256_maskstore_ps(p, FirstN(n), v); }
FOVEA_INLINE V UnpackLo32(V a, V b) { return _mm256_unpacklo_ps(a, b); }
FOVEA_INLINE V UnpackHi32(V a, V b) { return _mm256_unpackhi_ps(a, b); }
FOVEA_INLINE V UnpackLo64(V a, V b) {
  return _mm256_castpd_ps(_mm256_unpacklo_pd(_mm256_castps_pd(a), _mm256_castps_pd(b)));
}
FOVEA_INLINE V UnpackHi64(V a, V b) {
  return _mm256_castpd_ps(_mm256_unpackhi_pd(_mm256_castps_pd(a), _mm256_castps_pd(b)));
}
FOVEA_INLINE __m256i LoadU8N(const uint8_t* p, size_t n) {
  uint64_t bytes = 0;
  __builtin_memcpy(&bytes, p, n);
  return _mm256_cvtepu8_epi32(_mm_cvtsi64_si128(int64_t(bytes)));
}

FOVEA_INLINE void TransposeBlocks(V (&v)[8]) {
  FOVEA_UNROLL(4)
  for (int c = 0; c < 4; ++c) {
    const V lo = _mm256_permute2f128_ps(v[c], v[4 + c], 0x20), hi = _mm256_permute2f128_ps(v[c], v[4 + c], 0x31);
    v[c] = lo;
    v[4 + c] = hi;
  }
}

template <int k>
FOVEA_INLINE V SwapLanes(V v) {
  if constexpr (k == 1) return _mm256_permute_ps(v, 0xb1);
  if constexpr (k == 2) return _mm256_permute_ps(v, 0x4e);
  if constexpr (k == 4) return _mm256_permute2f128_ps(v, v, 0x01);
}
FOVEA_INLINE V Sum(V a, V b) { return _mm256_add_ps(a, b); }
FOVEA_INLINE V SumBlocks(const V (&v)[2]) {
  return Sum(_mm256_permute2f128_ps(v[0], v[1], 0x20), _mm256_permute2f128_ps(v[0], v[1], 0x31));
}

#elif FOVEA_X86_LANES == 4

using V = __m128;

FOVEA_INLINE V LoadTwo(const float* p) {
  double two;
  __builtin_memcpy(&two, p, 8);
  return _mm_castpd_ps(_mm_set_sd(two));
}
FOVEA_INLINE V LoadN(const float* p, size_t n) {
  switch (n) {
    case 0: return _mm_setzero_ps();
    case 1: return _mm_load_ss(p);
    case 2: return LoadTwo(p);
    case 3: return _mm_insert_ps(LoadTwo(p), _mm_load_ss(p + 2), 0x20);
    default: return _mm_loadu_ps(p);
  }
}
FOVEA_INLINE void StoreN(V v, float* p, size_t n) {
  switch (n) {
    case 0: return;
    case 1: _mm_store_ss(p, v); return;
    case 3: _mm_store_ss(p + 2, _mm_movehl_ps(v, v)); [[fallthrough]];
    case 2: _mm_storel_epi64(reinterpret_cast<__m128i*>(p), _mm_castps_si128(v)); return;
    default: _mm_storeu_ps(p, v); return;
  }
}
FOVEA_INLINE V UnpackLo32(V a, V b) { return _mm_unpacklo_ps(a, b); }
FOVEA_INLINE V UnpackHi32(V a, V b) { return _mm_unpackhi_ps(a, b); }
FOVEA_INLINE V UnpackLo64(V a, V b) { return _mm_movelh_ps(a, b); }
FOVEA_INLINE V UnpackHi64(V a, V b) { return _mm_movehl_ps(b, a); }
FOVEA_INLINE __m128i LoadU8N(const uint8_t* p, size_t n) {
  uint32_t bytes = 0;
  __builtin_memcpy(&bytes, p, n);
  return _mm_cvtepu8_epi32(_mm_cvtsi32_si128(int32_t(bytes)));
}

FOVEA_INLINE void TransposeBlocks(V (&)[4]) {}

template <int k>
FOVEA_INLINE V SwapLanes(V v) {
  if constexpr (k == 1) return _mm_shuffle_ps(v, v, 0xb1);
  if constexpr (k == 2) return _mm_shuffle_ps(v, v, 0x4e);
}
FOVEA_INLINE V Sum(V a, V b) { return _mm_add_ps(a, b); }
FOVEA_INLINE V SumBlocks(const V (&v)[1]) { return v[0]; }

#endif

FOVEA_INLINE void Transpose(V (&v)[FOVEA_X86_LANES]) {
  FOVEA_UNROLL(4)
  for (int g = 0; g < FOVEA_X86_LANES; g += 4) {
    const V lo01 = UnpackLo32(v[g], v[g + 1]), hi01 = UnpackHi32(v[g], v[g + 1]);
    const V lo23 = UnpackLo32(v[g + 2], v[g + 3]), hi23 = UnpackHi32(v[g + 2], v[g + 3]);
    v[g] = UnpackLo64(lo01, lo23);
    v[g + 1] = UnpackHi64(lo01, lo23);
    v[g + 2] = UnpackLo64(hi01, hi23);
    v[g + 3] = UnpackHi64(hi01, hi23);
  }
  TransposeBlocks(v);
}

// Lane i of the result is the sum of the lanes of v[i].
FOVEA_INLINE V SumsOfLanes(const V (&v)[FOVEA_X86_LANES]) {
  V blocks[FOVEA_X86_LANES / 4];
  FOVEA_UNROLL(4)
  for (int g = 0; g < FOVEA_X86_LANES; g += 4) {
    const V v01 = Sum(UnpackLo32(v[g], v[g + 1]), UnpackHi32(v[g], v[g + 1]));
    const V v23 = Sum(UnpackLo32(v[g + 2], v[g + 3]), UnpackHi32(v[g + 2], v[g + 3]));
    blocks[g / 4] = Sum(UnpackLo64(v01, v23), UnpackHi64(v01, v23));
  }
  return SumBlocks(blocks);
}

}  // namespace raw
