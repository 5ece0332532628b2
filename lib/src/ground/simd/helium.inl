// SPDX-License-Identifier: Apache-2.0
//
// The Helium header of the vocabulary: the intrinsics of Arm's M-profile vector extension with floating point, four
// lanes. A lane mask is a predicate register, and elements to multiply by are scalars in general registers.

namespace hn {

#if !defined(__ARM_FEATURE_MVE) || __ARM_FEATURE_MVE < 3
#error \
    "Helium needs the M-profile vector extension with floating point: set the compiler's processor (-mcpu=cortex-m55)"
#endif

template <class T>
struct Tag {};
constexpr Tag<float> kF;
constexpr Tag<int32_t> kI;
using VF = float32x4_t;
using VI = int32x4_t;
using MF = mve_pred16_t;
constexpr size_t kLanes = 4;
// 6 sums, a vector of rows and a spare one fill the 8 registers; predicates take none.
constexpr int kRegisters = 8, kBlockVectors = 3, kMaskedVectors = 3;

FOVEA_INLINE VF Zero(Tag<float>) { return vdupq_n_f32(0.0f); }
FOVEA_INLINE VF Set(Tag<float>, float x) { return vdupq_n_f32(x); }
FOVEA_INLINE VI Set(Tag<int32_t>, int32_t x) { return vdupq_n_s32(x); }
FOVEA_INLINE VF Iota(Tag<float>, float first) { return vaddq_n_f32(vcvtq_f32_u32(vidupq_n_u32(0, 1)), first); }

// No intrinsics: g++ 12 assumes that vldrwq and vstrwq access one element, and moves accesses to the others past them.
typedef VF VFInMemory __attribute__((aligned(4), may_alias));
typedef VI VIInMemory __attribute__((aligned(4), may_alias));
FOVEA_INLINE VF LoadU(Tag<float>, const float* p) { return *reinterpret_cast<const VFInMemory*>(p); }
FOVEA_INLINE VI LoadU(Tag<int32_t>, const int32_t* p) { return *reinterpret_cast<const VIInMemory*>(p); }
FOVEA_INLINE void StoreU(VF v, Tag<float>, float* p) { *reinterpret_cast<VFInMemory*>(p) = v; }
FOVEA_INLINE VF LoadN(Tag<float>, const float* p, size_t n) { return vldrwq_z_f32(p, vctp32q(n)); }
FOVEA_INLINE void StoreN(VF v, Tag<float>, float* p, size_t n) { vstrwq_p_f32(p, v, vctp32q(n)); }
FOVEA_INLINE void LoadPairs(Tag<float>, const float* p, VF& a, VF& b) {
  const float32x4x2_t pairs = vld2q_f32(p);
  a = pairs.val[0];
  b = pairs.val[1];
}
FOVEA_INLINE void StorePairs(VF a, VF b, Tag<float>, float* p) {
  const float32x4x2_t pairs = {{a, b}};
  vst2q_f32(p, pairs);
}
FOVEA_INLINE VI LoadU16(Tag<int32_t>, const uint16_t* p) { return vreinterpretq_s32_u32(vldrhq_u32(p)); }
// Two numbers in each lane, the first one in its low half: for FromF16 and FromUpperF16.
typedef uint16x8_t EightInMemory __attribute__((aligned(2), may_alias));
FOVEA_INLINE VI LoadPairsU16(const uint16_t* p) {
  return vreinterpretq_s32_u16(*reinterpret_cast<const EightInMemory*>(p));
}
FOVEA_INLINE VI LoadU16N(Tag<int32_t>, const uint16_t* p, size_t n) {
  return vreinterpretq_s32_u32(vldrhq_z_u32(p, vctp32q(n)));
}
FOVEA_INLINE VI LoadU8(Tag<int32_t>, const uint8_t* p) { return vreinterpretq_s32_u32(vldrbq_u32(p)); }
FOVEA_INLINE VI LoadU8N(Tag<int32_t>, const uint8_t* p, size_t n) {
  return vreinterpretq_s32_u32(vldrbq_z_u32(p, vctp32q(n)));
}
FOVEA_INLINE VI LoadI8(Tag<int32_t>, const int8_t* p) { return vldrbq_s32(p); }
FOVEA_INLINE VI LoadI8N(Tag<int32_t>, const int8_t* p, size_t n) { return vldrbq_z_s32(p, vctp32q(n)); }
FOVEA_INLINE void StoreU16(VI v, uint16_t* p) { vstrhq_u32(p, vreinterpretq_u32_s32(v)); }
FOVEA_INLINE void StoreU16N(VI v, uint16_t* p, size_t n) { vstrhq_p_u32(p, vreinterpretq_u32_s32(v), vctp32q(n)); }
FOVEA_INLINE void StoreU8(VI v, uint8_t* p) { vstrbq_u32(p, vreinterpretq_u32_s32(v)); }
FOVEA_INLINE void StoreU8N(VI v, uint8_t* p, size_t n) { vstrbq_p_u32(p, vreinterpretq_u32_s32(v), vctp32q(n)); }

// The conversions read and write half-precision numbers in the low half of each lane, or in the upper half. GNU as (2.40,
// for example) encodes the numbers of their registers twice as high. So the instruction is written as a number, of which
// the assembler computes the part for the registers.
#if defined(__clang__)
FOVEA_INLINE VF FromF16(VI half) { return vcvtbq_f32_f16(vreinterpretq_f16_s32(half)); }
FOVEA_INLINE VF FromUpperF16(VI half) { return vcvttq_f32_f16(vreinterpretq_f16_s32(half)); }
FOVEA_INLINE VI ToF16(VF v) { return vreinterpretq_s32_f16(vcvtbq_f16_f32(vreinterpretq_f16_f32(v), v)); }
FOVEA_INLINE float16x8_t ToUpperF16(VF v, float16x8_t low) { return vcvttq_f16_f32(low, v); }
#else
#define FOVEA_ASM_CONVERT(code)                                                      \
  ".irp r, 0, 1, 2, 3, 4, 5, 6, 7\n\t.ifc %q0, q\\r\n\t.set .Lto, \\r\n\t.endif\n\t" \
  ".ifc %q1, q\\r\n\t.set .Lfrom, \\r\n\t.endif\n\t.endr\n\t"                        \
  ".inst.w " code " + (.Lto << 13) + (.Lfrom << 1)"
FOVEA_INLINE VF FromF16(VI half) {  // vcvtb.f32.f16
  VF v;
  __asm__(FOVEA_ASM_CONVERT("0xfe3f0e01") : "=w"(v) : "w"(half));
  return v;
}
FOVEA_INLINE VF FromUpperF16(VI half) {  // vcvtt.f32.f16
  VF v;
  __asm__(FOVEA_ASM_CONVERT("0xfe3f1e01") : "=w"(v) : "w"(half));
  return v;
}
FOVEA_INLINE VI ToF16(VF v) {  // vcvtb.f16.f32, which keeps the upper halves of its result
  VI half;
  __asm__(FOVEA_ASM_CONVERT("0xee3f0e01") : "=w"(half) : "w"(v));
  return half;
}
FOVEA_INLINE float16x8_t ToUpperF16(VF v, float16x8_t low) {  // vcvtt.f16.f32
  __asm__(FOVEA_ASM_CONVERT("0xee3f1e01") : "+w"(low) : "w"(v));
  return low;
}
#undef FOVEA_ASM_CONVERT
#endif
#define FOVEA_HAS_F16 1
#include "ground/simd/f16.inl"
#undef FOVEA_HAS_F16

FOVEA_INLINE VF BitCast(Tag<float>, VI a) { return vreinterpretq_f32_s32(a); }
FOVEA_INLINE VI BitCast(Tag<int32_t>, VF a) { return vreinterpretq_s32_f32(a); }
FOVEA_INLINE VF ConvertTo(Tag<float>, VI a) { return vcvtq_f32_s32(a); }

FOVEA_INLINE VF Add(VF a, VF b) { return vaddq_f32(a, b); }
FOVEA_INLINE VF Sub(VF a, VF b) { return vsubq_f32(a, b); }
FOVEA_INLINE VF Mul(VF a, VF b) { return vmulq_f32(a, b); }
FOVEA_INLINE VF Div(VF a, VF b) {  // there is no division of vectors
  float x[4], y[4];
  StoreU(a, kF, x);
  StoreU(b, kF, y);
  FOVEA_EACH(i, 4) x[i] /= y[i];
  return LoadU(kF, x);
}
FOVEA_INLINE VF Max(VF a, VF b) { return vmaxnmq_f32(a, b); }
FOVEA_INLINE VF Abs(VF a) { return vabsq_f32(a); }
FOVEA_INLINE VF MulAdd(VF a, VF b, VF c) { return vfmaq_f32(c, a, b); }
FOVEA_INLINE VF NegMulAdd(VF a, VF b, VF c) { return vfmsq_f32(c, a, b); }

FOVEA_INLINE VI Add(VI a, VI b) { return vaddq_s32(a, b); }
FOVEA_INLINE VI Sub(VI a, VI b) { return vsubq_s32(a, b); }
FOVEA_INLINE VI And(VI a, VI b) { return vandq_s32(a, b); }
FOVEA_INLINE VI Or(VI a, VI b) { return vorrq_s32(a, b); }
FOVEA_INLINE VI Xor(VI a, VI b) { return veorq_s32(a, b); }
FOVEA_INLINE VI MulWide(VI a, uint32_t b, VI& high) {
  const uint32x4_t x = vreinterpretq_u32_s32(a);
  high = vreinterpretq_s32_u32(vmulhq_u32(x, vdupq_n_u32(b)));
  return vreinterpretq_s32_u32(vmulq_n_u32(x, b));
}
template <int n>
FOVEA_INLINE VI ShiftLeft(VI a) {
  return vshlq_n_s32(a, n);
}
template <int n>
FOVEA_INLINE VI ShiftRight(VI a) {
  return vshrq_n_s32(a, n);
}

FOVEA_INLINE MF Eq(VF a, VF b) { return vcmpeqq_f32(a, b); }
// The processor's own "less" is true for NaN, its "greater" is not.
FOVEA_INLINE MF Lt(VF a, VF b) { return vcmpgtq_f32(b, a); }
FOVEA_INLINE MF Le(VF a, VF b) { return vcmpgeq_f32(b, a); }
FOVEA_INLINE MF SignMask(VF v) { return vcmpltq_n_s32(vreinterpretq_s32_f32(v), 0); }
FOVEA_INLINE MF Or(MF a, MF b) { return MF(a | b); }
FOVEA_INLINE VF IfThenElse(MF m, VF yes, VF no) { return vpselq_f32(yes, no, m); }
FOVEA_INLINE VF IfThenZeroElse(MF m, VF no) { return vpselq_f32(Zero(kF), no, m); }
FOVEA_INLINE VF MulAddUnless(MF m, VF a, VF b, VF c) { return vfmaq_m_f32(c, a, b, MF(~m)); }

// In hot code the instruction is named in assembly: from intrinsics g++ 12 copies sums, and moves predicates through
// general registers.
#if defined(__clang__)
FOVEA_INLINE VF ClampMin(VF a, VF least) { return vpselq_f32(least, a, Lt(a, least)); }
FOVEA_INLINE VF AddSet(VF a, float b) { return vaddq_n_f32(a, b); }
FOVEA_INLINE VF MulSet(VF a, float b) { return vmulq_n_f32(a, b); }
FOVEA_INLINE VF MulAddSet(VF a, VF b, float c) { return vfmasq_n_f32(a, b, c); }
FOVEA_INLINE VF MulAddScalar(VF a, float b, VF c) { return vfmaq_n_f32(c, a, b); }
FOVEA_INLINE VF MulAddScalarUnless(MF m, VF a, float b, VF c) { return vfmaq_m_n_f32(c, a, b, MF(~m)); }
#else
FOVEA_INLINE VF ClampMin(VF a, VF least) {
  MF below;
  asm("vpt.f32 gt, %q2, %q0\n\tvmovt %q0, %q2" : "+w"(a), "=&Up"(below) : "w"(least));
  return a;
}
FOVEA_INLINE VF AddSet(VF a, float b) {
  asm("vadd.f32 %q0, %q1, %2" : "=w"(a) : "w"(a), "r"(b));
  return a;
}
FOVEA_INLINE VF MulSet(VF a, float b) {
  asm("vmul.f32 %q0, %q1, %2" : "=w"(a) : "w"(a), "r"(b));
  return a;
}
FOVEA_INLINE VF MulAddSet(VF a, VF b, float c) {
  asm("vfmas.f32 %q0, %q1, %2" : "+w"(a) : "w"(b), "r"(c));
  return a;
}
FOVEA_INLINE VF MulAddScalar(VF a, float b, VF c) {
  asm("vfma.f32 %q0, %q1, %2" : "+w"(c) : "w"(a), "r"(b));
  return c;
}
FOVEA_INLINE VF MulAddScalarUnless(MF m, VF a, float b, VF c) {
  MF seen;
  asm("vmsr p0, %4\n\tvpst\n\tvfmat.f32 %q0, %q2, %3" : "+w"(c), "=&Up"(seen) : "w"(a), "r"(b), "r"(~uint32_t(m)));
  return c;
}
#endif
FOVEA_INLINE VF AtLeast(VF a, VF least) { return ClampMin(a, least); }
FOVEA_INLINE VF ClampMax(VF a, VF most) { return vpselq_f32(most, a, Lt(most, a)); }

// Two floats, which one instruction loads into two general registers.
#if defined(__clang__)
FOVEA_INLINE void LoadTwo(const float* p, float* e) { e[0] = p[0], e[1] = p[1]; }
FOVEA_INLINE void NextTwo(const float*& p, float* e) {
  LoadTwo(p, e);
  p += 2;
}
#else
FOVEA_INLINE void LoadTwo(const float* p, float* e) {
  typedef uint64_t __attribute__((aligned(4), may_alias)) Pair;
  asm("ldrd %0, %1, %2" : "=r"(e[0]), "=r"(e[1]) : "m"(*reinterpret_cast<const Pair*>(p)));
}
FOVEA_INLINE void NextTwo(const float*& p, float* e) {
  typedef float Pair[2];
  asm("ldrd %0, %1, [%2], #8" : "=&r"(e[0]), "=&r"(e[1]), "+r"(p) : "m"(*reinterpret_cast<const Pair*>(p)));
}
#endif
// The vector at p, which advances past it.
FOVEA_INLINE VF NextVector(const float*& p) {
#if defined(__clang__)
  const VF v = LoadU(kF, p);
  p += 4;
#else
  typedef float Four[4];
  VF v;
  asm("vldrw.u32 %q0, [%1], #16" : "=w"(v), "+r"(p) : "m"(*reinterpret_cast<const Four*>(p)));
#endif
  return v;
}
// The same for half-precision numbers, widened.
FOVEA_INLINE VF NextVector(const uint16_t*& p) {
#if defined(__clang__)
  const VF v = LoadF16(kF, p);
  p += 4;
  return v;
#else
  typedef uint16_t Four[4];
  VI halves;
  asm("vldrh.u32 %q0, [%1], #8" : "=w"(halves), "+r"(p) : "m"(*reinterpret_cast<const Four*>(p)));
  return FromF16(halves);
#endif
}
// LoadPairsU16, and p advances past them.
FOVEA_INLINE VI NextPairsU16(const uint16_t*& p) {
#if defined(__clang__)
  const VI v = LoadPairsU16(p);
  p += 8;
#else
  typedef uint16_t Eight[8];
  VI v;
  asm("vldrh.u16 %q0, [%1], #16" : "=w"(v), "+r"(p) : "m"(*reinterpret_cast<const Eight*>(p)));
#endif
  return v;
}
template <size_t n>
FOVEA_INLINE void LoadNext(const float*& p, VF (&v)[n]) {
  FOVEA_EACH(i, n) v[i] = NextVector(p);
}
// Stores a vector at p, which advances past it.
FOVEA_INLINE void StoreNext(VF v, float*& p) {
#if defined(__clang__)
  StoreU(v, kF, p);
  p += 4;
#else
  typedef float Four[4];
  asm("vstrw.32 %q2, [%0], #16" : "+r"(p), "=m"(*reinterpret_cast<Four*>(p)) : "w"(v));
#endif
}
template <size_t n>
FOVEA_INLINE void StoreNextMulAdd(VF (&v)[n], const float*& b, const float*& c, float*& p) {
  FOVEA_EACH(i, n) {
    const VF weight = NextVector(b);
    StoreNext(MulAdd(v[i], weight, NextVector(c)), p);
  }
}
#define FOVEA_BLOCK_LOOPS "ground/math/block_helium.inl"
#define FOVEA_FEW_ROW "core/attention/few_row_helium.inl"

// No instruction zips registers. Gathers and scatters take the addresses of four rows as an array holds them in memory.
template <class T>
FOVEA_INLINE uint32x4_t AddressesOf(T* const (&at)[4], size_t d) {
  uint32x4_t rows;
  static_assert(sizeof rows == sizeof at, "addresses have 32 bits");
  __builtin_memcpy(&rows, at, sizeof rows);
  return vaddq_n_u32(rows, uint32_t(4 * d));
}
FOVEA_INLINE void LoadTransposed(const float* const (&at)[4], size_t d, size_t n, VF (&v)[4]) {
  const uint32x4_t rows = AddressesOf(at, d);
  if (n > 0) v[0] = vldrwq_gather_base_f32(rows, 0);
  if (n > 1) v[1] = vldrwq_gather_base_f32(rows, 4);
  if (n > 2) v[2] = vldrwq_gather_base_f32(rows, 8);
  if (n > 3) v[3] = vldrwq_gather_base_f32(rows, 12);
}
FOVEA_INLINE void StoreTransposed(const VF (&v)[4], float* const (&at)[4], size_t live, size_t d, size_t n) {
  const uint32x4_t rows = AddressesOf(at, d);
  const MF stored = vctp32q(live);
  if (n > 0) vstrwq_scatter_base_p_f32(rows, 0, v[0], stored);
  if (n > 1) vstrwq_scatter_base_p_f32(rows, 4, v[1], stored);
  if (n > 2) vstrwq_scatter_base_p_f32(rows, 8, v[2], stored);
  if (n > 3) vstrwq_scatter_base_p_f32(rows, 12, v[3], stored);
}
FOVEA_INLINE void Transpose(VF (&v)[4]) {
  alignas(16) float lanes[16];
  FOVEA_EACH(i, 4) StoreU(v[i], kF, lanes + 4 * i);
  const float32x4x4_t columns = vld4q_f32(lanes);
  FOVEA_EACH(i, 4) v[i] = columns.val[i];
}
template <int k>
FOVEA_INLINE VF SwapLanes(VF v) {
  if constexpr (k == 1) return vrev64q_f32(v);
  float twice[8];
  StoreU(v, kF, twice);
  StoreU(v, kF, twice + 4);
  return LoadU(kF, twice + 2);
}
FOVEA_INLINE VF SumsOfLanes(const VF (&v)[4]) {
  VF columns[4] = {v[0], v[1], v[2], v[3]};
  Transpose(columns);
  return Add(Add(columns[0], columns[1]), Add(columns[2], columns[3]));
}

}  // namespace hn
