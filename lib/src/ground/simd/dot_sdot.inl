// SPDX-License-Identifier: Apache-2.0
//
// The dot words of AArch64's sdot, by element: four codes of each column times four codes of a row. The instruction is
// written in assembly, so that the file needs no other compiler flags than its neighbours.
#ifndef FOVEA_SRC_SIMD_DOT_SDOT_INL_
#define FOVEA_SRC_SIMD_DOT_SDOT_INL_
#include "ground/simd/dot_neon.inl"

struct Sdot : NeonBytes, DotShape<kDotSdot>, FewDefaults<Sdot> {
  static constexpr bool kSignedWeights = true;
  static constexpr float kWeightBias =
      kRoundingBias + 128.0f;  // added to a weight: the low byte is then its code - 128

  // A sum has four columns and one row.
  template <int kRows, int kVectors>
  using Sums = Sum[kRows][kVectors];

  template <int kRows, int kVectors>
  FOVEA_INLINE void Begin(int k, int32_t start, Sum (&sums)[kRows][kVectors]) {
    FOVEA_EACH(v, kVectors) sums[k][v] = vdupq_n_s32(start);
  }

  template <int i>
  FOVEA_INLINE Sum DotAdd(int8x16_t x, E e, Sum sum) {
    asm(FOVEA_ASM_DOTPROD "sdot %0.4s, %1.16b, %2.4b[%3]" : "+w"(sum) : "w"(x), "w"(e), "n"(i));
    return sum;
  }

  // sums[k] += 16 codes of columns, from x on, which advances past them, times as many codes e[k] of a row.
  template <int i = 0, int kRows, int kVectors>
  FOVEA_INLINE void AddKeys(const Code*& x, size_t step, const E (&e)[kRows], Sum (&sums)[kRows][kVectors]) {
    int8x16_t at[kVectors];
    NextBytes(x, step, at);
    FOVEA_EACH(k, kRows) {
      FOVEA_EACH(v, kVectors) sums[k][v] = DotAdd<i>(at[v], e[k], sums[k][v]);
    }
    if constexpr (i < 3) AddKeys<i + 1>(x, step, e, sums);
  }

  // sums[k] += a group of weights times element k of the values. x and value advance by their steps.
  template <int k, int kRows, int kVectors>
  FOVEA_INLINE void AddElements(const int8x16_t (&x)[kVectors], const E (&e)[kRows / 4], Sum (&sums)[kRows][kVectors]) {
    FOVEA_EACH(v, kVectors) sums[k][v] = DotAdd<k % 4>(x[v], e[k / 4], sums[k][v]);
    if constexpr (k + 1 < kRows) AddElements<k + 1>(x, e, sums);
  }
  template <int kRows, int kVectors>
  FOVEA_INLINE void AddValues(const Code*& x, size_t step, const RowCode*& value, size_t value_step,
                              Sum (&sums)[kRows][kVectors]) {
    int8x16_t at[kVectors];
    E e[kRows / 4];
    NextBytes(x, step, at);
    NextBytes(value, value_step, e);
    AddElements<0>(at, e, sums);
  }

  // The sums of row k with vector v.
  template <int kRows, int kVectors>
  FOVEA_INLINE VI IntsOf(const Sum (&sums)[kRows][kVectors], int k, int v) {
    return ToInts(sums[k][v]);
  }
  template <int kRows, int kVectors>
  FOVEA_INLINE VF SumsOf(const Sum (&sums)[kRows][kVectors], int k, int v) {
    return ToFloat(sums[k][v]);
  }

