// SPDX-License-Identifier: Apache-2.0
//
// What the dot headers of AArch64 share: codes of queries are signed, rows are read 16 codes at a time.
#ifndef FOVEA_SRC_SIMD_DOT_NEON_INL_
#define FOVEA_SRC_SIMD_DOT_NEON_INL_
#include "ground/simd/asm_neon64.inl"
#include "ground/simd/dot_defaults.inl"

struct NeonBytes : DotDefaults {
  using Code = uint8_t;
  using RowCode = int8_t;

  using E = int8x16_t;
  using Sum = int32x4_t;

  FOVEA_INLINE E LoadE(const RowCode* p) { return vld1q_s8(p); }
  FOVEA_INLINE E LoadPartOfE(const RowCode* p, size_t n) {
    RowCode codes[16] = {};
    for (size_t i = 0; i < n; ++i) codes[i] = p[i];
    return vld1q_s8(codes);
  }

  // Loads n consecutive vectors, of columns or of elements, and advances p by `step` codes. From intrinsics g++ 12 makes
  // a load for each.
  template <int n, class C>
  FOVEA_INLINE void NextBytes(const C*& p, size_t step, int8x16_t (&v)[n]) {
#if !defined(__clang__)
    typedef C Codes[16 * n];
    if constexpr (n == 1) {
      asm("ld1 {%0.16b}, [%1], %2" : "=w"(v[0]), "+r"(p) : "r"(step), "m"(*reinterpret_cast<const Codes*>(p)));
      return;
    } else if constexpr (n == 2) {
      int8x16x2_t two;
      asm("ld1 {%S0.16b - %T0.16b}, [%1], %2"
          : "=w"(two), "+r"(p)
          : "r"(step), "m"(*reinterpret_cast<const Codes*>(p)));
      v[0] = two.val[0], v[1] = two.val[1];
      return;
    } else if constexpr (n == 3) {
      int8x16x3_t three;
      asm("ld1 {%S0.16b - %U0.16b}, [%1], %2"
          : "=w"(three), "+r"(p)
          : "r"(step), "m"(*reinterpret_cast<const Codes*>(p)));
      v[0] = three.val[0], v[1] = three.val[1], v[2] = three.val[2];
      return;
    } else if constexpr (n == 4) {
      int8x16x4_t four;
      asm("ld1 {%S0.16b - %V0.16b}, [%1], %2"
          : "=w"(four), "+r"(p)
          : "r"(step), "m"(*reinterpret_cast<const Codes*>(p)));
      v[0] = four.val[0], v[1] = four.val[1], v[2] = four.val[2], v[3] = four.val[3];
      return;
    }
#endif
    FOVEA_EACH(i, n) v[i] = vld1q_s8(reinterpret_cast<const int8_t*>(p) + 16 * i);
    p += step;
    FOVEA_OPAQUE(p);
  }

  template <int n>
  FOVEA_INLINE void LoadVectors(const float* p, VF (&v)[n]) {
    hn::raw::V r[n];
    hn::raw::LoadVectors(p, r);
    FOVEA_EACH(i, n) v[i] = VF{r[i]};
  }
  template <int n>
  FOVEA_INLINE void StoreVectors(const VF (&v)[n], float* p) {
    hn::raw::V r[n];
    FOVEA_EACH(i, n) r[i] = hn::Raw(v[i]);
    hn::raw::StoreVectors(r, p);
  }
  template <int n>
  FOVEA_INLINE void StoreVectors(const int32x4_t (&v)[n], Code* p) {
    hn::raw::V r[n];
    FOVEA_EACH(i, n) r[i] = vreinterpretq_f32_s32(v[i]);
    hn::raw::StoreVectors(r, reinterpret_cast<float*>(p));
  }
  FOVEA_INLINE void StoreBytes(const int8x16_t (&v)[4], RowCode* p) {
    hn::raw::V r[4];
    FOVEA_EACH(i, 4) r[i] = vreinterpretq_f32_s8(v[i]);
    hn::raw::StoreVectors(r, reinterpret_cast<float*>(p));
  }

