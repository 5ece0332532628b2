// SPDX-License-Identifier: Apache-2.0
//
// The words for products of halves of AArch64's FEAT_FP16, which multiplies vectors by an element.
#ifndef FOVEA_SRC_SIMD_HALF_NEON64_INL_
#define FOVEA_SRC_SIMD_HALF_NEON64_INL_

#include "ground/simd/asm_neon64.inl"

struct NeonHalves {
  static constexpr size_t kLanes = 8;
  static constexpr int kBlockVectors = ::fovea::kHalfVectors, kRows = 8, kReads = 8;
  static constexpr int kPieces = 2;
  static constexpr bool kByScalars = false, kServesFewRows = true;

  using Element = uint16_t;
  using V = float16x8_t;
  using E = float16x8_t;
  using M = uint16x8_t;

  FOVEA_INLINE V Zero() { return vreinterpretq_f16_u16(vdupq_n_u16(0)); }
  FOVEA_INLINE V Load(const Element* p) { return vreinterpretq_f16_u16(vld1q_u16(p)); }
  FOVEA_INLINE E LoadE(const Element* p) { return Load(p); }
  FOVEA_INLINE E LoadOne(const Element* p) { return vreinterpretq_f16_u16(vld1q_dup_u16(p)); }
  // The elements at p, which then advances by `step` elements.
  FOVEA_INLINE E NextE(const Element*& p, ptrdiff_t step) {
    typedef Element Eight[kLanes];
    E e;
    asm("ld1 {%0.8h}, [%1], %3"
        : "=w"(e), "+r"(p)
        : "Q"(*reinterpret_cast<const Eight*>(p)), "r"(size_t(step) * sizeof *p));
    return e;
  }
  FOVEA_INLINE void Store(VF v, Element* p) { hn::StoreF16(v, p); }
  FOVEA_INLINE M SignMask(V v) { return vreinterpretq_u16_s16(vshrq_n_s16(vreinterpretq_s16_f16(v), 15)); }

  // An element is in one of the lower 16 registers.
  template <int i>
  FOVEA_INLINE V MulAdd(V x, E e, V sum) {
    asm(FOVEA_ASM_FP16 "fmla %0.8h, %1.8h, %2.h[%3]" : "+w"(sum) : "w"(x), "x"(e), "n"(i));
    return sum;
  }
  template <int i>
  FOVEA_INLINE V MulAddUnless(M m, V x, E e, V sum) {
    const E spread = vreinterpretq_f16_u16(vbicq_u16(vdupq_laneq_u16(vreinterpretq_u16_f16(e), i), m));
    asm(FOVEA_ASM_FP16 "fmla %0.8h, %1.8h, %2.8h" : "+w"(sum) : "w"(x), "w"(spread));
    return sum;
  }

  // For vectors along a row. Element i of v[k] and element k of v[i] change places.
  FOVEA_INLINE void Transpose(V (&v)[8]) {
    uint16x8_t a[8];
    uint32x4_t b[8];
    FOVEA_UNROLL(4)
    for (int i = 0; i < 8; i += 2) {
      const uint16x8_t even = vreinterpretq_u16_f16(v[i]), odd = vreinterpretq_u16_f16(v[i + 1]);
      a[i] = vtrn1q_u16(even, odd), a[i + 1] = vtrn2q_u16(even, odd);
    }
    FOVEA_EACH(k, 4) {
      const int i = k / 2 * 4 + k % 2;
      const uint32x4_t first = vreinterpretq_u32_u16(a[i]), second = vreinterpretq_u32_u16(a[i + 2]);
      b[i] = vtrn1q_u32(first, second), b[i + 2] = vtrn2q_u32(first, second);
    }
    FOVEA_EACH(i, 4) {
      const uint64x2_t first = vreinterpretq_u64_u32(b[i]), second = vreinterpretq_u64_u32(b[i + 4]);
      v[i] = vreinterpretq_f16_u64(vtrn1q_u64(first, second));
      v[i + 4] = vreinterpretq_f16_u64(vtrn2q_u64(first, second));
    }
  }
  // The first n elements of a vector; the others are 0.
  FOVEA_INLINE V LoadPart(const Element* p, size_t n) {
    Element elements[kLanes] = {};
    __builtin_memcpy(elements, p, n * sizeof(Element));
    return Load(elements);
  }
  // v, or 0 if element i of the mask is set.
  template <int i>
  FOVEA_INLINE V ZeroIf(M m, V v) {
    return vreinterpretq_f16_u16(vbicq_u16(vreinterpretq_u16_f16(v), vdupq_laneq_u16(m, i)));
  }

  FOVEA_INLINE void Widen(V v, VF (&to)[2]) {
    to[0] = VF(vcvt_f32_f16(vget_low_f16(v)));
    to[1] = VF(vcvt_high_f32_f16(v));
  }
  FOVEA_INLINE void LoadFloats(const float* p, VF (&v)[2]) {
    v[0] = hn::LoadU(kF, p);
    v[1] = hn::LoadU(kF, p + 4);
  }
  FOVEA_INLINE void StoreFloats(const VF (&v)[2], float* p) {
    hn::StoreU(v[0], kF, p);
    hn::StoreU(v[1], kF, p + 4);
  }
};

#endif  // FOVEA_SRC_SIMD_HALF_NEON64_INL_