  // Stores 16 codes of each of four columns.
  FOVEA_INLINE void StoreColumns(const int8x16_t (&v)[4], Code* x, size_t step) {
    const int32x4_t lo02 = vzip1q_s32(vreinterpretq_s32_s8(v[0]), vreinterpretq_s32_s8(v[2]));
    const int32x4_t hi02 = vzip2q_s32(vreinterpretq_s32_s8(v[0]), vreinterpretq_s32_s8(v[2]));
    const int32x4_t lo13 = vzip1q_s32(vreinterpretq_s32_s8(v[1]), vreinterpretq_s32_s8(v[3]));
    const int32x4_t hi13 = vzip2q_s32(vreinterpretq_s32_s8(v[1]), vreinterpretq_s32_s8(v[3]));
    vst1q_u8(x, vreinterpretq_u8_s32(vzip1q_s32(lo02, lo13)));
    vst1q_u8(x + step, vreinterpretq_u8_s32(vzip2q_s32(lo02, lo13)));
    vst1q_u8(x + 2 * step, vreinterpretq_u8_s32(vzip1q_s32(hi02, hi13)));
    vst1q_u8(x + 3 * step, vreinterpretq_u8_s32(vzip2q_s32(hi02, hi13)));
  }

  FOVEA_INLINE void StoreWeights(const VF (&biased)[4], Code* to) {
    vst1q_u8(to, veorq_u8(vreinterpretq_u8_s32(JoinBytes(biased)), vdupq_n_u8(0x80)));
  }

  // The same for four keys and several vectors, from weights times `inverse`. w advances past them.
  template <int kVectors>
  FOVEA_INLINE void StoreWeights(const float*& w, size_t columns, const VF (&inverse)[kVectors], Code* to) {
    int32x4_t words[kVectors];
    JoinWeights(w, columns, inverse, kWeightBias, words);
    StoreVectors(words, to);
  }

  // to[element][4] = element of each of four rows, for the elements of whole vectors of 16, and start += 128 times their
  // sum. Returns how many these are.
  FOVEA_INLINE size_t PackGroup(const int8_t* const (&row)[4], size_t elements, RowCode* to, int32_t* start) {
    const int8x16_t half = vdupq_n_s8(64);
    size_t e = 0;
    for (; e + 16 <= elements; e += 16, to += 64) {
      int8x16_t v[4];
      FOVEA_EACH(i, 4) v[i] = vld1q_s8(row[i] + e);
      Interleave(v);
      VF starts[4];
      LoadVectors(reinterpret_cast<const float*>(start + e), starts);
      FOVEA_EACH(i, 4) {
        Sum sum = vreinterpretq_s32_f32(hn::Raw(starts[i]));
        asm(FOVEA_ASM_DOTPROD "sdot %0.4s, %1.16b, %2.16b\n\tsdot %0.4s, %1.16b, %2.16b"
            : "+w"(sum)
            : "w"(v[i]), "w"(half));
        starts[i] = VF{vreinterpretq_f32_s32(sum)};
      }
      StoreBytes(v, to);
      StoreVectors(starts, reinterpret_cast<float*>(start + e));
    }
    return e;
  }

  // ---- for the few-rows kernel: products of values take both sides as unsigned

  using FewCode = int8_t;     // of a query
  using FewWeight = uint8_t;  // of a weight
  using FewX = int8x16_t;
  static constexpr size_t FewReads(size_t) { return 16; }
  static constexpr size_t kFewXCodes = 16;
  static constexpr uint32_t kFewKeysAtOnce = 4;

