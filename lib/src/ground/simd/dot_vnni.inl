// SPDX-License-Identifier: Apache-2.0
//
// The dot words of x86's vpdpbusd, which multiplies unsigned bytes by signed ones. The instruction is written in
// assembly, so that the file needs no other compiler flags than its neighbours. The unsigned bytes are those of columns,
// or those of rows.
#ifndef FOVEA_SRC_SIMD_DOT_VNNI_INL_
#define FOVEA_SRC_SIMD_DOT_VNNI_INL_
#include "ground/simd/dot_x86_bytes.inl"

template <bool kUnsignedColumns>
struct VnniWords : X86Bytes, DotShape<kDotVnni> {
  static constexpr bool kUnsignedQueries = kUnsignedColumns, kSignedWeights = !kUnsignedColumns;
  static constexpr bool kUnsignedRows = !kUnsignedColumns;

#if FOVEA_X86_LANES == 16
  FOVEA_INLINE Sum DotBytes(X x, E e, Sum sum) {
    asm("{vpdpbusd %2, %1, %0|vpdpbusd %0, %1, %2}" : "+v"(sum) : "v"(x), "v"(e));
    return sum;
  }
#else
  FOVEA_INLINE Sum DotBytes(X x, E e, Sum sum) {
    asm("%{vex%} {vpdpbusd %2, %1, %0|vpdpbusd %0, %1, %2}" : "+x"(sum) : "x"(x), "x"(e));
    return sum;
  }
#endif
  FOVEA_INLINE Sum Dot(X x, E e, Sum sum) { return kUnsignedQueries ? DotBytes(x, e, sum) : DotBytes(e, x, sum); }
  template <int i>
  FOVEA_INLINE Sum DotAdd(X x, E e, Sum sum) {
    return Dot(x, e, sum);
  }

  FOVEA_INLINE void StoreQueries(VF biased, Code* lanes) {
    hn::StoreU8(hn::Xor(hn::BitCast(kI, biased), hn::Set(kI, kUnsignedQueries ? 0x80 : 0)), lanes);
  }
  // Packs the low bytes of four vectors of biased codes (see ScaleI8) into one vector: byte i of each lane comes from
  // v[i].
  FOVEA_INLINE VI PackBytes(const VF (&v)[4]) {
    const VI ab = hn::Add(hn::BitCast(kI, v[0]), hn::ShiftLeft<8>(hn::BitCast(kI, v[1])));
    const VI cd = hn::Add(hn::ShiftLeft<16>(hn::BitCast(kI, v[2])), hn::ShiftLeft<24>(hn::BitCast(kI, v[3])));
    constexpr uint32_t kBias = 0x4b400000u;  // the bits of kRoundingBias
    return hn::Sub(hn::Add(ab, cd), hn::Set(kI, int32_t(kBias + (kBias << 8))));
  }
  FOVEA_INLINE void StoreWeights(const VF (&biased)[4], Code* to) { StoreWords(hn::Raw(PackBytes(biased)), to); }

  // to[element][4] = element of each of four rows, for the elements of whole vectors of 16. Returns how many these are.
  FOVEA_INLINE size_t PackGroup(const int8_t* const (&row)[4], size_t elements, RowCode* to, int32_t*) {
    size_t e = 0;
    for (; e + 16 <= elements; e += 16, to += 64) {
      __m128i v[4];
      FOVEA_EACH(i, 4) v[i] = _mm_loadu_si128(reinterpret_cast<const __m128i*>(row[i] + e));
      const __m128i lo01 = _mm_unpacklo_epi8(v[0], v[1]), hi01 = _mm_unpackhi_epi8(v[0], v[1]);
      const __m128i lo23 = _mm_unpacklo_epi8(v[2], v[3]), hi23 = _mm_unpackhi_epi8(v[2], v[3]);
      __m128i* const out = reinterpret_cast<__m128i*>(to);
      _mm_storeu_si128(out, _mm_unpacklo_epi16(lo01, lo23));
      _mm_storeu_si128(out + 1, _mm_unpackhi_epi16(lo01, lo23));
      _mm_storeu_si128(out + 2, _mm_unpacklo_epi16(hi01, hi23));
      _mm_storeu_si128(out + 3, _mm_unpackhi_epi16(hi01, hi23));
    }
    return e;
  }

