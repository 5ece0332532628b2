// SPDX-License-Identifier: Apache-2.0
//
// What the dot words of x86 share that multiply bytes, in groups of four.
#ifndef FOVEA_SRC_SIMD_DOT_X86_BYTES_INL_
#define FOVEA_SRC_SIMD_DOT_X86_BYTES_INL_
#include "ground/simd/dot_x86.inl"

struct X86Bytes : X86Sums {
  using Code = uint8_t;
  using RowCode = int8_t;

  static constexpr int RegistersForLoads(int vectors, int) { return vectors + 1; }

  FOVEA_INLINE X LoadX(const Code* p) { return hn::raw::LoadInts(p); }
  FOVEA_INLINE E LoadE(const RowCode* p) {
    int32_t bytes;
    __builtin_memcpy(&bytes, p, 4);
    return Start(bytes);
  }
  FOVEA_INLINE E LoadPartOfE(const RowCode* p, size_t n) {
    int32_t bytes = 0;
    __builtin_memcpy(&bytes, p, n);
    return Start(bytes);
  }

  // ---- for few rows, and few tokens

  using FewCode = int8_t;  // of a query, or a token
  using FewX = hn::raw::I;
  FOVEA_INLINE void StoreFewQueries(VF biased, FewCode* lanes) {
    hn::StoreU8(hn::BitCast(kI, biased), reinterpret_cast<uint8_t*>(lanes));
  }
  FOVEA_INLINE FewX LoadFewX(const void* p) { return LoadX(static_cast<const Code*>(p)); }
  static constexpr size_t FewReads(size_t rows) { return 4 * kLanes / rows; }

  // ---- for rows of groups: a vector holds 16 bytes of each of some rows

  static constexpr size_t kFewGroupRows = kLanes / 4;

  FOVEA_INLINE FewX FlipSigns(FewX v) { return FOVEA_MM_SI(xor)(v, Start(int32_t(0x80808080u))); }
  FOVEA_INLINE FewX LoadBlocks(const uint8_t* const (&at)[kFewGroupRows]) { return hn::raw::LoadBlocks<1>(at); }
  FOVEA_INLINE FewX LowWords(FewX a, FewX b) { return FOVEA_MM(unpacklo_epi32)(a, b); }
  FOVEA_INLINE FewX HighWords(FewX a, FewX b) { return FOVEA_MM(unpackhi_epi32)(a, b); }
  FOVEA_INLINE FewX LowPairs(FewX a, FewX b) { return FOVEA_MM(unpacklo_epi64)(a, b); }
  FOVEA_INLINE FewX HighPairs(FewX a, FewX b) { return FOVEA_MM(unpackhi_epi64)(a, b); }
  FOVEA_INLINE FewX LowNibbles(FewX v) { return FOVEA_MM_SI(and)(v, Start(0x0f0f0f0f)); }
  FOVEA_INLINE FewX HighNibbles(FewX v) { return LowNibbles(FOVEA_MM(srli_epi32)(v, 4)); }
  FOVEA_INLINE FewX LookUp(FewX table, FewX at) { return hn::raw::LookUp(table, at); }
  FOVEA_INLINE FewX Join(FewX a, FewX b) { return FOVEA_MM_SI(or)(a, b); }
  // kBits bits of each byte, from bit `from` on, as bits kTo and so on of a byte.
  template <uint32_t kBits, uint32_t kTo>
  FOVEA_INLINE FewX BitsOf(FewX v, uint32_t from) {
    const FewX bits = FOVEA_MM(srl_epi32)(v, _mm_cvtsi32_si128(int(from)));
    return FOVEA_MM(slli_epi32)(FOVEA_MM_SI(and)(bits, Start(int32_t((1u << kBits) - 1) * 0x01010101)), kTo);
  }
#if FOVEA_X86_LANES == 16
  FOVEA_INLINE FewX EachBlock(__m128i v) { return _mm512_broadcast_i32x4(v); }
  // What FewSixBits takes of `pairs`, for quarters with an even number or for those with an odd one.
  template <int kQuarter>
  FOVEA_INLINE FewX PairsOf(FewX pairs) {
    return _mm512_and_si512(kQuarter % 2 != 0 ? _mm512_srli_epi32(pairs, 2) : pairs, Start(0x33333333));
  }
  template <int kQuarter>
  FOVEA_INLINE FewX FewSixBits(FewX nibbles, FewX pairs) {
    const FewX low = kQuarter < 2 ? nibbles : _mm512_srli_epi32(nibbles, 4);
    const FewX high = kQuarter < 2 ? _mm512_slli_epi32(pairs, 4) : pairs;
    return _mm512_ternarylogic_epi32(Start(0x0f0f0f0f), low, high,
                                     0xca);  // bits of the mask from low, others from high
  }
#else
  FOVEA_INLINE FewX EachBlock(__m128i v) { return _mm256_broadcastsi128_si256(v); }
  template <int kQuarter>
  FOVEA_INLINE FewX PairsOf(FewX pairs) {
    return pairs;
  }
  template <int kQuarter>
  FOVEA_INLINE FewX FewSixBits(FewX nibbles, FewX pairs) {
    constexpr int kLeft = kQuarter < 2 ? 4 - 2 * kQuarter : 0, kRight = kQuarter == 3 ? 2 : 0;
    const FewX low = kQuarter < 2 ? LowNibbles(nibbles) : HighNibbles(nibbles);
    const FewX high = _mm256_srli_epi32(_mm256_slli_epi32(pairs, kLeft), kRight);
    return _mm256_or_si256(low, _mm256_and_si256(high, Start(0x30303030)));
  }
#endif
  // Bit 4 i + k of each word becomes bit 4 of byte k of the word in codes[i], whose other bits stay.
  FOVEA_INLINE void AddFifthBits(VI words, FewX (&codes)[8]) {
    const __m128i first = _mm_set_epi32(0x0c0c0c0c, 0x08080808, 0x04040404, 0);
    const FewX bits = Start(int32_t(0x80402010u)), sixteen = Start(0x10101010);
    FOVEA_EACH(i, 4) {
      const FewX byte =
          FOVEA_MM(shuffle_epi8)(hn::Raw(words), FewAdd(EachBlock(first), Start(int32_t(i) * 0x01010101)));
      const FewX low = FOVEA_MM_SI(and)(FOVEA_MM(slli_epi32)(byte, 4), bits), high = FOVEA_MM_SI(and)(byte, bits);
      codes[2 * i] = Join(codes[2 * i], FOVEA_MM(min_epu8)(low, sixteen));
      codes[2 * i + 1] = Join(codes[2 * i + 1], FOVEA_MM(min_epu8)(high, sixteen));
    }
  }
  // In each 16-byte block, word k of vector j becomes word j of vector k.
  FOVEA_INLINE void TurnBlocks(FewX (&v)[4]) {
    const FewX low01 = LowWords(v[0], v[1]), high01 = HighWords(v[0], v[1]);
    const FewX low23 = LowWords(v[2], v[3]), high23 = HighWords(v[2], v[3]);
    v[0] = LowPairs(low01, low23), v[1] = HighPairs(low01, low23);
    v[2] = LowPairs(high01, high23), v[3] = HighPairs(high01, high23);
  }
  // v[0] after TurnBlocks.
  FOVEA_INLINE FewX FirstOfBlocks(const FewX (&v)[4]) { return LowPairs(LowWords(v[0], v[1]), LowWords(v[2], v[3])); }
};

#endif  // FOVEA_SRC_SIMD_DOT_X86_BYTES_INL_
