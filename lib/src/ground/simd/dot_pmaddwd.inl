// SPDX-License-Identifier: Apache-2.0
//
// The dot words of x86's pmaddwd, which multiplies pairs of 16 bits and adds the two products: for processors that have
// no vpdpbusd.
#ifndef FOVEA_SRC_SIMD_DOT_PMADDWD_INL_
#define FOVEA_SRC_SIMD_DOT_PMADDWD_INL_
#include "ground/simd/dot_x86.inl"

struct Pmaddwd : X86Sums, DotShape<kDotPmaddwd>, FewDefaults<Pmaddwd> {
  using Code = int16_t;
  using RowCode = int16_t;

  // On AVX2 a block has four rows of three vectors, if one of these is an operand in memory: .95 of the time of two rows.
  static constexpr int HeldVectors(int vectors) { return vectors > 2 && kLanes == 8 ? 2 : vectors; }
  // One of these is for products before they are added to a sum.
  static constexpr int RegistersForLoads(int vectors, int) { return HeldVectors(vectors) + 2; }

  FOVEA_INLINE uint32_t Pair(const int16_t* p) {
    uint32_t pair;
    __builtin_memcpy(&pair, p, 4);
    return pair;
  }
  FOVEA_INLINE E LoadE(const RowCode* p) { return Start(int32_t(Pair(p))); }
  FOVEA_INLINE E LoadPartOfE(const RowCode* p, size_t) { return Start(uint16_t(*p)); }

  FOVEA_INLINE X LoadX(const Code* p) { return hn::raw::LoadInts(p); }
  FOVEA_INLINE Sum AddPairsOf(X x, E e, Sum sum) {
    const Sum products = FOVEA_MM(madd_epi16)(x, e);
    if constexpr (kLanes == 8) return AddInPlace<4>(products, sum);
    return FewAdd(sum, products);
  }
  // Bytes in the low half of a register as codes.
  FOVEA_INLINE X WidenBytes(hn::raw::Halves bytes) { return FOVEA_MM(cvtepi8_epi16)(bytes); }
  FOVEA_INLINE X LoadBytes(const int8_t* p) { return WidenBytes(hn::raw::LoadHalves(p)); }
  // Pairs of elements of two rows.
  FOVEA_INLINE X WidenPairs(const int8_t* a, const int8_t* b) {
    const __m128i low = hn::raw::LoadBytes(a), high = hn::raw::LoadBytes(b);
#if FOVEA_X86_LANES == 16
    return WidenBytes(_mm256_set_m128i(_mm_unpackhi_epi8(low, high), _mm_unpacklo_epi8(low, high)));
#else
    return WidenBytes(_mm_unpacklo_epi8(low, high));
#endif
  }
  template <int i>
  FOVEA_INLINE Sum DotAdd(X x, E e, Sum sum) {
    return AddPairsOf(x, e, sum);
  }

  FOVEA_INLINE void StoreQueries(VF biased, Code* lanes) {
    hn::StoreU16(hn::BitCast(kI, biased), reinterpret_cast<uint16_t*>(lanes));
  }
  FOVEA_INLINE void StoreWeights(const VF (&biased)[2], Code* to) {
    const VI pairs = hn::Add(hn::BitCast(kI, biased[0]), hn::ShiftLeft<16>(hn::BitCast(kI, biased[1])));
    StoreWords(hn::Raw(hn::Sub(pairs, hn::BitCast(kI, hn::Set(kF, kRoundingBias)))), to);
  }
  FOVEA_INLINE void StoreCodes(VF codes, RowCode* to, size_t n) {
    const VI bits = hn::BitCast(kI, hn::Add(codes, hn::Set(kF, kRoundingBias)));
    if (n == kLanes) {
      hn::StoreU16(bits, reinterpret_cast<uint16_t*>(to));
    } else {
      hn::StoreU16N(bits, reinterpret_cast<uint16_t*>(to), n);
    }
  }

  static constexpr bool kWidensRows = true;
  // Turns a row of bytes into codes. A code of 0 completes the last pair, if that is not whole.
  FOVEA_INLINE void WidenRow(const int8_t* row, size_t dim, RowCode* to) {
    size_t d = 0;
    for (; d + 2 * kLanes <= dim; d += 2 * kLanes) StoreWords(LoadBytes(row + d), to + d);
#if FOVEA_X86_LANES == 16
    for (; d + 16 <= dim; d += 16) {  // half a group of q6_k
      const __m128i bytes = _mm_loadu_si128(reinterpret_cast<const __m128i*>(row + d));
      _mm256_storeu_si256(reinterpret_cast<__m256i*>(to + d), _mm256_cvtepi8_epi16(bytes));
    }
#endif
    for (; d < dim; ++d) to[d] = row[d];
    if (dim % 2 != 0) to[dim] = 0;
  }
  // to[element][2] = element of each of two rows, for the elements of whole vectors. Returns how many these are.
  FOVEA_INLINE size_t PackGroup(const int8_t* const (&row)[2], size_t elements, RowCode* to, int32_t*) {
    size_t e = 0;
    for (; e + kLanes <= elements; e += kLanes) StoreWords(WidenPairs(row[0] + e, row[1] + e), to + 2 * e);
    return e;
  }

