// SPDX-License-Identifier: Apache-2.0
//
// Rows of i4 become rows of i8 with AVX-512, with the numbers of ScaleI8. A group of i4 has 16 codes, so its codes of i8
// are looked up in a table of 16 bytes, a block of a vector.

// Vectors hold four groups: their bytes, or in lanes [row][group] the scales of four rows. n groups are there.
FOVEA_INLINE __m512i LoadI4(const uint8_t* codes, size_t group, size_t n) {
  if (n == 4) return _mm512_loadu_si512(codes + 16 * group);
  return _mm512_maskz_loadu_epi8(~__mmask64{0} >> (64 - 16 * n), codes + 16 * group);
}
FOVEA_INLINE __m512 LoadI4Scales(const uint16_t* rows, ptrdiff_t stride, size_t group, size_t n) {
  uint64_t scales[4] = {};
  FOVEA_UNROLL(4)
  for (int r = 0; r < 4; ++r) {
    if (n == 4) {
      __builtin_memcpy(&scales[r], rows + r * stride + group, 8);
    } else {
      __builtin_memcpy(&scales[r], rows + r * stride + group, 2 * n);
    }
  }
  const auto at = [&](int r) { return int64_t(scales[r]); };
  return _mm512_cvtph_ps(_mm256_set_epi64x(at(3), at(2), at(1), at(0)));
}
FOVEA_INLINE void StoreI8(__m512i v, uint8_t* to, size_t bytes) {
  if (bytes >= 64) {
    _mm512_storeu_si512(to, v);
  } else {
    _mm512_mask_storeu_epi8(to, (__mmask64{1} << bytes) - 1, v);
  }
}
FOVEA_INLINE __m512i LowNibbles(__m512i v) { return _mm512_and_si512(v, _mm512_set1_epi8(15)); }
FOVEA_INLINE __m512i HighNibbles(__m512i v) { return LowNibbles(_mm512_srli_epi16(v, 4)); }

FOVEA_INLINE __m512i MaxOfHalves(__m512i a, __m512i b) {
  return _mm512_max_epu8(_mm512_unpacklo_epi32(a, b), _mm512_unpackhi_epi32(a, b));
}

// In lanes [group][row] the largest |code| of a group.
FOVEA_INLINE __m512 LargestCodes(const uint8_t* rows, ptrdiff_t stride, size_t group, size_t n) {
  const __m512i sizes = _mm512_set4_epi32(0x07060504, 0x03020100, 0x01020304, 0x05060708);
  __m512i largest[4];
  FOVEA_UNROLL(4)
  for (int r = 0; r < 4; ++r) {
    const __m512i v = LoadI4(rows + r * stride, group, n);
    largest[r] = _mm512_max_epu8(_mm512_shuffle_epi8(sizes, LowNibbles(v)), _mm512_shuffle_epi8(sizes, HighNibbles(v)));
  }
  const __m512i low = MaxOfHalves(largest[0], largest[1]), high = MaxOfHalves(largest[2], largest[3]);
  __m512i bytes = _mm512_max_epu8(_mm512_unpacklo_epi64(low, high), _mm512_unpackhi_epi64(low, high));
  bytes = _mm512_max_epu8(bytes, _mm512_srli_epi32(bytes, 16));
  bytes = _mm512_max_epu8(bytes, _mm512_srli_epi32(bytes, 8));
  return _mm512_cvtepi32_ps(_mm512_and_si512(bytes, _mm512_set1_epi32(255)));
}

// Codes of i8 for the 16 codes of each group, whose scales fill its block.
FOVEA_INLINE __m512i TableOfGroups(__m512 scales, __m512 inverse) {
  const __m512 low = _mm512_set4_ps(4, 3, 2, 1), high = _mm512_set4_ps(8, 7, 6, 5);
  const __m512i from_low = _mm512_cvtps_epi32(_mm512_mul_ps(_mm512_mul_ps(low, scales), inverse));
  const __m512i from_high = _mm512_cvtps_epi32(_mm512_mul_ps(_mm512_mul_ps(high, scales), inverse));
  // Pairs of bytes for 1 to 8; code c stands for c - 8.
  const __m512i sizes = _mm512_packs_epi32(from_low, from_high);
  const __m512i places = _mm512_set4_epi32(0x0c0a0806, 0x040200ff, 0x00020406, 0x080a0c0e);
  const __m512i negative = _mm512_set4_epi32(0, 0, -1, -1);
  return _mm512_sub_epi8(_mm512_xor_si512(_mm512_shuffle_epi8(sizes, places), negative), negative);
}