  // Interleaves four vectors byte by byte.
  FOVEA_INLINE void Interleave(int8x16_t (&v)[4]) {
    const int8x16_t lo02 = vzip1q_s8(v[0], v[2]), hi02 = vzip2q_s8(v[0], v[2]);
    const int8x16_t lo13 = vzip1q_s8(v[1], v[3]), hi13 = vzip2q_s8(v[1], v[3]);
    v[0] = vzip1q_s8(lo02, lo13);
    v[1] = vzip2q_s8(lo02, lo13);
    v[2] = vzip1q_s8(hi02, hi13);
    v[3] = vzip2q_s8(hi02, hi13);
  }

  FOVEA_INLINE VI ToInts(Sum sum) { return VI{sum}; }
  FOVEA_INLINE VF ToFloat(Sum sum) { return VF{vcvtq_f32_s32(sum)}; }

  FOVEA_INLINE void StoreQueries(VF biased, Code* lanes) { hn::StoreU8(hn::BitCast(kI, biased), lanes); }

  // Packs the low bytes of four vectors of biased codes into one vector: byte i of each lane comes from v[i].
  FOVEA_INLINE int32x4_t JoinBytes(const VF* v) {
    const int32x4_t ab = vsliq_n_s32(hn::Raw(hn::BitCast(kI, v[0])), hn::Raw(hn::BitCast(kI, v[1])), 8);
    const int32x4_t abc = vsliq_n_s32(ab, hn::Raw(hn::BitCast(kI, v[2])), 16);
    return vsliq_n_s32(abc, hn::Raw(hn::BitCast(kI, v[3])), 24);
  }

  // NaN if one of them is.
  FOVEA_INLINE VF MaxOrNan(VF a, VF b) { return VF{vmaxq_f32(hn::Raw(a), hn::Raw(b))}; }
  // Lane i is the largest of v[i], or NaN if one of its lanes is.
  FOVEA_INLINE VF LargestLanes(const VF (&v)[4]) {
    const float32x4_t low = vpmaxq_f32(hn::Raw(v[0]), hn::Raw(v[1])), high = vpmaxq_f32(hn::Raw(v[2]), hn::Raw(v[3]));
    return VF{vpmaxq_f32(low, high)};
  }
  // 16 codes: v times lane r of inverse, to the nearest, ties to even, and 0 for NaN.
  template <int r>
  FOVEA_INLINE int8x16_t Codes(const VF (&v)[4], VF inverse) {
    int16x8_t codes[4];
    FOVEA_EACH(i, 4) {
      codes[i] = vreinterpretq_s16_s32(vcvtnq_s32_f32(vmulq_laneq_f32(hn::Raw(v[i]), hn::Raw(inverse), r)));
    }
    return vuzp1q_s8(vreinterpretq_s8_s16(vuzp1q_s16(codes[0], codes[1])),
                     vreinterpretq_s8_s16(vuzp1q_s16(codes[2], codes[3])));
  }

  // Puts the codes of a key's weights, which are weights times `inverse` plus `bias`, into byte i of each lane. w advances by
  // `columns`.
  template <int i, int kVectors>
  FOVEA_INLINE void JoinKey(const float*& w, size_t columns, const VF (&inverse)[kVectors], VF bias,
                            int32x4_t (&words)[kVectors]) {
    VF weights[kVectors];
    LoadVectors(w, weights);
    w += columns;
    FOVEA_EACH(v, kVectors) {
      const int32x4_t code = hn::Raw(hn::BitCast(kI, hn::Add(hn::Mul(weights[v], inverse[v]), bias)));
      if constexpr (i == 0) {
        words[v] = code;
      } else {
        words[v] = vsliq_n_s32(words[v], code, 8 * i);
      }
    }
  }
  // Packs the codes of four keys' weights into each lane, a byte each. w advances past them.
  template <int kVectors>
  FOVEA_INLINE void JoinWeights(const float*& w, size_t columns, const VF (&inverse)[kVectors], float weight_bias,
                                int32x4_t (&words)[kVectors]) {
    const VF bias = hn::Set(kF, weight_bias);
    JoinKey<0>(w, columns, inverse, bias, words);
    JoinKey<1>(w, columns, inverse, bias, words);
    JoinKey<2>(w, columns, inverse, bias, words);
    JoinKey<3>(w, columns, inverse, bias, words);
  }
};

#endif  // FOVEA_SRC_SIMD_DOT_NEON_INL_
