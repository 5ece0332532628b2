// SPDX-License-Identifier: Apache-2.0
//
// The words for products of halves of Helium, which multiplies vectors by a general register. Two elements fill one.
#ifndef FOVEA_SRC_SIMD_HALF_HELIUM_INL_
#define FOVEA_SRC_SIMD_HALF_HELIUM_INL_

struct HeliumHalves {
  static constexpr size_t kLanes = 8;
  static constexpr int kBlockVectors = ::fovea::kHalfVectors, kRows = 2, kReads = 2;
  static constexpr int kPieces = 2;
  static constexpr bool kByScalars = true, kServesFewRows = true;

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
  // A vector of columns in memory has those of its first half in even places, and the others in odd ones: so it is
  // widened to vectors of adjacent columns. StoreSecond keeps what StoreFirst has stored.
  FOVEA_INLINE void StoreFirst(VF v, Element* p) {
    *reinterpret_cast<VInMemory*>(p) = vreinterpretq_f16_s32(hn::ToF16(v));
  }
  FOVEA_INLINE void StoreSecond(VF v, Element* p) { *reinterpret_cast<VInMemory*>(p) = hn::ToUpperF16(v, Load(p)); }
  FOVEA_INLINE V Both(VF first, VF second) { return hn::ToUpperF16(second, vreinterpretq_f16_s32(hn::ToF16(first))); }
  FOVEA_INLINE void StoreBoth(VF first, VF second, Element* p) {
    *reinterpret_cast<VInMemory*>(p) = Both(first, second);
  }
  FOVEA_INLINE VF WidenFirst(V v) { return hn::FromF16(vreinterpretq_s32_f16(v)); }
  FOVEA_INLINE VF WidenSecond(V v) { return hn::FromUpperF16(vreinterpretq_s32_f16(v)); }

  // Element 0 of the numbers that begin `places` elements after p, in the order of columns. PlacesOf: for rows `stride`
  // elements apart, from row `first` on, the last one repeated. NearPlaces: of places that fit 16 bits.
  using Places = uint32x4_t;
  FOVEA_INLINE Places PlacesOf(uint32_t first, uint32_t last, ptrdiff_t stride) {
    const uint32x4_t rows = vaddq_n_u32(vidupq_n_u32(0, 1), first);
    return vmulq_n_u32(vminq_u32(rows, vdupq_n_u32(last)), uint32_t(stride));
  }
  FOVEA_INLINE Places NearPlaces(Places first, Places second) { return vsliq_n_u32(first, second, 16); }
  FOVEA_INLINE V Gather(const Element* p, Places near) {
    return vreinterpretq_f16_u16(vldrhq_gather_shifted_offset_u16(p, vreinterpretq_u16_u32(near)));
  }
  FOVEA_INLINE V GatherFar(const Element* p, Places first, Places second) {
    const uint32x4_t low = vldrhq_gather_shifted_offset_u32(p, first),
                     high = vldrhq_gather_shifted_offset_u32(p, second);
    return vreinterpretq_f16_u32(vsliq_n_u32(low, high, 16));
  }
  FOVEA_INLINE VF GatherFloats(const float* p, Places places) { return vldrwq_gather_shifted_offset_f32(p, places); }
  FOVEA_INLINE void StoreRow(V v, Element* p) { *reinterpret_cast<VInMemory*>(p) = v; }
  // The first n elements of a vector along a row; the others are 0.
  FOVEA_INLINE V LoadPart(const Element* p, size_t n) { return vreinterpretq_f16_u16(vldrhq_z_u16(p, vctp16q(n))); }

  // The two elements at p, which advances past them; the vector at p, which advances by kStep elements.
#if defined(__clang__)
  FOVEA_INLINE E NextTwo(const Element*& p) {
    const E e = LoadE(p);
    p += 2;
    return e;
  }
  template <int kStep>
  FOVEA_INLINE V Next(const Element*& p) {
    const V v = Load(p);
    p += kStep;
    return v;
  }
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
  FOVEA_INLINE void MulAddTwoSeen(V x, const E (&e)[2], V& first, V& second) {
    const M seen = vcmpgeq_n_s16(vreinterpretq_s16_f16(x), 0);
    first = vfmaq_m_n_f16(first, x, Scalar(e[0]), seen);
    second = vfmaq_m_n_f16(second, x, Scalar(e[1]), seen);
  }
#else
  FOVEA_INLINE E NextTwo(const Element*& p) {
    E e;
    asm("ldr %0, [%1], #4" : "=&r"(e), "+r"(p) : "m"(*reinterpret_cast<const EInMemory*>(p)));
    return e;
  }
  template <int kStep>
  FOVEA_INLINE V Next(const Element*& p) {
    static_assert(kStep < 128, "the instruction adds 254 bytes at most");
    typedef Element Eight[kLanes];
    V v;
    asm("vldrh.u16 %q0, [%1], %3" : "=w"(v), "+r"(p) : "m"(*reinterpret_cast<const Eight*>(p)), "n"(2 * kStep));
    return v;
  }
  // The sums + x times element 0 of e[0] and e[1]. Where the sign of x is set, nothing is added.
  FOVEA_INLINE void MulAddTwoSeen(V x, const E (&e)[2], V& first, V& second) {
    M seen;
    asm("vptt.s16 ge, %q3, zr\n\tvfmat.f16 %q0, %q3, %4\n\tvfmat.f16 %q1, %q3, %5"
        : "+w"(first), "+w"(second), "=&Up"(seen)
        : "w"(x), "r"(e[0]), "r"(e[1]));
  }
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
  FOVEA_INLINE void Widen(V v, VF (&to)[2]) {
    to[0] = hn::FromF16(vreinterpretq_s32_f16(v));
    to[1] = hn::FromUpperF16(vreinterpretq_s32_f16(v));
  }
  FOVEA_INLINE void LoadFloats(const float* p, VF (&v)[2]) { hn::LoadPairs(kF, p, v[0], v[1]); }
  FOVEA_INLINE void StoreFloats(const VF (&v)[2], float* p) { hn::StorePairs(v[0], v[1], kF, p); }
};

#endif  // FOVEA_SRC_SIMD_HALF_HELIUM_INL_
