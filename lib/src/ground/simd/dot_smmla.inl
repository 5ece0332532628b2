// SPDX-License-Identifier: Apache-2.0
//
// The dot words of AArch64's smmla and usmmla, which multiply eight codes of each of two columns by as many of two
// rows. The instructions are written in assembly, so that the file needs no other compiler flags than its neighbours.
#ifndef FOVEA_SRC_SIMD_DOT_SMMLA_INL_
#define FOVEA_SRC_SIMD_DOT_SMMLA_INL_
#include "ground/simd/dot_neon.inl"

struct Smmla : NeonBytes, DotShape<kDotSmmla> {
  static constexpr float kWeightBias = kRoundingBias;  // added to a weight: the low byte is its code

  // A sum has two rows and two columns: lane 2 c + r has row r and column c.
  template <int kRows, int kVectors>
  using Sums = Sum[kRows / 2][2 * kVectors];

  template <int kPairs, int kHalves>
  FOVEA_INLINE void Begin(int k, int32_t, Sum (&sums)[kPairs][kHalves]) {
    FOVEA_EACH(v, kHalves) sums[k / 2][v] = vdupq_n_s32(0);
  }

  template <bool kSignedColumns>
  FOVEA_INLINE Sum DotAdd(int8x16_t x, int8x16_t e, Sum sum) {
    if constexpr (kSignedColumns) {
      asm(FOVEA_ASM_I8MM "smmla %0.4s, %1.16b, %2.16b" : "+w"(sum) : "w"(x), "w"(e));
    } else {
      asm(FOVEA_ASM_I8MM "usmmla %0.4s, %1.16b, %2.16b" : "+w"(sum) : "w"(x), "w"(e));
    }
    return sum;
  }

  // Adds the products of pairs of rows with half of the columns, from x on, which advances: kHalf 0, then 1.
  template <bool kSignedColumns, int kHalf, int kPairs, int kHalves>
  FOVEA_INLINE void AddHalf(const Code*& x, size_t step, const int8x16_t (&e)[kPairs], Sum (&sums)[kPairs][kHalves]) {
    constexpr int kCount = kHalves / 2;
    int8x16_t at[kCount];
    NextBytes(x, kHalf == 0 ? size_t{16 * kCount} : step - 16 * kCount, at);
    FOVEA_EACH(v, kCount) {
      FOVEA_EACH(k, kPairs) {
        Sum& sum = sums[k][kHalf * kCount + v];
        sum = DotAdd<kSignedColumns>(at[v], e[k], sum);
      }
    }
  }

  // sums[k] += 16 codes of columns, from x on, which advances past them, times as many codes e[k] of a row.
  template <int kRows, int kPairs, int kHalves>
  FOVEA_INLINE void AddKeys(const Code*& x, size_t step, const E (&e)[kRows], Sum (&sums)[kPairs][kHalves]) {
    int8x16_t low[kPairs], high[kPairs];
    FOVEA_EACH(k, kPairs) {
      const int64x2_t a = vreinterpretq_s64_s8(e[2 * k]), b = vreinterpretq_s64_s8(e[2 * k + 1]);
      low[k] = vreinterpretq_s8_s64(vzip1q_s64(a, b));
      high[k] = vreinterpretq_s8_s64(vzip2q_s64(a, b));
    }
    AddHalf<true, 0>(x, step, low, sums);
    AddHalf<true, 1>(x, step, low, sums);
    AddHalf<true, 0>(x, step, high, sums);
    AddHalf<true, 1>(x, step, high, sums);
  }

  // sums[k] += a group of weights times element k of the values. x and value advance by their steps.
  template <int kPairs, int kHalves>
  FOVEA_INLINE void AddValues(const Code*& x, size_t step, const RowCode*& value, size_t value_step,
                              Sum (&sums)[kPairs][kHalves]) {
    int8x16_t e[kPairs];
    NextBytes(value, value_step, e);
    AddHalf<false, 0>(x, step, e, sums);
    AddHalf<false, 1>(x, step, e, sums);
  }

  // The sums of row k with vector v.
  template <int kPairs, int kHalves>
  FOVEA_INLINE VI IntsOf(const Sum (&sums)[kPairs][kHalves], int k, int v) {
    const Sum a = sums[k / 2][2 * v], b = sums[k / 2][2 * v + 1];
    return ToInts(k % 2 == 0 ? vuzp1q_s32(a, b) : vuzp2q_s32(a, b));
  }
  template <int kPairs, int kHalves>
  FOVEA_INLINE VF SumsOf(const Sum (&sums)[kPairs][kHalves], int k, int v) {
    return hn::ConvertTo(kF, IntsOf(sums, k, v));
  }

  // Stores 16 codes of each of four columns.
  FOVEA_INLINE void StoreColumns(const int8x16_t (&v)[4], Code* x, size_t step) {
    int64x2_t columns[4];
    FOVEA_EACH(i, 4) columns[i] = vreinterpretq_s64_s8(v[i]);
    vst1q_u8(x, vreinterpretq_u8_s64(vzip1q_s64(columns[0], columns[1])));
    vst1q_u8(x + 16, vreinterpretq_u8_s64(vzip1q_s64(columns[2], columns[3])));
    vst1q_u8(x + step, vreinterpretq_u8_s64(vzip2q_s64(columns[0], columns[1])));
    vst1q_u8(x + step + 16, vreinterpretq_u8_s64(vzip2q_s64(columns[2], columns[3])));
  }

  FOVEA_INLINE void StoreWeights(const VF (&biased)[8], Code* to) {
    const int32x4_t low = JoinBytes(biased), high = JoinBytes(biased + 4);
    vst1q_u8(to, vreinterpretq_u8_s32(vzip1q_s32(low, high)));
    vst1q_u8(to + 16, vreinterpretq_u8_s32(vzip2q_s32(low, high)));
  }

  // The same for several vectors, from weights times `inverse`. w advances past them.
  template <int kVectors>
  FOVEA_INLINE void StoreWeights(const float*& w, size_t columns, const VF (&inverse)[kVectors], Code* to) {
    int32x4_t low[kVectors], high[kVectors];
    JoinWeights(w, columns, inverse, kWeightBias, low);
    JoinWeights(w, columns, inverse, kWeightBias, high);
    FOVEA_EACH(v, kVectors) {
      const int32x4_t both[2] = {vzip1q_s32(low[v], high[v]), vzip2q_s32(low[v], high[v])};
      StoreVectors(both, to + 32 * v);
    }
  }

  // to[element][8] = element of each of eight rows, for the elements of whole vectors of 16. Returns how many these are.
  FOVEA_INLINE size_t PackGroup(const int8_t* const (&row)[8], size_t elements, RowCode* to, int32_t*) {
    size_t e = 0;
    for (; e + 16 <= elements; e += 16, to += 128) {
      int8x16_t v[8], lo[4], hi[4];
      FOVEA_EACH(i, 8) v[i] = vld1q_s8(row[i] + e);
      FOVEA_EACH(i, 4) {
        lo[i] = vzip1q_s8(v[i], v[i + 4]);
        hi[i] = vzip2q_s8(v[i], v[i + 4]);
      }
      Interleave(lo);
      Interleave(hi);
      FOVEA_EACH(i, 4) {
        vst1q_s8(to + 16 * i, lo[i]);
        vst1q_s8(to + 64 + 16 * i, hi[i]);
      }
    }
    return e;
  }
};

#endif  // FOVEA_SRC_SIMD_DOT_SMMLA_INL_
