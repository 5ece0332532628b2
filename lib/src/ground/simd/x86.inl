// SPDX-License-Identifier: Apache-2.0
//
// The words that x86 libraries lack or define inexactly, on raw vectors of FOVEA_X86_LANES floats. Included by the
// Highway and xsimd backend headers inside their namespace hn, after Raw(), which returns the raw vector of VF or VI.

// FOVEA_MM(add_ps) is the intrinsic for whole vectors; so is FOVEA_MM_SI(xor), of those that end with a register's bits.
#undef FOVEA_MM
#undef FOVEA_MM_SI
#if FOVEA_X86_LANES == 16
#define FOVEA_MM(name) _mm512_##name
#define FOVEA_MM_SI(name) _mm512_##name##_si512
#elif FOVEA_X86_LANES == 8
#define FOVEA_MM(name) _mm256_##name
#define FOVEA_MM_SI(name) _mm256_##name##_si256
#else
#define FOVEA_MM(name) _mm_##name
#define FOVEA_MM_SI(name) _mm_##name##_si128
#endif

namespace raw {

#define FOVEA_CLAMP_KEEPS_ZERO 1
#if FOVEA_X86_LANES > 4
#define FOVEA_HAS_F16 1
#else
#define FOVEA_HAS_F16 0
#endif

// Halves and bytes of as many lanes are in the low part of their registers.
#if FOVEA_X86_LANES == 16
using V = __m512;
using I = __m512i;
using Halves = __m256i;
#elif FOVEA_X86_LANES == 8
using V = __m256;
using I = __m256i;
using Halves = __m128i;
#else
using V = __m128;
using I = __m128i;
using Halves = __m128i;
#endif
using Bytes = __m128i;

FOVEA_INLINE V Floats(I v) { return (V)v; }
FOVEA_INLINE I Ints(V v) { return (I)v; }
FOVEA_INLINE I LoadInts(const void* p) { return FOVEA_MM_SI(loadu)(static_cast<const I*>(p)); }
FOVEA_INLINE void StoreInts(I v, void* p) { FOVEA_MM_SI(storeu)(static_cast<I*>(p), v); }
FOVEA_INLINE V Sum(V a, V b) { return FOVEA_MM(add_ps)(a, b); }
FOVEA_INLINE V UnpackLo32(V a, V b) { return FOVEA_MM(unpacklo_ps)(a, b); }
FOVEA_INLINE V UnpackHi32(V a, V b) { return FOVEA_MM(unpackhi_ps)(a, b); }
FOVEA_INLINE V UnpackLo64(V a, V b) {
  return FOVEA_MM(castpd_ps)(FOVEA_MM(unpacklo_pd)(FOVEA_MM(castps_pd)(a), FOVEA_MM(castps_pd)(b)));
}
FOVEA_INLINE V UnpackHi64(V a, V b) {
  return FOVEA_MM(castpd_ps)(FOVEA_MM(unpackhi_pd)(FOVEA_MM(castps_pd)(a), FOVEA_MM(castps_pd)(b)));
}
FOVEA_INLINE I WidenU16(Halves v) { return FOVEA_MM(cvtepu16_epi32)(v); }
FOVEA_INLINE I WidenU8(Bytes v) { return FOVEA_MM(cvtepu8_epi32)(v); }
FOVEA_INLINE I WidenI8(Bytes v) { return FOVEA_MM(cvtepi8_epi32)(v); }
#if FOVEA_HAS_F16
FOVEA_INLINE V WidenF16(Halves v) { return FOVEA_MM(cvtph_ps)(v); }
FOVEA_INLINE Halves NarrowF16(V v) { return FOVEA_MM(cvtps_ph)(v, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC); }
#endif

// ---- blocks of four lanes
FOVEA_INLINE I LookUp(I table, I at) { return FOVEA_MM(shuffle_epi8)(table, at); }
FOVEA_INLINE I MaxU8(I a, I b) { return FOVEA_MM(max_epu8)(a, b); }
FOVEA_INLINE I SubU8(I a, I b) { return FOVEA_MM(sub_epi8)(a, b); }
FOVEA_INLINE I AbsI8(I v) { return FOVEA_MM(abs_epi8)(v); }
template <int i>
FOVEA_INLINE V SpreadLane(V v) {
  return FOVEA_MM(shuffle_ps)(v, v, 0x55 * i);
}
// Four vectors rounded to bytes: those of a 128-bit block are together.
FOVEA_INLINE I NearestBlocks(V a, V b, V c, V d) {
  const I ab = FOVEA_MM(packs_epi32)(FOVEA_MM(cvtps_epi32)(a), FOVEA_MM(cvtps_epi32)(b));
  const I cd = FOVEA_MM(packs_epi32)(FOVEA_MM(cvtps_epi32)(c), FOVEA_MM(cvtps_epi32)(d));
  return FOVEA_MM(packs_epi16)(ab, cd);
}

// ---- what differs
#if FOVEA_X86_LANES == 16

FOVEA_INLINE V LoadN(const float* p, size_t n) { return _mm512_maskz_loadu_ps(__mmask16((1u << n) - 1u), p); }
FOVEA_INLINE void StoreN(V v, float* p, size_t n) { _mm512_mask_storeu_ps(p, __mmask16((1u << n) - 1u), v); }
FOVEA_INLINE void LoadPairs(const float* p, V& a, V& b) {
  const V lo = _mm512_loadu_ps(p), hi = _mm512_loadu_ps(p + 16);
  const __m512i even = _mm512_setr_epi32(0, 2, 4, 6, 8, 10, 12, 14, 16, 18, 20, 22, 24, 26, 28, 30);
  const __m512i odd = _mm512_setr_epi32(1, 3, 5, 7, 9, 11, 13, 15, 17, 19, 21, 23, 25, 27, 29, 31);
  a = _mm512_permutex2var_ps(lo, even, hi);
  b = _mm512_permutex2var_ps(lo, odd, hi);
}
FOVEA_INLINE void StorePairs(V a, V b, float* p) {
  const __m512i lo = _mm512_setr_epi32(0, 16, 1, 17, 2, 18, 3, 19, 4, 20, 5, 21, 6, 22, 7, 23);
  const __m512i hi = _mm512_setr_epi32(8, 24, 9, 25, 10, 26, 11, 27, 12, 28, 13, 29, 14, 30, 15, 31);
  _mm512_storeu_ps(p, _mm512_permutex2var_ps(a, lo, b));
  _mm512_storeu_ps(p + 16, _mm512_permutex2var_ps(a, hi, b));
}

FOVEA_INLINE I OddLanes(I even, I odd) { return _mm512_mask_blend_epi32(0xaaaa, even, odd); }
FOVEA_INLINE Halves LoadHalves(const void* p) { return _mm256_loadu_si256(static_cast<const __m256i*>(p)); }
FOVEA_INLINE Halves LoadHalvesN(const void* p, size_t n) {
  return _mm256_maskz_loadu_epi16(__mmask16((1u << n) - 1u), p);
}
FOVEA_INLINE void StoreHalves(Halves v, void* p) { _mm256_storeu_si256(static_cast<__m256i*>(p), v); }
FOVEA_INLINE void StoreHalvesN(Halves v, void* p, size_t n) {
  _mm256_mask_storeu_epi16(p, __mmask16((1u << n) - 1u), v);
}
FOVEA_INLINE Bytes LoadBytes(const void* p) { return _mm_loadu_si128(static_cast<const __m128i*>(p)); }
FOVEA_INLINE Bytes LoadBytesN(const void* p, size_t n) { return _mm_maskz_loadu_epi8(__mmask16((1u << n) - 1u), p); }
FOVEA_INLINE void StoreBytes(Bytes v, void* p) { _mm_storeu_si128(static_cast<__m128i*>(p), v); }
FOVEA_INLINE void StoreBytesN(Bytes v, void* p, size_t n) { _mm_mask_storeu_epi8(p, __mmask16((1u << n) - 1u), v); }
FOVEA_INLINE Halves Narrow16(I v) { return _mm512_cvtepi32_epi16(v); }
FOVEA_INLINE Bytes Narrow8(I v) { return _mm512_cvtepi32_epi8(v); }
FOVEA_INLINE V SetF16(uint16_t bits) { return WidenF16(_mm256_set1_epi16(int16_t(bits))); }

// 128-bit block b of v[4g + c] holds column 4b + c of rows 4g..4g+3. Collects the blocks of each column.
FOVEA_INLINE void TransposeBlocks(V (&v)[16]) {
  FOVEA_EACH(c, 4) {
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
// Each 128-bit block of v[i] holds the sums of four vectors over that block. Adds the blocks.
FOVEA_INLINE V SumBlocks(const V (&v)[4]) {
  const V v01 = Sum(_mm512_shuffle_f32x4(v[0], v[1], 0x88), _mm512_shuffle_f32x4(v[0], v[1], 0xdd));
  const V v23 = Sum(_mm512_shuffle_f32x4(v[2], v[3], 0x88), _mm512_shuffle_f32x4(v[2], v[3], 0xdd));
  return Sum(_mm512_shuffle_f32x4(v01, v23, 0x88), _mm512_shuffle_f32x4(v01, v23, 0xdd));
}

template <int kRun>
FOVEA_INLINE I LoadBlocks(const uint8_t* const (&at)[4]) {
  const auto block = [&](int i) { return _mm_loadu_si128(reinterpret_cast<const __m128i*>(at[i])); };
  const auto two = [&](int i) { return _mm256_loadu_si256(reinterpret_cast<const __m256i*>(at[i])); };
  if constexpr (kRun == 4) return LoadInts(at[0]);
  if constexpr (kRun == 2) return _mm512_inserti64x4(_mm512_castsi256_si512(two(0)), two(2), 1);
  I v = _mm512_castsi128_si512(block(0));
  v = _mm512_mask_broadcast_i32x4(v, 0x00f0, block(1));
  v = _mm512_mask_broadcast_i32x4(v, 0x0f00, block(2));
  return _mm512_mask_broadcast_i32x4(v, 0xf000, block(3));
}
FOVEA_INLINE void StoreBlockPairs(I a, I b, uint8_t* p, uint8_t* q, size_t n) {
  const I front = _mm512_permutex2var_epi64(a, _mm512_setr_epi64(0, 1, 8, 9, 2, 3, 10, 11), b);
  const I back = _mm512_permutex2var_epi64(a, _mm512_setr_epi64(4, 5, 12, 13, 6, 7, 14, 15), b);
  if (n == 1) return _mm256_storeu_si256(reinterpret_cast<__m256i*>(p), _mm512_castsi512_si256(front));
  StoreInts(front, p);
  if (n == 3) _mm256_storeu_si256(reinterpret_cast<__m256i*>(q), _mm512_castsi512_si256(back));
  if (n == 4) StoreInts(back, q);
}
FOVEA_INLINE void StoreNearestI8(V a, V b, V c, V d, uint8_t* p) {
  const I in_order = _mm512_setr_epi32(0, 4, 8, 12, 1, 5, 9, 13, 2, 6, 10, 14, 3, 7, 11, 15);
  StoreInts(_mm512_permutexvar_epi32(in_order, NearestBlocks(a, b, c, d)), p);
}
FOVEA_INLINE V WidenF16Blocks(const uint64_t (&halves)[4]) {
  __m128i rows[4];
  FOVEA_EACH(i, 4) rows[i] = _mm_set_epi64x(0, int64_t(halves[i]));
  const __m128i pairs01 = _mm_unpacklo_epi16(rows[0], rows[1]), pairs23 = _mm_unpacklo_epi16(rows[2], rows[3]);
  const __m256i front = _mm256_castsi128_si256(_mm_unpacklo_epi32(pairs01, pairs23));
  return WidenF16(_mm256_inserti128_si256(front, _mm_unpackhi_epi32(pairs01, pairs23), 1));
}

#elif FOVEA_X86_LANES == 8

FOVEA_INLINE __m256i FirstN(size_t n) {
  return _mm256_cmpgt_epi32(_mm256_set1_epi32(int(n)), _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7));
}
FOVEA_INLINE V LoadN(const float* p, size_t n) { return _mm256_maskload_ps(p, FirstN(n)); }
FOVEA_INLINE void StoreN(V v, float* p, size_t n) { _mm256_maskstore_ps(p, FirstN(n), v); }
FOVEA_INLINE void LoadPairs(const float* p, V& a, V& b) {
  const V even_blocks = _mm256_insertf128_ps(_mm256_castps128_ps256(_mm_loadu_ps(p)), _mm_loadu_ps(p + 8), 1);
  const V odd_blocks = _mm256_insertf128_ps(_mm256_castps128_ps256(_mm_loadu_ps(p + 4)), _mm_loadu_ps(p + 12), 1);
  a = _mm256_shuffle_ps(even_blocks, odd_blocks, 0x88);
  b = _mm256_shuffle_ps(even_blocks, odd_blocks, 0xdd);
}
FOVEA_INLINE void StorePairs(V a, V b, float* p) {
  const V lo = _mm256_unpacklo_ps(a, b), hi = _mm256_unpackhi_ps(a, b);
  _mm256_storeu_ps(p, _mm256_permute2f128_ps(lo, hi, 0x20));
  _mm256_storeu_ps(p + 8, _mm256_permute2f128_ps(lo, hi, 0x31));
}

FOVEA_INLINE I OddLanes(I even, I odd) { return _mm256_blend_epi32(even, odd, 0xaa); }
FOVEA_INLINE Halves LoadHalves(const void* p) { return _mm_loadu_si128(static_cast<const __m128i*>(p)); }
FOVEA_INLINE void StoreHalves(Halves v, void* p) { _mm_storeu_si128(static_cast<__m128i*>(p), v); }
FOVEA_INLINE Bytes LoadBytes(const void* p) { return _mm_loadl_epi64(static_cast<const __m128i*>(p)); }
FOVEA_INLINE void StoreBytes(Bytes v, void* p) { _mm_storel_epi64(static_cast<__m128i*>(p), v); }
FOVEA_INLINE Halves Narrow16(I v) {
  const I low = _mm256_and_si256(v, _mm256_set1_epi32(0xffff));
  return _mm_packus_epi32(_mm256_castsi256_si128(low), _mm256_extracti128_si256(low, 1));
}
FOVEA_INLINE V SetF16(uint16_t bits) { return WidenF16(_mm_set1_epi16(int16_t(bits))); }

FOVEA_INLINE void TransposeBlocks(V (&v)[8]) {
  FOVEA_EACH(c, 4) {
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
FOVEA_INLINE V SumBlocks(const V (&v)[2]) {
  return Sum(_mm256_permute2f128_ps(v[0], v[1], 0x20), _mm256_permute2f128_ps(v[0], v[1], 0x31));
}

template <int kRun>
FOVEA_INLINE I LoadBlocks(const uint8_t* const (&at)[2]) {
  if constexpr (kRun == 2) return LoadInts(at[0]);
  const __m128i low = _mm_loadu_si128(reinterpret_cast<const __m128i*>(at[0]));
  return _mm256_set_m128i(_mm_loadu_si128(reinterpret_cast<const __m128i*>(at[1])), low);
}
FOVEA_INLINE void StoreBlockPairs(I a, I b, uint8_t* p, uint8_t* q, size_t n) {
  StoreInts(_mm256_permute2x128_si256(a, b, 0x20), p);
  if (n == 2) StoreInts(_mm256_permute2x128_si256(a, b, 0x31), q);
}
FOVEA_INLINE void StoreNearestI8(V a, V b, V c, V d, uint8_t* p) {
  StoreInts(_mm256_permutevar8x32_epi32(NearestBlocks(a, b, c, d), _mm256_setr_epi32(0, 4, 1, 5, 2, 6, 3, 7)), p);
}
FOVEA_INLINE V WidenF16Blocks(const uint64_t (&halves)[4]) {
  __m128i rows[4];
  FOVEA_EACH(i, 4) rows[i] = _mm_cvtsi32_si128(int32_t(uint32_t(halves[i])));
  return WidenF16(_mm_unpacklo_epi32(_mm_unpacklo_epi16(rows[0], rows[1]), _mm_unpacklo_epi16(rows[2], rows[3])));
}

#elif FOVEA_X86_LANES == 4

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
FOVEA_INLINE void LoadPairs(const float* p, V& a, V& b) {
  const V lo = _mm_loadu_ps(p), hi = _mm_loadu_ps(p + 4);
  a = _mm_shuffle_ps(lo, hi, 0x88);
  b = _mm_shuffle_ps(lo, hi, 0xdd);
}
FOVEA_INLINE void StorePairs(V a, V b, float* p) {
  _mm_storeu_ps(p, _mm_unpacklo_ps(a, b));
  _mm_storeu_ps(p + 4, _mm_unpackhi_ps(a, b));
}

FOVEA_INLINE I OddLanes(I even, I odd) { return _mm_blend_epi16(even, odd, 0xcc); }
FOVEA_INLINE Halves LoadHalves(const void* p) { return _mm_loadl_epi64(static_cast<const __m128i*>(p)); }
FOVEA_INLINE void StoreHalves(Halves v, void* p) { _mm_storel_epi64(static_cast<__m128i*>(p), v); }
FOVEA_INLINE Bytes LoadBytes(const void* p) {
  int32_t bytes;
  __builtin_memcpy(&bytes, p, 4);
  return _mm_cvtsi32_si128(bytes);
}
FOVEA_INLINE void StoreBytes(Bytes v, void* p) {
  const int32_t bytes = _mm_cvtsi128_si32(v);
  __builtin_memcpy(p, &bytes, 4);
}
FOVEA_INLINE Halves Narrow16(I v) {
  const I low = _mm_and_si128(v, _mm_set1_epi32(0xffff));
  return _mm_packus_epi32(low, low);
}

FOVEA_INLINE void TransposeBlocks(V (&)[4]) {}

template <int k>
FOVEA_INLINE V SwapLanes(V v) {
  if constexpr (k == 1) return _mm_shuffle_ps(v, v, 0xb1);
  if constexpr (k == 2) return _mm_shuffle_ps(v, v, 0x4e);
}
FOVEA_INLINE V SumBlocks(const V (&v)[1]) { return v[0]; }

template <int kRun>
FOVEA_INLINE I LoadBlocks(const uint8_t* const (&at)[1]) {
  return LoadInts(at[0]);
}
FOVEA_INLINE void StoreBlockPairs(I a, I b, uint8_t* p, uint8_t*, size_t) {
  StoreInts(a, p);
  StoreInts(b, p + 16);
}
FOVEA_INLINE void StoreNearestI8(V a, V b, V c, V d, uint8_t* p) { StoreInts(NearestBlocks(a, b, c, d), p); }

#endif

FOVEA_INLINE I MulWide(I a, uint32_t b, I& high) {
  const I factor = FOVEA_MM(set1_epi32)(int32_t(b));
  const I even = FOVEA_MM(mul_epu32)(a, factor), odd = FOVEA_MM(mul_epu32)(FOVEA_MM(srli_epi64)(a, 32), factor);
  high = OddLanes(FOVEA_MM(srli_epi64)(even, 32), odd);
  return OddLanes(even, FOVEA_MM(slli_epi64)(odd, 32));
}

#if FOVEA_X86_LANES != 16
FOVEA_INLINE Bytes Narrow8(I v) {
  const Halves low = Narrow16(FOVEA_MM_SI(and)(v, FOVEA_MM(set1_epi32)(0xff)));
  return _mm_packus_epi16(low, low);
}
FOVEA_INLINE Halves LoadHalvesN(const void* p, size_t n) {
  uint16_t halves[8] = {};
  __builtin_memcpy(halves, p, 2 * n);
  return _mm_loadu_si128(reinterpret_cast<const __m128i*>(halves));
}
FOVEA_INLINE void StoreHalvesN(Halves v, void* p, size_t n) {
  uint16_t halves[8];
  _mm_storeu_si128(reinterpret_cast<__m128i*>(halves), v);
  __builtin_memcpy(p, halves, 2 * n);
}
FOVEA_INLINE Bytes LoadBytesN(const void* p, size_t n) {
  uint64_t bytes = 0;
  __builtin_memcpy(&bytes, p, n);
  return _mm_loadl_epi64(reinterpret_cast<const __m128i*>(&bytes));
}
FOVEA_INLINE void StoreBytesN(Bytes v, void* p, size_t n) {
  uint64_t bytes;
  _mm_storel_epi64(reinterpret_cast<__m128i*>(&bytes), v);
  __builtin_memcpy(p, &bytes, n);
}
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

FOVEA_INLINE I LargestOfLanes(const I (&v)[4]) {
  const auto lanes = [](I a, I b) {
    return MaxU8(Ints(UnpackLo32(Floats(a), Floats(b))), Ints(UnpackHi32(Floats(a), Floats(b))));
  };
  const V a = Floats(lanes(v[0], v[1])), b = Floats(lanes(v[2], v[3]));
  return MaxU8(Ints(UnpackLo64(a, b)), Ints(UnpackHi64(a, b)));
}

}  // namespace raw

FOVEA_INLINE VF LoadN(decltype(kF), const float* p, size_t n) { return VF{raw::LoadN(p, n)}; }
FOVEA_INLINE void StoreN(VF v, decltype(kF), float* p, size_t n) { raw::StoreN(Raw(v), p, n); }
FOVEA_INLINE void LoadPairs(decltype(kF), const float* p, VF& a, VF& b) {
  raw::V even, odd;
  raw::LoadPairs(p, even, odd);
  a = VF{even}, b = VF{odd};
}
FOVEA_INLINE void StorePairs(VF a, VF b, decltype(kF), float* p) { raw::StorePairs(Raw(a), Raw(b), p); }
FOVEA_INLINE void Transpose(VF (&v)[kLanes]) {
  raw::V r[kLanes];
  FOVEA_EACH(i, kLanes) r[i] = Raw(v[i]);
  raw::Transpose(r);
  FOVEA_EACH(i, kLanes) v[i] = VF{r[i]};
}
template <int k>
FOVEA_INLINE VF SwapLanes(VF v) {
  return VF{raw::SwapLanes<k>(Raw(v))};
}
FOVEA_INLINE VF SumsOfLanes(const VF (&v)[kLanes]) {
  raw::V r[kLanes];
  FOVEA_EACH(i, kLanes) r[i] = Raw(v[i]);
  return VF{raw::SumsOfLanes(r)};
}