  FOVEA_INLINE void StoreFewQueries(VF biased, FewCode* lanes) { StoreQueries(biased, reinterpret_cast<Code*>(lanes)); }
  FOVEA_INLINE void StoreFewWeights(VF biased, FewWeight* lanes) { StoreQueries(biased, lanes); }
  FOVEA_INLINE FewX LoadFewX(const FewCode* p) { return vld1q_s8(p); }
  template <int kRows>
  FOVEA_INLINE FewX LoadFew(const int8_t* p) {
    return vld1q_s8(p);
  }
  template <int kRows>
  FOVEA_INLINE FewX LoadFewPart(const int8_t* p, size_t n) {
    return LoadPartOfE(p, n);
  }
  FOVEA_INLINE FewX SetFewWeights(const FewWeight* p) {
    uint32_t four;
    __builtin_memcpy(&four, p, 4);
    return vreinterpretq_s8_u32(vdupq_n_u32(four));
  }
  FOVEA_INLINE Sum FewZero() { return vdupq_n_s32(0); }
  FOVEA_INLINE Sum FewAdd(Sum a, Sum b) { return vaddq_s32(a, b); }
  FOVEA_INLINE Sum FewScoreDot(FewX x, FewX e, Sum sum) {
    asm(FOVEA_ASM_DOTPROD "sdot %0.4s, %1.16b, %2.16b" : "+w"(sum) : "w"(x), "w"(e));
    return sum;
  }
  FOVEA_INLINE Sum FewValueDot(FewX x, FewX e, Sum sum) {
    asm(FOVEA_ASM_DOTPROD "udot %0.4s, %1.16b, %2.16b" : "+w"(sum) : "w"(x), "w"(e));
    return sum;
  }
  // 128 is added to the codes of values. Sums begin with the correction for this, from `count` weights and the zeros
  // after them.
  FOVEA_INLINE Sum FewValueStart(const FewWeight* weights, uint32_t count) {
    Sum sum = FewZero();
    for (uint32_t k = 0; k < count; k += 16) {
      sum = FewValueDot(vdupq_n_s8(-128), vreinterpretq_s8_u8(vld1q_u8(weights + k)), sum);
    }
    return vdupq_n_s32(-vaddvq_s32(sum));
  }

  // Lane i is the sum of the lanes of sums[i].
  template <int kRows>
  FOVEA_INLINE VI IntsOfRows(const Sum (&sums)[4]) {
    return ToInts(vpaddq_s32(vpaddq_s32(sums[0], sums[1]), vpaddq_s32(sums[2], sums[3])));
  }
  template <int kRows>
  FOVEA_INLINE VF SumsOfRows(const Sum (&sums)[4]) {
    return hn::ConvertTo(kF, IntsOfRows<kRows>(sums));
  }

  FOVEA_INLINE void InterleaveValues(FewX (&values)[4]) {
    Interleave(values);
    FOVEA_UNROLL(4)
    for (FewX& v : values) v = veorq_s8(v, vdupq_n_s8(-128));
  }
  FOVEA_INLINE void LoadFewValues(const int8_t* const (&at)[4], FewX (&values)[4]) {
    FOVEA_EACH(i, 4) values[i] = vld1q_s8(at[i]);
    InterleaveValues(values);
  }
  FOVEA_INLINE void LoadFewValuesPart(const int8_t* const (&at)[4], size_t n, FewX (&values)[4]) {
    FOVEA_EACH(i, 4) values[i] = LoadPartOfE(at[i], n);
    InterleaveValues(values);
  }

  // ---- for rows of groups

  static constexpr size_t kFewGroupRows = 1, kFewGroupParts = 2;

  FOVEA_INLINE void LoadFewGroupX(const FewCode* x, FewX (&codes)[2]) {
    codes[0] = vld1q_s8(x), codes[1] = vld1q_s8(x + 16);
  }
  FOVEA_INLINE void LoadFewGroup(const uint8_t* const (&at)[1], FewX (&codes)[2]) {
    LoadFewGroupX(reinterpret_cast<const int8_t*>(at[0]), codes);
  }
  FOVEA_INLINE void LoadFewNibbles(const uint8_t* const (&at)[1], FewX (&codes)[2]) {
    const uint8x16_t bytes = vld1q_u8(at[0]);
    codes[0] = vreinterpretq_s8_u8(vandq_u8(bytes, vdupq_n_u8(15)));
    codes[1] = vreinterpretq_s8_u8(vshrq_n_u8(bytes, 4));
  }
};

#endif  // FOVEA_SRC_SIMD_DOT_SDOT_INL_