// The largest magnitude of each of four rows, and NaN where an element is not finite, else 0. Rows are whole groups; with
// kWhole their number is a multiple of four.
template <bool kWhole>
FOVEA_INLINE void LargestOfI4(const uint8_t* codes, ptrdiff_t stride, const uint16_t* group_scales,
                              ptrdiff_t scale_stride, size_t dim, float* largest, float* nan) {
  const size_t groups = dim / kScaleGroup;
  const __m512i transposed = _mm512_setr_epi32(0, 4, 8, 12, 1, 5, 9, 13, 2, 6, 10, 14, 3, 7, 11, 15);
  __m512 max = _mm512_setzero_ps(), not_finite = _mm512_setzero_ps();
  for (size_t g = 0; g < groups; g += 4) {
    const size_t n = kWhole || groups - g > 4 ? 4 : groups - g;
    const __m512 scales = _mm512_permutexvar_ps(transposed, LoadI4Scales(group_scales, scale_stride, g, n));
    max = _mm512_max_ps(_mm512_mul_ps(LargestCodes(codes, stride, g, n), _mm512_abs_ps(scales)), max);
    not_finite = _mm512_add_ps(not_finite, _mm512_sub_ps(scales, scales));
  }
  max = _mm512_max_ps(max, _mm512_shuffle_f32x4(max, max, 0xb1));
  not_finite = _mm512_add_ps(not_finite, _mm512_shuffle_f32x4(not_finite, not_finite, 0xb1));
  max = _mm512_max_ps(max, _mm512_shuffle_f32x4(max, max, 0x4e));
  not_finite = _mm512_add_ps(not_finite, _mm512_shuffle_f32x4(not_finite, not_finite, 0x4e));
  _mm_storeu_ps(largest, _mm512_castps512_ps128(max));
  _mm_storeu_ps(nan, _mm512_castps512_ps128(not_finite));
}

// Codes of i8 of these rows, whose elements are multiplied by inverse[r]: 0 where a scale is not finite.
template <bool kWhole>
FOVEA_INLINE void CodesOfI4(const uint8_t* codes, ptrdiff_t stride, const uint16_t* group_scales,
                            ptrdiff_t scale_stride, size_t dim, const float* inverse, uint8_t* to, size_t to_stride) {
  const size_t groups = dim / kScaleGroup;
  const __m512i first_row = _mm512_setr_epi32(0, 0, 0, 0, 1, 1, 1, 1, 2, 2, 2, 2, 3, 3, 3, 3);
  const __m512i front = _mm512_setr_epi64(0, 1, 8, 9, 2, 3, 10, 11),
                back = _mm512_setr_epi64(4, 5, 12, 13, 6, 7, 14, 15);
  for (size_t g = 0; g < groups; g += 4) {
    const size_t n = kWhole || groups - g > 4 ? 4 : groups - g;
    __m512 scales = LoadI4Scales(group_scales, scale_stride, g, n);
    const __mmask16 finite = _mm512_cmp_ps_mask(_mm512_sub_ps(scales, scales), _mm512_setzero_ps(), _CMP_EQ_OQ);
    scales = _mm512_maskz_mov_ps(finite, scales);
    FOVEA_UNROLL(4)
    for (int r = 0; r < 4; ++r) {
      const __m512 own = _mm512_permutexvar_ps(_mm512_add_epi32(first_row, _mm512_set1_epi32(4 * r)), scales);
      const __m512i table = TableOfGroups(own, _mm512_set1_ps(inverse[r]));
      const __m512i v = LoadI4(codes + r * stride, g, n);
      const __m512i low = _mm512_shuffle_epi8(table, LowNibbles(v)), high = _mm512_shuffle_epi8(table, HighNibbles(v));
      StoreI8(_mm512_permutex2var_epi64(low, front, high), to + size_t(r) * to_stride + 32 * g, 32 * n);
      if (n > 2)
        StoreI8(_mm512_permutex2var_epi64(low, back, high), to + size_t(r) * to_stride + 32 * g + 64, 32 * n - 64);
    }
  }
}
