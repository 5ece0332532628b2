// SPDX-License-Identifier: Apache-2.0
//
// The words for products of halves of AVX512-FP16, which adds x times an element once it is in all lanes. Only its two
// multiply-adds need that extension. They ignore the flags that flush subnormal numbers.
#ifndef FOVEA_SRC_SIMD_HALF_AVX512_INL_
#define FOVEA_SRC_SIMD_HALF_AVX512_INL_

#pragma GCC diagnostic push  // as in dots.inl
#pragma GCC diagnostic ignored "-Wuninitialized"
#pragma GCC diagnostic ignored "-Wmaybe-uninitialized"

struct Avx512Halves {
  static constexpr size_t kLanes = 32;
  static constexpr int kBlockVectors = ::fovea::kHalfVectors, kRows = 8, kReads = 1;
  static constexpr int kPieces = 2;
  static constexpr bool kByScalars = false, kServesFewRows = false;

  using Element = uint16_t;
  using V = __m512i;
  using E = __m512i;
  using M = __mmask32;

  FOVEA_INLINE V Zero() { return _mm512_setzero_si512(); }
  FOVEA_INLINE V Load(const Element* p) { return _mm512_loadu_si512(p); }
  FOVEA_INLINE E LoadE(const Element* p) { return _mm512_set1_epi16(int16_t(*p)); }
  FOVEA_INLINE E LoadOne(const Element* p) { return LoadE(p); }
  FOVEA_INLINE E NextE(const Element*& p, ptrdiff_t step) {
    const E e = LoadE(p);
    p += step;
    return e;
  }
  FOVEA_INLINE void Store(VF v, Element* p) { hn::StoreF16(v, p); }
  FOVEA_INLINE M SignMask(V v) { return _mm512_movepi16_mask(v); }

  template <int>
  FOVEA_INLINE V MulAdd(V x, E e, V sum) {
    return _mm512_castph_si512(
        _mm512_fmadd_ph(_mm512_castsi512_ph(x), _mm512_castsi512_ph(e), _mm512_castsi512_ph(sum)));
  }
  template <int>
  FOVEA_INLINE V MulAddUnless(M m, V x, E e, V sum) {
    return _mm512_castph_si512(
        _mm512_mask3_fmadd_ph(_mm512_castsi512_ph(x), _mm512_castsi512_ph(e), _mm512_castsi512_ph(sum), __mmask32(~m)));
  }

  FOVEA_INLINE void Widen(V v, VF (&to)[2]) {
    to[0] = VF{_mm512_cvtph_ps(_mm512_castsi512_si256(v))};
    to[1] = VF{_mm512_cvtph_ps(_mm512_extracti64x4_epi64(v, 1))};
  }
  FOVEA_INLINE void LoadFloats(const float* p, VF (&v)[2]) {
    v[0] = hn::LoadU(kF, p);
    v[1] = hn::LoadU(kF, p + 16);
  }
  FOVEA_INLINE void StoreFloats(const VF (&v)[2], float* p) {
    hn::StoreU(v[0], kF, p);
    hn::StoreU(v[1], kF, p + 16);
  }
};
#pragma GCC diagnostic pop

#endif  // FOVEA_SRC_SIMD_HALF_AVX512_INL_
