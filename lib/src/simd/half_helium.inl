// SPDX-License-Identifier: Apache-2.0
//
// The words for products of halves of Helium, which multiplies vectors by a general register. Two elements fill one.

namespace half {

constexpr size_t kLanes = 8;
constexpr int kBlockVectors = ::fovea::kHalfVectors, kRows = 2, kReads = 2;

using Element = uint16_t;
using V = float16x8_t;
using E = uint32_t;
using M = mve_pred16_t;

// Vectors are loaded as in helium.inl, for the same reason.
typedef V VInMemory __attribute__((aligned(2), may_alias));
typedef E EInMemory __attribute__((aligned(2), may_alias));
FOVEA_INLINE V Zero() { return vreinterpretq_f16_u16(vdupq_n_u16(0)); }
FOVEA_INLINE V Load(const Element* p) { return *reinterpret_cast<const VInMemory*>(p); }
FOVEA_INLINE E LoadE(const Element* p) { return *reinterpret_cast<const EInMemory*>(p); }
FOVEA_INLINE E LoadOne(const Element* p) { return *p; }
FOVEA_INLINE void Store(VF v, Element* p) { hn::StoreF16(v, p); }
FOVEA_INLINE M SignMask(V v) { return vcmpltq_n_s16(vreinterpretq_s16_f16(v), 0); }

// In assembly, as the words of helium.inl, for the same reason.
#if defined(__clang__)
FOVEA_INLINE float16_t Scalar(uint32_t bits) {
  const uint16_t low = uint16_t(bits);
  float16_t element;
  __builtin_memcpy(&element, &low, 2);
  return element;
}
template <int i>
FOVEA_INLINE V MulAdd(V x, E e, V sum) {
  return vfmaq_n_f16(sum, x, Scalar(e >> (16 * i)));
}
template <int i>
FOVEA_INLINE V MulAddUnless(M m, V x, E e, V sum) {
  return vfmaq_m_n_f16(sum, x, Scalar(e >> (16 * i)), M(~m));
}
#else
template <int i>
FOVEA_INLINE V MulAdd(V x, E e, V sum) {
  asm("vfma.f16 %q0, %q1, %2" : "+w"(sum) : "w"(x), "r"(e >> (16 * i)));
  return sum;
}
template <int i>
FOVEA_INLINE V MulAddUnless(M m, V x, E e, V sum) {
  M seen;
  asm("vmsr p0, %4\n\tvpst\n\tvfmat.f16 %q0, %q2, %3"
      : "+w"(sum), "=&Up"(seen)
      : "w"(x), "r"(e >> (16 * i)), "r"(~uint32_t(m)));
  return sum;
}
#endif

// Floats of even columns, then those of odd ones.
#if defined(__clang__)
FOVEA_INLINE void Widen(V v, VF (&to)[2]) { to[0] = vcvtbq_f32_f16(v), to[1] = vcvttq_f32_f16(v); }
#else
FOVEA_INLINE VF WidenOdd(V v) {  // in q0 for the assembler, as FromF16
  register V q0 __asm__("q0") = v;
  __asm__("vcvtt.f32.f16 q0, q0" : "+w"(q0));
  return vreinterpretq_f32_f16(q0);
}
FOVEA_INLINE void Widen(V v, VF (&to)[2]) {
  to[0] = hn::FromF16(vreinterpretq_s32_f16(v));
  to[1] = WidenOdd(v);
}
#endif
FOVEA_INLINE void LoadFloats(const float* p, VF (&v)[2]) { hn::LoadPairs(kF, p, v[0], v[1]); }
FOVEA_INLINE void StoreFloats(const VF (&v)[2], float* p) { hn::StorePairs(v[0], v[1], kF, p); }

}  // namespace half
