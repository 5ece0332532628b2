// SPDX-License-Identifier: Apache-2.0
//
// The dot words of AArch64's sdot, by element: four codes of each column times four codes of a row. The instruction is
// written as text, so that it needs no other compiler flags than its neighbours.

namespace dot {

constexpr DotKind kKind = kDotSdot;
constexpr bool kUnsignedQueries = false, kSignedWeights = true;
constexpr float kWeightBias = kRoundingBias + 128.0f;  // added to a weight: the low byte is its code, 128 less

#include "simd/dot_neon.inl"

// A sum has four columns and one row.
template <int kRows, int kVectors>
using Sums = Sum[kRows][kVectors];

template <int kRows, int kVectors>
FOVEA_INLINE void Begin(int k, int32_t start, Sum (&sums)[kRows][kVectors]) {
  FOVEA_UNROLL(4)
  for (int v = 0; v < kVectors; ++v) sums[k][v] = vdupq_n_s32(start);
}

template <int i>
FOVEA_INLINE Sum DotAdd(int8x16_t x, E e, Sum sum) {
  asm(FOVEA_ASM_DOTPROD "sdot %0.4s, %1.16b, %2.4b[%3]" : "+w"(sum) : "w"(x), "w"(e), "n"(i));
  return sum;
}

// sums[k] += 16 codes of columns, from x on, which moves behind them, times as many codes e[k] of a row.
template <int i = 0, int kRows, int kVectors>
FOVEA_INLINE void AddKeys(const Code*& x, size_t step, const E (&e)[kRows], Sum (&sums)[kRows][kVectors]) {
  int8x16_t at[kVectors];
  NextBytes(x, step, at);
  FOVEA_UNROLL(8)
  for (int k = 0; k < kRows; ++k) {
    FOVEA_UNROLL(4)
    for (int v = 0; v < kVectors; ++v) sums[k][v] = DotAdd<i>(at[v], e[k], sums[k][v]);
  }
  if constexpr (i < 3) AddKeys<i + 1>(x, step, e, sums);
}

// sums[k] += a group of weights times element k of the values. x and value move on by their steps.
template <int k, int kRows, int kVectors>
FOVEA_INLINE void AddElements(const int8x16_t (&x)[kVectors], const E (&e)[kRows / 4], Sum (&sums)[kRows][kVectors]) {
  FOVEA_UNROLL(4)
  for (int v = 0; v < kVectors; ++v) sums[k][v] = DotAdd<k % 4>(x[v], e[k / 4], sums[k][v]);
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
FOVEA_INLINE VF SumsOf(const Sum (&sums)[kRows][kVectors], int k, int v) {
  return ToFloat(sums[k][v]);
}

// 16 codes of each of four columns, where these have them.
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

// The same of four keys and several vectors, from weights times `inverse`. w moves behind them.
template <int kVectors>
FOVEA_INLINE void StoreWeights(const float*& w, size_t columns, const VF (&inverse)[kVectors], Code* to) {
  int32x4_t words[kVectors];
  JoinWeights(w, columns, inverse, words);
  StoreVectors(words, to);
}

// to[element][4] = element of each of four rows, for the elements of whole vectors of 16, and start += 128 times their
// sum. Returns how many these are.
FOVEA_INLINE size_t PackGroup(const int8_t* const (&row)[4], size_t elements, RowCode* to, int32_t* start) {
  const int8x16_t half = vdupq_n_s8(64);
  size_t e = 0;
  for (; e + 16 <= elements; e += 16, to += 64) {
    int8x16_t v[4];
    FOVEA_UNROLL(4)
    for (int i = 0; i < 4; ++i) v[i] = vld1q_s8(row[i] + e);
    Interleave(v);
    FOVEA_UNROLL(4)
    for (int i = 0; i < 4; ++i) {
      vst1q_s8(to + 16 * i, v[i]);
      Sum sum = vld1q_s32(start + e + 4 * i);
      asm(FOVEA_ASM_DOTPROD "sdot %0.4s, %1.16b, %2.16b\n\tsdot %0.4s, %1.16b, %2.16b"
          : "+w"(sum)
          : "w"(v[i]), "w"(half));
      vst1q_s32(start + e + 4 * i, sum);
    }
  }
  return e;
}

}  // namespace dot