  // Codes of a row: as many as a vector holds, or n of them, followed by 0.
  FOVEA_INLINE X LoadRow(const RowCode* p) { return LoadX(reinterpret_cast<const Code*>(p)); }
#if FOVEA_X86_LANES == 16
  FOVEA_INLINE X LoadPart(const RowCode* p, size_t n) {
    return _mm512_maskz_loadu_epi8(n < 64 ? (__mmask64{1} << n) - 1 : ~__mmask64{0}, p);
  }
#else
  FOVEA_INLINE X LoadPart(const RowCode* p, size_t n) {
    RowCode bytes[32] = {};
    __builtin_memcpy(bytes, p, n);
    return LoadRow(bytes);
  }
#endif

  // The sum of all lanes.
  FOVEA_INLINE int32_t AllLanes(Sum sum) {
    const Sum pairs = AddLanes(sum, sum);
    Sum blocks = AddPairs(pairs, pairs);
    FOVEA_UNROLL(2)
    for (size_t n = kLanes / 8; n > 0; n /= 2) blocks = AddBlocks(blocks, blocks);
    int32_t lane;
    __builtin_memcpy(&lane, &blocks, sizeof lane);
    return lane;
  }
  FOVEA_INLINE int32_t SumOfRow(const RowCode* row, size_t dim) {
    const X ones = Start(0x01010101);
    Sum sum = Start(0);
    size_t d = 0;
    for (; d + 4 * kLanes <= dim; d += 4 * kLanes) sum = Dot(ones, LoadRow(row + d), sum);
    if (d < dim) sum = Dot(ones, LoadPart(row + d, dim - d), sum);
    return AllLanes(sum);
  }
};
using VnniGroups = VnniWords<false>;  // for weights in groups

struct Vnni : VnniWords<true> {
  using GroupWords = VnniGroups;

  // 128 is added to the codes of queries. The sums of products with a key begin with the correction for this.
  FOVEA_INLINE int32_t StartOfKey(const RowCode* row, size_t dim) { return -128 * SumOfRow(row, dim); }

  // ---- for the few-rows kernel: here the codes of keys are unsigned

  using FewWeight = uint8_t;  // of a weight
  template <int kRows>
  static constexpr int kFewVectors = 1;
  static constexpr size_t kFewXCodes = 4 * kLanes;
  static constexpr uint32_t kFewKeysAtOnce = 4;
  template <int kRows>
  static constexpr int kFewValueVectors = 4;

  FOVEA_INLINE void StoreFewWeights(VF biased, FewWeight* lanes) { hn::StoreU8(hn::BitCast(kI, biased), lanes); }
  FOVEA_INLINE FewX SetFewWeights(const FewWeight* p) { return LoadE(reinterpret_cast<const RowCode*>(p)); }
  FOVEA_INLINE Sum FewValueStart(const FewWeight*, uint32_t) { return FewZero(); }

#if FOVEA_X86_LANES == 16
  template <int kRows>
  FOVEA_INLINE FewX LoadFew(const int8_t* p) {
    if constexpr (kRows == 1) return FlipSigns(LoadFewX(p));
    if constexpr (kRows == 2) {
      return FlipSigns(_mm512_broadcast_i64x4(_mm256_loadu_si256(reinterpret_cast<const __m256i*>(p))));
    }
    if constexpr (kRows == 4) {
      return FlipSigns(_mm512_broadcast_i32x4(_mm_loadu_si128(reinterpret_cast<const __m128i*>(p))));
    }
  }
  template <int kRows>
  FOVEA_INLINE FewX LoadFewPart(const int8_t* p, size_t n) {
    if constexpr (kRows == 1) return FlipSigns(_mm512_maskz_loadu_epi8((__mmask64{1} << n) - 1, p));
    if constexpr (kRows == 2) {
      return FlipSigns(_mm512_broadcast_i64x4(_mm256_maskz_loadu_epi8(__mmask32((1u << n) - 1), p)));
    }
    if constexpr (kRows == 4) {
      return FlipSigns(_mm512_broadcast_i32x4(_mm_maskz_loadu_epi8(__mmask16((1u << n) - 1), p)));
    }
  }
  // 16-byte block b of vector v becomes 16-byte block v of vector b.
  FOVEA_INLINE void TransposeBlocks(const Sum (&v)[4], Sum (&to)[4]) {
    const Sum a = _mm512_shuffle_i32x4(v[0], v[1], 0x88), b = _mm512_shuffle_i32x4(v[2], v[3], 0x88);
    const Sum c = _mm512_shuffle_i32x4(v[0], v[1], 0xdd), d = _mm512_shuffle_i32x4(v[2], v[3], 0xdd);
    to[0] = _mm512_shuffle_i32x4(a, b, 0x88);
    to[1] = _mm512_shuffle_i32x4(c, d, 0x88);
    to[2] = _mm512_shuffle_i32x4(a, b, 0xdd);
    to[3] = _mm512_shuffle_i32x4(c, d, 0xdd);
  }
#else
  template <int kRows>
  FOVEA_INLINE FewX LoadFew(const int8_t* p) {
    if constexpr (kRows == 1) return FlipSigns(LoadFewX(p));
    if constexpr (kRows == 2) {
      return FlipSigns(_mm256_broadcastsi128_si256(_mm_loadu_si128(reinterpret_cast<const __m128i*>(p))));
    }
    if constexpr (kRows == 4) {
      return FlipSigns(_mm256_broadcastq_epi64(_mm_loadl_epi64(reinterpret_cast<const __m128i*>(p))));
    }
  }
  template <int kRows>
  FOVEA_INLINE FewX LoadFewPart(const int8_t* p, size_t n) {
    int8_t bytes[FewReads(kRows)] = {};
    __builtin_memcpy(bytes, p, n);
    return LoadFew<kRows>(bytes);
  }
  FOVEA_INLINE void TransposeBlocks(const Sum (&v)[4], Sum (&to)[4]) {
    to[0] = _mm256_permute2x128_si256(v[0], v[1], 0x20);
    to[1] = _mm256_permute2x128_si256(v[2], v[3], 0x20);
    to[2] = _mm256_permute2x128_si256(v[0], v[1], 0x31);
    to[3] = _mm256_permute2x128_si256(v[2], v[3], 0x31);
  }
#endif