  // ---- for the few-rows kernel

  using FewCode = int16_t;    // of a query
  using FewWeight = int16_t;  // of a weight
  using FewX = hn::raw::I;
  static constexpr size_t FewReads(size_t) { return 2 * kLanes; }
  static constexpr size_t kFewXCodes = 2 * kLanes;
  static constexpr uint32_t kFewKeysAtOnce = 2;

  FOVEA_INLINE void StoreFewWeights(VF biased, FewWeight* lanes) { StoreQueries(biased, lanes); }
  FOVEA_INLINE FewX LoadFewX(const FewCode* p) { return LoadX(p); }
  template <int kRows>
  FOVEA_INLINE FewX LoadFew(const int8_t* p) {
    return LoadBytes(p);
  }
  template <int kRows>
  FOVEA_INLINE FewX LoadFewPart(const int8_t* p, size_t n) {
#if FOVEA_X86_LANES == 16
    return WidenBytes(_mm256_maskz_loadu_epi8(__mmask32((uint64_t{1} << n) - 1), p));
#else
    if (n == kLanes) return WidenBytes(hn::raw::LoadBytes(p));  // the other half is 0
    int8_t bytes[2 * kLanes] = {};
    __builtin_memcpy(bytes, p, n);
    return LoadBytes(bytes);
#endif
  }
  FOVEA_INLINE Sum FewScoreDot(FewX x, FewX e, Sum sum) { return AddPairsOf(x, e, sum); }

  FOVEA_INLINE FewX SetFewWeights(const FewWeight* p) { return LoadE(p); }
  FOVEA_INLINE Sum FewValueDot(FewX x, FewX e, Sum sum) { return AddPairsOf(x, e, sum); }
  template <int kVectors>
  FOVEA_INLINE void LoadFewValues(const int8_t* const (&at)[2], FewX (&values)[kVectors]) {
    FOVEA_EACH(v, kVectors) values[v] = WidenPairs(at[0] + v * kLanes, at[1] + v * kLanes);
  }
  template <int kVectors>
  FOVEA_INLINE void LoadFewValuesPart(const int8_t* const (&at)[2], size_t n, FewX (&values)[kVectors]) {
    int8_t rows[2][kVectors * kLanes] = {};
    __builtin_memcpy(rows[0], at[0], n);
    __builtin_memcpy(rows[1], at[1], n);
    LoadFewValues({rows[0], rows[1]}, values);
  }

  // ---- for rows of groups

  static constexpr size_t kFewGroupRows = 1, kFewGroupParts = 16 / kLanes;

#if FOVEA_X86_LANES == 16
  static constexpr bool kSumsHalves = true;
  // Lane i: the sum of the first half of the lanes of v[i]. In `second` that of the other half.
  FOVEA_INLINE VF SumsOfHalves(const Sum (&v)[16], VF& second) {
    const Sum a = AddBlocks(SumsOfBlocks(v), SumsOfBlocks(v + 4));
    const Sum b = AddBlocks(SumsOfBlocks(v + 8), SumsOfBlocks(v + 12));
    second = ToFloat(_mm512_shuffle_i32x4(a, b, 0xdd));
    return ToFloat(_mm512_shuffle_i32x4(a, b, 0x88));
  }
#endif

  FOVEA_INLINE void LoadFewGroup(const uint8_t* const (&at)[1], FewX (&codes)[kFewGroupParts]) {
    FOVEA_EACH(i, kFewGroupParts) {
      codes[i] = LoadBytes(reinterpret_cast<const int8_t*>(at[0]) + i * 2 * kLanes);
    }
  }
  FOVEA_INLINE void LoadFewNibbles(const uint8_t* const (&at)[1], FewX (&codes)[kFewGroupParts]) {
    const __m128i bytes = _mm_loadu_si128(reinterpret_cast<const __m128i*>(at[0])), low_bits = _mm_set1_epi8(15);
    const __m128i low = _mm_and_si128(bytes, low_bits), high = _mm_and_si128(_mm_srli_epi16(bytes, 4), low_bits);
#if FOVEA_X86_LANES == 16
    codes[0] = WidenBytes(_mm256_set_m128i(high, low));
#elif FOVEA_X86_LANES == 8
    codes[0] = WidenBytes(low), codes[1] = WidenBytes(high);
#else
    codes[0] = WidenBytes(low), codes[1] = WidenBytes(_mm_unpackhi_epi64(low, low));
    codes[2] = WidenBytes(high), codes[3] = WidenBytes(_mm_unpackhi_epi64(high, high));
#endif
  }
};

#endif  // FOVEA_SRC_SIMD_DOT_PMADDWD_INL_
