// SPDX-License-Identifier: Apache-2.0
//
// The scalar header of the vocabulary: vectors of one lane, for machines without a vector unit, and the plainest
// definition of each word. No libm: the compiler's own operations only.

namespace hn {

template <class T>
struct Scalar {
  T raw;
};
template <class T>
struct ScalableTag {};
constexpr ScalableTag<float> kF;
constexpr ScalableTag<int32_t> kI;
using VF = Scalar<float>;
using VI = Scalar<int32_t>;
constexpr size_t kLanes = 1;
constexpr int kRegisters = 32, kBlockVectors = 4, kMaskedVectors = 2;

// A truth value is an integer that is negative if true, as a comparison leaves it in the upper bits of an Arm
// processor's status.
struct MF {
  int32_t raw;
};

// Compilers may turn ?: into a branch, but time must not depend on values.
#if defined(__thumb2__) && defined(__ARM_FP) && !defined(__clang__)
#define FOVEA_THUMB_FLOATS 1
#else
#define FOVEA_THUMB_FLOATS 0
#endif

// m < 0 ? yes : no
FOVEA_INLINE float Select(int32_t m, float yes, float no) {
#if FOVEA_THUMB_FLOATS
  asm("cmp %1, #0\n\tit lt\n\tvmovlt.f32 %0, %2" : "+t"(no) : "r"(m), "t"(yes) : "cc");
  return no;
#elif defined(__aarch64__)
  asm("cmp %w1, #0\n\tfcsel %s0, %s2, %s0, lt" : "+w"(no) : "r"(m), "w"(yes) : "cc");
  return no;
#else
  uint32_t yes_bits, no_bits;
  __builtin_memcpy(&yes_bits, &yes, 4);
  __builtin_memcpy(&no_bits, &no, 4);
  asm("" : "+r"(m));  // no longer known to be a condition
  const uint32_t all = uint32_t(m >> 31);
  no_bits = (yes_bits & all) | (no_bits & ~all);
  __builtin_memcpy(&no, &no_bits, 4);
  return no;
#endif
}

// a < b ? b : a
FOVEA_INLINE float Larger(float a, float b) {
#if FOVEA_THUMB_FLOATS
  asm("vcmp.f32 %0, %1\n\tvmrs APSR_nzcv, FPSCR\n\tit mi\n\tvmovmi.f32 %0, %1" : "+t"(a) : "t"(b) : "cc", "vfpcc");
  return a;
#elif defined(__AVX__)
  asm("vmaxss %1, %0, %0" : "+x"(b) : "x"(a));  // a if one is NaN
  return b;
#elif defined(__SSE__)
  asm("maxss %1, %0" : "+x"(b) : "x"(a));  // a if one is NaN
  return b;
#else
  return Select(-int32_t(a < b), b, a);
#endif
}

#if FOVEA_THUMB_FLOATS
// The flags of a comparison: bit 31 says that a is less, bit 30 that they are equal.
FOVEA_INLINE int32_t Compare(float a, float b) {
  int32_t flags;
  asm("vcmp.f32 %1, %2\n\tvmrs %0, FPSCR" : "=r"(flags) : "t"(a), "t"(b) : "vfpcc");
  return flags;
}
#endif

template <class T>
FOVEA_INLINE Scalar<T> Zero(ScalableTag<T>) {
  return {T(0)};
}
FOVEA_INLINE VF Set(ScalableTag<float>, float x) { return {x}; }
FOVEA_INLINE VI Set(ScalableTag<int32_t>, int32_t x) { return {x}; }
FOVEA_INLINE VF Iota(ScalableTag<float>, float first) { return {first}; }

template <class T>
FOVEA_INLINE Scalar<T> LoadU(ScalableTag<T>, const T* p) {
  return {*p};
}
template <class T>
FOVEA_INLINE void StoreU(Scalar<T> v, ScalableTag<T>, T* p) {
  *p = v.raw;
}
FOVEA_INLINE VF LoadN(ScalableTag<float>, const float* p, size_t n) { return {n ? *p : 0.0f}; }
FOVEA_INLINE void StoreN(VF v, ScalableTag<float>, float* p, size_t n) {
  if (n) *p = v.raw;
}
FOVEA_INLINE VI LoadU16(ScalableTag<int32_t>, const uint16_t* p) { return {*p}; }
FOVEA_INLINE VI LoadU16N(ScalableTag<int32_t>, const uint16_t* p, size_t n) { return {n ? *p : 0}; }
FOVEA_INLINE VI LoadU8(ScalableTag<int32_t>, const uint8_t* p) { return {*p}; }
FOVEA_INLINE VI LoadU8N(ScalableTag<int32_t>, const uint8_t* p, size_t n) { return {n ? *p : 0}; }
FOVEA_INLINE VI LoadI8(ScalableTag<int32_t>, const int8_t* p) { return {*p}; }
FOVEA_INLINE VI LoadI8N(ScalableTag<int32_t>, const int8_t* p, size_t n) { return {n ? *p : 0}; }
FOVEA_INLINE void StoreU16(VI v, uint16_t* p) { *p = uint16_t(v.raw); }
FOVEA_INLINE void StoreU16N(VI v, uint16_t* p, size_t n) {
  if (n) *p = uint16_t(v.raw);
}
FOVEA_INLINE void StoreU8(VI v, uint8_t* p) { *p = uint8_t(v.raw); }
FOVEA_INLINE void StoreU8N(VI v, uint8_t* p, size_t n) {
  if (n) *p = uint8_t(v.raw);
}
FOVEA_INLINE void LoadPairs(ScalableTag<float>, const float* p, VF& a, VF& b) { a.raw = p[0], b.raw = p[1]; }
FOVEA_INLINE void StorePairs(VF a, VF b, ScalableTag<float>, float* p) { p[0] = a.raw, p[1] = b.raw; }

FOVEA_INLINE VF Add(VF a, VF b) { return {a.raw + b.raw}; }
FOVEA_INLINE VF Sub(VF a, VF b) { return {a.raw - b.raw}; }
FOVEA_INLINE VF Mul(VF a, VF b) { return {a.raw * b.raw}; }
FOVEA_INLINE VF Div(VF a, VF b) { return {a.raw / b.raw}; }
FOVEA_INLINE VF Max(VF a, VF b) { return {Larger(a.raw, b.raw)}; }
FOVEA_INLINE VF ClampMin(VF a, VF least) { return {Larger(a.raw, least.raw)}; }
FOVEA_INLINE VF Abs(VF a) { return {__builtin_fabsf(a.raw)}; }
#if FOVEA_SCALAR_FUSES
FOVEA_INLINE VF MulAdd(VF a, VF b, VF c) { return {__builtin_fmaf(a.raw, b.raw, c.raw)}; }
FOVEA_INLINE VF NegMulAdd(VF a, VF b, VF c) { return {__builtin_fmaf(-a.raw, b.raw, c.raw)}; }
#else
FOVEA_INLINE VF MulAdd(VF a, VF b, VF c) { return {a.raw * b.raw + c.raw}; }
FOVEA_INLINE VF NegMulAdd(VF a, VF b, VF c) { return {c.raw - a.raw * b.raw}; }
#endif

FOVEA_INLINE VI Add(VI a, VI b) { return {int32_t(uint32_t(a.raw) + uint32_t(b.raw))}; }
FOVEA_INLINE VI Sub(VI a, VI b) { return {int32_t(uint32_t(a.raw) - uint32_t(b.raw))}; }
FOVEA_INLINE VI And(VI a, VI b) { return {a.raw & b.raw}; }
FOVEA_INLINE VI Or(VI a, VI b) { return {a.raw | b.raw}; }
FOVEA_INLINE VI Xor(VI a, VI b) { return {a.raw ^ b.raw}; }
FOVEA_INLINE VI MulWide(VI a, uint32_t b, VI& high) {
  const uint64_t product = uint64_t(uint32_t(a.raw)) * b;
  high = {int32_t(uint32_t(product >> 32))};
  return {int32_t(uint32_t(product))};
}
template <int n>
FOVEA_INLINE VI ShiftLeft(VI a) {
  return {int32_t(uint32_t(a.raw) << n)};
}
template <int n>
FOVEA_INLINE VI ShiftRight(VI a) {
  return {a.raw >> n};
}
FOVEA_INLINE VF ConvertTo(ScalableTag<float>, VI a) { return {float(a.raw)}; }
FOVEA_INLINE VF BitCast(ScalableTag<float>, VI a) {
  VF v;
  __builtin_memcpy(&v.raw, &a.raw, 4);
  return v;
}
FOVEA_INLINE VI BitCast(ScalableTag<int32_t>, VF a) {
  VI v;
  __builtin_memcpy(&v.raw, &a.raw, 4);
  return v;
}

#if FOVEA_THUMB_FLOATS
FOVEA_INLINE MF Eq(VF a, VF b) { return {int32_t(uint32_t(Compare(a.raw, b.raw)) << 1)}; }
FOVEA_INLINE MF Lt(VF a, VF b) { return {Compare(a.raw, b.raw)}; }
FOVEA_INLINE MF Le(VF a, VF b) {
  const int32_t flags = Compare(a.raw, b.raw);
  return {int32_t(uint32_t(flags) | uint32_t(flags) << 1)};
}
#else
FOVEA_INLINE MF Eq(VF a, VF b) { return {-int32_t(a.raw == b.raw)}; }
FOVEA_INLINE MF Lt(VF a, VF b) { return {-int32_t(a.raw < b.raw)}; }
FOVEA_INLINE MF Le(VF a, VF b) { return {-int32_t(a.raw <= b.raw)}; }
#endif
FOVEA_INLINE MF Or(MF a, MF b) { return {a.raw | b.raw}; }
FOVEA_INLINE MF SignMask(VF v) { return {BitCast(kI, v).raw}; }
FOVEA_INLINE VF IfThenElse(MF m, VF yes, VF no) { return {Select(m.raw, yes.raw, no.raw)}; }
FOVEA_INLINE VF IfThenZeroElse(MF m, VF no) { return {Select(m.raw, 0.0f, no.raw)}; }
#if FOVEA_THUMB_FLOATS && defined(__ARM_FEATURE_FMA)
FOVEA_INLINE VF MulAddUnless(MF m, VF a, VF b, VF c) {
  asm("cmp %1, #0\n\tit ge\n\tvfmage.f32 %0, %2, %3" : "+t"(c.raw) : "r"(m.raw), "t"(a.raw), "t"(b.raw) : "cc");
  return c;
}
#else
FOVEA_INLINE VF MulAddUnless(MF m, VF a, VF b, VF c) { return MulAdd(a, IfThenZeroElse(m, b), c); }
#endif

FOVEA_INLINE void Transpose(VF (&)[1]) {}
template <int k>
FOVEA_INLINE VF SwapLanes(VF v) {
  static_assert(k < 0, "a single lane has none to swap with");
  return v;
}
FOVEA_INLINE VF SumsOfLanes(const VF (&v)[1]) { return v[0]; }

// Bit 1 of __ARM_FP: the processor converts half-precision numbers. Cortex-M does, though g++ does not say so.
#if defined(__arm__) && defined(__ARM_FP) && ((__ARM_FP & 2) != 0 || __ARM_ARCH_PROFILE == 'M')
#define FOVEA_HAS_F16 1
FOVEA_INLINE VF FromF16(VI half) {
  VF v = BitCast(kF, half);
  asm("vcvtb.f32.f16 %0, %0" : "+t"(v.raw));
  return v;
}
FOVEA_INLINE VI ToF16(VF v) {
  asm("vcvtb.f16.f32 %0, %0" : "+t"(v.raw));
  return BitCast(kI, v);
}
#else
#define FOVEA_HAS_F16 0
#endif
#include "ground/simd/f16.inl"
#undef FOVEA_HAS_F16

// Four floats as variables that are named like the consecutive registers which they are in.
#define FOVEA_LOAD_FOUR(p, a, b, c, d)                       \
  typedef float Four[4];                                     \
  register float a asm(#a), b asm(#b), c asm(#c), d asm(#d); \
  asm("vldmia %4, {" #a "-" #d "}"                           \
      : "=t"(a), "=t"(b), "=t"(c), "=t"(d)                   \
      : "r"(p), "m"(*reinterpret_cast<const Four*>(p)))

// Loads elements to multiply by: two at a time where one instruction loads several floating-point registers, which must
// be consecutive.
#if defined(__arm__) && defined(__ARM_FP) && (__ARM_FP & 4) != 0
#define FOVEA_BLOCK_LOOPS "ground/math/block_vfp.inl"
template <int n>
FOVEA_INLINE void NextElements(const float* (&p)[n], float (&e)[n][2]) {
  if constexpr (n == 4) {
    typedef float Pair[2];
    register float s24 asm("s24"), s25 asm("s25"), s26 asm("s26"), s27 asm("s27");
    register float s28 asm("s28"), s29 asm("s29"), s30 asm("s30"), s31 asm("s31");
    asm("vldmia %2!, {s24, s25}" : "=t"(s24), "=t"(s25), "+r"(p[0]) : "m"(*reinterpret_cast<const Pair*>(p[0])));
    asm("vldmia %2!, {s26, s27}" : "=t"(s26), "=t"(s27), "+r"(p[1]) : "m"(*reinterpret_cast<const Pair*>(p[1])));
    asm("vldmia %2!, {s28, s29}" : "=t"(s28), "=t"(s29), "+r"(p[2]) : "m"(*reinterpret_cast<const Pair*>(p[2])));
    asm("vldmia %2!, {s30, s31}" : "=t"(s30), "=t"(s31), "+r"(p[3]) : "m"(*reinterpret_cast<const Pair*>(p[3])));
    e[0][0] = s24, e[0][1] = s25, e[1][0] = s26, e[1][1] = s27;
    e[2][0] = s28, e[2][1] = s29, e[3][0] = s30, e[3][1] = s31;
  } else {
    FOVEA_UNROLL(4)
    for (int i = 0; i < n; ++i, p[i] += 2) e[i][0] = p[i][0], e[i][1] = p[i][1];
  }
}
#if FOVEA_SCALAR_FUSES
FOVEA_INLINE void MulAddFour(const float*& x, const float* (&p)[4], VF (&acc)[4][1]) {
  typedef float Four[4];
  asm("vldmia %4!, {s16-s19}\n\t"
      "vldmia %5!, {s0-s3}\n\tvldmia %6!, {s4-s7}\n\tvldmia %7!, {s8-s11}\n\tvldmia %8!, {s12-s15}\n\t"
      "vfma.f32 %0, s16, s0\n\tvfma.f32 %1, s16, s4\n\tvfma.f32 %2, s16, s8\n\tvfma.f32 %3, s16, s12\n\t"
      "vfma.f32 %0, s17, s1\n\tvfma.f32 %1, s17, s5\n\tvfma.f32 %2, s17, s9\n\tvfma.f32 %3, s17, s13\n\t"
      "vfma.f32 %0, s18, s2\n\tvfma.f32 %1, s18, s6\n\tvfma.f32 %2, s18, s10\n\tvfma.f32 %3, s18, s14\n\t"
      "vfma.f32 %0, s19, s3\n\tvfma.f32 %1, s19, s7\n\tvfma.f32 %2, s19, s11\n\tvfma.f32 %3, s19, s15"
      : "+t"(acc[0][0].raw), "+t"(acc[1][0].raw), "+t"(acc[2][0].raw), "+t"(acc[3][0].raw), "+r"(x), "+r"(p[0]),
        "+r"(p[1]), "+r"(p[2]), "+r"(p[3])
      : "m"(*reinterpret_cast<const Four*>(x)), "m"(*reinterpret_cast<const Four*>(p[0])),
        "m"(*reinterpret_cast<const Four*>(p[1])), "m"(*reinterpret_cast<const Four*>(p[2])),
        "m"(*reinterpret_cast<const Four*>(p[3]))
      : "s0", "s1", "s2", "s3", "s4", "s5", "s6", "s7", "s8", "s9", "s10", "s11", "s12", "s13", "s14", "s15", "s16",
        "s17", "s18", "s19");
}
#endif
template <int n>
FOVEA_INLINE void NextElements(const float*& p, ptrdiff_t step, float (&e)[n]) {
  if constexpr (n == 4) {
    FOVEA_LOAD_FOUR(p, s24, s25, s26, s27);
    e[0] = s24, e[1] = s25, e[2] = s26, e[3] = s27;
  } else if constexpr (n == 8) {
    typedef float Eight[8];
    register float s24 asm("s24"), s25 asm("s25"), s26 asm("s26"), s27 asm("s27");
    register float s28 asm("s28"), s29 asm("s29"), s30 asm("s30"), s31 asm("s31");
    asm("vldmia %8, {s24-s31}"
        : "=t"(s24), "=t"(s25), "=t"(s26), "=t"(s27), "=t"(s28), "=t"(s29), "=t"(s30), "=t"(s31)
        : "r"(p), "m"(*reinterpret_cast<const Eight*>(p)));
    e[0] = s24, e[1] = s25, e[2] = s26, e[3] = s27;
    e[4] = s28, e[5] = s29, e[6] = s30, e[7] = s31;
  } else {
    FOVEA_EACH(i, n) e[i] = p[i];
  }
  p += step;
  FOVEA_OPAQUE(p);
}
FOVEA_INLINE void NextElements(const float* (&p)[2], ptrdiff_t step, float (&e)[2][4]) {
  FOVEA_LOAD_FOUR(p[0], s24, s25, s26, s27);
  FOVEA_LOAD_FOUR(p[1], s28, s29, s30, s31);
  e[0][0] = s24, e[0][1] = s25, e[0][2] = s26, e[0][3] = s27;
  e[1][0] = s28, e[1][1] = s29, e[1][2] = s30, e[1][3] = s31;
  p[0] += step, p[1] += step;
  FOVEA_OPAQUE(p[0]);
  FOVEA_OPAQUE(p[1]);
}
template <int n>
FOVEA_INLINE void NextVectors(const float*& p, ptrdiff_t step, VF (&v)[n]) {
  if constexpr (n == 4) {
    FOVEA_LOAD_FOUR(p, s20, s21, s22, s23);
    v[0].raw = s20, v[1].raw = s21, v[2].raw = s22, v[3].raw = s23;
  } else if constexpr (n == 8) {  // a step is 8 elements
    typedef float Eight[8];
    register float s16 asm("s16"), s17 asm("s17"), s18 asm("s18"), s19 asm("s19");
    register float s20 asm("s20"), s21 asm("s21"), s22 asm("s22"), s23 asm("s23");
    asm("vldmia %8!, {s16-s23}"
        : "=t"(s16), "=t"(s17), "=t"(s18), "=t"(s19), "=t"(s20), "=t"(s21), "=t"(s22), "=t"(s23), "+r"(p)
        : "m"(*reinterpret_cast<const Eight*>(p)));
    v[0].raw = s16, v[1].raw = s17, v[2].raw = s18, v[3].raw = s19;
    v[4].raw = s20, v[5].raw = s21, v[6].raw = s22, v[7].raw = s23;
    return;
  } else {
    FOVEA_EACH(i, n) v[i].raw = p[i];
  }
  p += step;
  FOVEA_OPAQUE(p);
}
#endif

#undef FOVEA_THUMB_FLOATS
#define FOVEA_CLAMP_KEEPS_ZERO 1
#include "ground/simd/derived.inl"

// Eight at a time where one instruction loads several registers: better overloads than the templates.
#if defined(__arm__) && defined(__ARM_FP) && (__ARM_FP & 4) != 0 && FOVEA_SCALAR_FUSES
FOVEA_INLINE void LoadNext(const float*& p, VF (&v)[8]) { NextVectors(p, 8, v); }
FOVEA_INLINE void StoreNextMulAdd(VF (&v)[8], const float*& b, const float*& c, float*& p) {
  asm volatile("vldmia %0!, {s0-s7}\n\tvldmia %1!, {s8-s15}\n\t"
      "vfma.f32 s8, %3, s0\n\tvfma.f32 s9, %4, s1\n\tvfma.f32 s10, %5, s2\n\tvfma.f32 s11, %6, s3\n\t"
      "vfma.f32 s12, %7, s4\n\tvfma.f32 s13, %8, s5\n\tvfma.f32 s14, %9, s6\n\tvfma.f32 s15, %10, s7\n\t"
      "vstmia %2!, {s8-s15}"
      : "+r"(b), "+r"(c), "+r"(p)
      : "t"(v[0].raw), "t"(v[1].raw), "t"(v[2].raw), "t"(v[3].raw), "t"(v[4].raw), "t"(v[5].raw), "t"(v[6].raw),
        "t"(v[7].raw)
      : "s0", "s1", "s2", "s3", "s4", "s5", "s6", "s7", "s8", "s9", "s10", "s11", "s12", "s13", "s14", "s15",
        "memory");
}
#endif

}  // namespace hn