  // 128 is added to the codes of keys. Sums begin with the correction for this.
  FOVEA_INLINE Sum FewStart(const FewCode* x, size_t steps) {
    Sum sum = FewZero();
    for (size_t i = 0; i < steps; ++i) sum = Dot(Start(int32_t(0x80808080u)), LoadFewX(x + i * kFewXCodes), sum);
    return FOVEA_MM(sub_epi32)(FewZero(), sum);
  }
  FOVEA_INLINE Sum FewScoreDot(FewX x, FewX e, Sum sum) { return Dot(e, x, sum); }
  FOVEA_INLINE Sum FewValueDot(FewX x, FewX e, Sum sum) { return Dot(x, e, sum); }

  // Interleaves elements of four rows as groups of four bytes. Each 16 elements fill the same 16-byte block of the four
  // vectors.
  FOVEA_INLINE void InterleaveRows(const FewX (&rows)[4], FewX (&values)[4]) {
    const FewX low01 = FOVEA_MM(unpacklo_epi8)(rows[0], rows[1]), high01 = FOVEA_MM(unpackhi_epi8)(rows[0], rows[1]);
    const FewX low23 = FOVEA_MM(unpacklo_epi8)(rows[2], rows[3]), high23 = FOVEA_MM(unpackhi_epi8)(rows[2], rows[3]);
    values[0] = FOVEA_MM(unpacklo_epi16)(low01, low23), values[1] = FOVEA_MM(unpackhi_epi16)(low01, low23);
    values[2] = FOVEA_MM(unpacklo_epi16)(high01, high23), values[3] = FOVEA_MM(unpackhi_epi16)(high01, high23);
  }
  FOVEA_INLINE void LoadFewValues(const int8_t* const (&at)[4], FewX (&values)[4]) {
    InterleaveRows({LoadFewX(at[0]), LoadFewX(at[1]), LoadFewX(at[2]), LoadFewX(at[3])}, values);
  }
  FOVEA_INLINE void LoadFewValuesPart(const int8_t* const (&at)[4], size_t n, FewX (&values)[4]) {
    InterleaveRows({LoadPart(at[0], n), LoadPart(at[1], n), LoadPart(at[2], n), LoadPart(at[3], n)}, values);
  }
  FOVEA_INLINE void InOrder(const Sum (&sums)[4], VF (&floats)[4]) {
    Sum blocks[4];
    TransposeBlocks(sums, blocks);
    FOVEA_EACH(v, 4) floats[v] = ToFloat(blocks[v]);
  }

  // sum + the products of rows' codes with four codes of a token, which are the same for all lanes.
  FOVEA_INLINE Sum FewSameDot(const FewCode* x, FewX codes, Sum sum) {
#if FOVEA_X86_LANES == 16
    typedef int32_t __attribute__((may_alias, aligned(1))) Word;
    asm("{vpdpbusd %2%{1to16%}, %1, %0|vpdpbusd %0, %1, %2%{1to16%}}"
        : "+v"(sum)
        : "v"(codes), "m"(*reinterpret_cast<const Word*>(x)));
    return sum;
#else
    return Dot(codes, LoadE(x), sum);
#endif
  }
};

#endif  // FOVEA_SRC_SIMD_DOT_VNNI_INL_
