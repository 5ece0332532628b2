// SPDX-License-Identifier: Apache-2.0
//
// The NEON header of the vocabulary: the intrinsics of arm_neon.h, four lanes, and no other library.

namespace hn {

#if !defined(__ARM_NEON)
#error "NEON needs a processor that has it: set the compiler's (-mcpu, or -mfpu=neon-vfpv4 on 32-bit Arm)"
#endif

template <class T>
struct Tag {};
constexpr Tag<float> kF;
constexpr Tag<int32_t> kI;
// Each kind of vector has its own type: clang converts all of NEON's 128-bit vectors into one another. No template: its
// argument would lose the attributes of the intrinsics' type, and g++ 12 takes the two for types that do not alias.
struct VF {
  VF() = default;
  FOVEA_MEMBER explicit VF(float32x4_t raw) : data(raw) {}
  float32x4_t data;
};
struct VI {
  VI() = default;
  FOVEA_MEMBER explicit VI(int32x4_t raw) : data(raw) {}
  int32x4_t data;
};
struct MF {
  MF() = default;
  FOVEA_MEMBER explicit MF(uint32x4_t raw) : data(raw) {}
  uint32x4_t data;
};
constexpr size_t kLanes = 4;

FOVEA_INLINE VF Zero(Tag<float>) { return VF(vdupq_n_f32(0.0f)); }
FOVEA_INLINE VF Set(Tag<float>, float x) { return VF(vdupq_n_f32(x)); }
FOVEA_INLINE VI Set(Tag<int32_t>, int32_t x) { return VI(vdupq_n_s32(x)); }
FOVEA_INLINE VF LoadU(Tag<float>, const float* p) { return VF(vld1q_f32(p)); }
FOVEA_INLINE VI LoadU(Tag<int32_t>, const int32_t* p) { return VI(vld1q_s32(p)); }
FOVEA_INLINE void StoreU(VF v, Tag<float>, float* p) { vst1q_f32(p, v.data); }

FOVEA_INLINE VF Add(VF a, VF b) { return VF(vaddq_f32(a.data, b.data)); }
FOVEA_INLINE VF Sub(VF a, VF b) { return VF(vsubq_f32(a.data, b.data)); }
FOVEA_INLINE VF Mul(VF a, VF b) { return VF(vmulq_f32(a.data, b.data)); }
FOVEA_INLINE VF Abs(VF a) { return VF(vabsq_f32(a.data)); }
FOVEA_INLINE VI Add(VI a, VI b) { return VI(vaddq_s32(a.data, b.data)); }
FOVEA_INLINE VI Sub(VI a, VI b) { return VI(vsubq_s32(a.data, b.data)); }
FOVEA_INLINE VI And(VI a, VI b) { return VI(vandq_s32(a.data, b.data)); }
FOVEA_INLINE VI Or(VI a, VI b) { return VI(vorrq_s32(a.data, b.data)); }
FOVEA_INLINE VI Xor(VI a, VI b) { return VI(veorq_s32(a.data, b.data)); }
FOVEA_INLINE VF ConvertTo(Tag<float>, VI a) { return VF(vcvtq_f32_s32(a.data)); }

FOVEA_INLINE MF Eq(VF a, VF b) { return MF(vceqq_f32(a.data, b.data)); }
FOVEA_INLINE MF Lt(VF a, VF b) { return MF(vcltq_f32(a.data, b.data)); }
FOVEA_INLINE MF Le(VF a, VF b) { return MF(vcleq_f32(a.data, b.data)); }
FOVEA_INLINE MF Or(MF a, MF b) { return MF(vorrq_u32(a.data, b.data)); }
FOVEA_INLINE VF IfThenElse(MF m, VF yes, VF no) { return VF(vbslq_f32(m.data, yes.data, no.data)); }

// Integers on raw vectors, for narrow.inl.
namespace raw {

using V = float32x4_t;
using I = int32x4_t;

FOVEA_INLINE I MulWide(I a, uint32_t b, I& high) {
  const uint32x4_t x = vreinterpretq_u32_s32(a);
  const uint64x2_t lower = vmull_n_u32(vget_low_u32(x), b), upper = vmull_n_u32(vget_high_u32(x), b);
  high = vreinterpretq_s32_u32(vcombine_u32(vshrn_n_u64(lower, 32), vshrn_n_u64(upper, 32)));
  return vreinterpretq_s32_u32(vcombine_u32(vmovn_u64(lower), vmovn_u64(upper)));
}

FOVEA_INLINE uint8x8_t LoadBytesN(const void* p, size_t n) {
  uint32_t bytes = 0;
  __builtin_memcpy(&bytes, p, n);
  return vcreate_u8(bytes);
}
FOVEA_INLINE uint8x8_t LoadBytes(const void* p) { return LoadBytesN(p, 4); }
FOVEA_INLINE void StoreBytesN(uint8x8_t v, void* p, size_t n) {
  const uint32_t bytes = vget_lane_u32(vreinterpret_u32_u8(v), 0);
  __builtin_memcpy(p, &bytes, n);
}
FOVEA_INLINE void StoreBytes(uint8x8_t v, void* p) { StoreBytesN(v, p, 4); }
FOVEA_INLINE uint16x4_t LoadHalves(const uint16_t* p) { return vld1_u16(p); }
FOVEA_INLINE uint16x4_t LoadHalvesN(const uint16_t* p, size_t n) {
  uint16_t halves[4] = {0, 0, 0, 0};
  for (size_t i = 0; i < n; ++i) halves[i] = p[i];
  return vld1_u16(halves);
}
FOVEA_INLINE void StoreHalves(uint16x4_t v, uint16_t* p) { vst1_u16(p, v); }
FOVEA_INLINE void StoreHalvesN(uint16x4_t v, uint16_t* p, size_t n) {
  uint16_t halves[4];
  vst1_u16(halves, v);
  for (size_t i = 0; i < n; ++i) p[i] = halves[i];
}
FOVEA_INLINE I WidenU16(uint16x4_t v) { return vreinterpretq_s32_u32(vmovl_u16(v)); }
FOVEA_INLINE I WidenU8(uint8x8_t v) { return WidenU16(vget_low_u16(vmovl_u8(v))); }
FOVEA_INLINE I WidenI8(uint8x8_t v) { return vmovl_s16(vget_low_s16(vmovl_s8(vreinterpret_s8_u8(v)))); }
FOVEA_INLINE uint16x4_t Narrow16(I v) { return vmovn_u32(vreinterpretq_u32_s32(v)); }
FOVEA_INLINE uint8x8_t Narrow8(I v) {
  const uint16x4_t halves = Narrow16(v);
  return vmovn_u16(vcombine_u16(halves, halves));
}

// 128-bit blocks of four lanes.
FOVEA_INLINE uint8x16_t Bytes(I v) { return vreinterpretq_u8_s32(v); }
FOVEA_INLINE I Ints(uint8x16_t v) { return vreinterpretq_s32_u8(v); }
#if defined(__aarch64__)
FOVEA_INLINE I LookUp(I table, I at) { return Ints(vqtbl1q_u8(Bytes(table), Bytes(at))); }
#else
FOVEA_INLINE I LookUp(I table, I at) {
  const uint8x8x2_t halves = {{vget_low_u8(Bytes(table)), vget_high_u8(Bytes(table))}};
  return Ints(vcombine_u8(vtbl2_u8(halves, vget_low_u8(Bytes(at))), vtbl2_u8(halves, vget_high_u8(Bytes(at)))));
}
#endif
FOVEA_INLINE I MaxU8(I a, I b) { return Ints(vmaxq_u8(Bytes(a), Bytes(b))); }
FOVEA_INLINE I SubU8(I a, I b) { return Ints(vsubq_u8(Bytes(a), Bytes(b))); }
FOVEA_INLINE I LargestOfLanes(const I (&v)[4]) {
  uint8x8_t largest[4];
  FOVEA_EACH(i, 4) largest[i] = vpmax_u8(vget_low_u8(Bytes(v[i])), vget_high_u8(Bytes(v[i])));
  return Ints(vcombine_u8(vpmax_u8(largest[0], largest[1]), vpmax_u8(largest[2], largest[3])));
}
template <int i>
FOVEA_INLINE V SpreadLane(V v) {
  return vdupq_lane_f32(i < 2 ? vget_low_f32(v) : vget_high_f32(v), i % 2);
}
FOVEA_INLINE I AbsI8(I v) { return Ints(vreinterpretq_u8_s8(vabsq_s8(vreinterpretq_s8_s32(v)))); }
template <int kRun>
FOVEA_INLINE I LoadBlocks(const uint8_t* const (&at)[1]) {
  return Ints(vld1q_u8(at[0]));
}
FOVEA_INLINE void StoreBlockPairs(I a, I b, uint8_t* p, uint8_t*, size_t) {
  vst1q_u8(p, Bytes(a));
  vst1q_u8(p + 16, Bytes(b));
}

// Bit 1 of __ARM_FP: the processor converts half-precision numbers. g++ has the intrinsics only if a format for these
// is set.
#if defined(__aarch64__) || ((__ARM_FP & 2) && defined(__ARM_FP16_FORMAT_IEEE))
#define FOVEA_HAS_F16 1
FOVEA_INLINE V WidenF16(uint16x4_t v) { return vcvt_f32_f16(vreinterpret_f16_u16(v)); }
FOVEA_INLINE uint16x4_t NarrowF16(V v) { return vreinterpret_u16_f16(vcvt_f16_f32(v)); }
FOVEA_INLINE V SetF16(uint16_t bits) { return WidenF16(vdup_n_u16(bits)); }
#else
#define FOVEA_HAS_F16 0
#endif

// Loads n consecutive vectors, and advances p by step. From intrinsics g++ 12 makes a load for each.
template <int n>
FOVEA_INLINE void Next(const float*& p, ptrdiff_t step, V (&v)[n]) {
#if !defined(__clang__)
  typedef float Lanes[4 * n];
  if constexpr (n == 2) {
    float32x4x2_t two;
#if defined(__aarch64__)
    asm("ld1 {%S0.4s - %T0.4s}, [%1], %2"
#else
    asm("vld1.32 %h0, [%1], %2"
#endif
        : "=w"(two), "+r"(p)
        : "r"(4 * step), "m"(*reinterpret_cast<const Lanes*>(p)));
    v[0] = two.val[0], v[1] = two.val[1];
    return;
  } else if constexpr (n == 3) {
#if defined(__aarch64__)
    float32x4x3_t three;
    asm("ld1 {%S0.4s - %U0.4s}, [%1], %2"
        : "=w"(three), "+r"(p)
        : "r"(4 * step), "m"(*reinterpret_cast<const Lanes*>(p)));
    v[0] = three.val[0], v[1] = three.val[1], v[2] = three.val[2];
#else  // not vldmia, which takes a cycle for each 8 bytes
    float32x4x2_t two;
    asm("vld1.32 %h0, [%2]!\n\tvld1.32 %h1, [%2], %3"
        : "=&w"(two), "=&w"(v[2]), "+r"(p)
        : "r"(4 * step - 32), "m"(*reinterpret_cast<const Lanes*>(p)));
    v[0] = two.val[0], v[1] = two.val[1];
#endif
    return;
  }
#endif
  FOVEA_EACH(i, n) v[i] = vld1q_f32(p + 4 * i);
  p += step;
  FOVEA_OPAQUE(p);
}

#if !defined(__aarch64__)
// The float at p in all lanes; p advances by step.
FOVEA_INLINE V NextSpread(const float*& p, ptrdiff_t step) {
  V v;
#if defined(__clang__)
  v = vld1q_dup_f32(p);
  p += step;
#else
  asm("vld1.32 {%e0[], %f0[]}, [%1], %2" : "=w"(v), "+r"(p) : "r"(4 * size_t(step)), "m"(*p));
#endif
  return v;
}
#endif

#if defined(__aarch64__)
// The two floats at p in lanes 0 and 1; p advances past them.
FOVEA_INLINE V NextTwo(const float*& p) {
  V v;
#if defined(__clang__)
  v = vcombine_f32(vld1_f32(p), vdup_n_f32(0.0f));
  p += 2;
  FOVEA_OPAQUE(p);
#else
  typedef float Two[2];
  asm volatile("ldr %d0, [%1], #8" : "=w"(v), "+r"(p) : "m"(*reinterpret_cast<const Two*>(p)));
#endif
  return v;
}

// From intrinsics g++ 12 makes a load for each vector, and copies vectors for a store of four.
template <int n>
FOVEA_INLINE void LoadVectors(const float* p, V (&v)[n]) {
#if !defined(__clang__)
  typedef float Lanes[4 * n];
  if constexpr (n == 4) {
    float32x4x4_t four;
    asm("ld1 {%S0.4s - %V0.4s}, %1" : "=w"(four) : "Q"(*reinterpret_cast<const Lanes*>(p)));
    v[0] = four.val[0], v[1] = four.val[1], v[2] = four.val[2], v[3] = four.val[3];
    return;
  }
#endif
  FOVEA_EACH(i, n) v[i] = vld1q_f32(p + 4 * i);
}
template <int n>
FOVEA_INLINE void StoreVectors(const V (&v)[n], float* p) {
  constexpr int kPaired = n - n % 2;
#if !defined(__clang__)
  FOVEA_UNROLL(4)
  for (int i = 0; i < kPaired; i += 2) {
    V* const to = reinterpret_cast<V*>(p + 4 * i);
    asm("stp %q2, %q3, %0" : "=Ump"(to[0]), "=m"(to[1]) : "w"(v[i]), "w"(v[i + 1]));
  }
#else
  FOVEA_EACH(i, kPaired) vst1q_f32(p + 4 * i, v[i]);
#endif
  if constexpr (n % 2 != 0) vst1q_f32(p + 4 * kPaired, v[kPaired]);
}
#endif

}  // namespace raw

FOVEA_INLINE raw::V Raw(VF v) { return v.data; }
FOVEA_INLINE raw::I Raw(VI v) { return v.data; }

#if defined(__aarch64__)
constexpr int kRegisters = 32, kBlockVectors = 3, kMaskedVectors = 2;
#else
constexpr int kRegisters = 16, kBlockVectors = 6, kMaskedVectors = 2;
#endif

FOVEA_INLINE void LoadPairs(Tag<float>, const float* p, VF& a, VF& b) {
  const float32x4x2_t pairs = vld2q_f32(p);
  a = VF(pairs.val[0]);
  b = VF(pairs.val[1]);
}
FOVEA_INLINE void StorePairs(VF a, VF b, Tag<float>, float* p) {
  const float32x4x2_t pairs = {{a.data, b.data}};
  vst2q_f32(p, pairs);
}
FOVEA_INLINE void Transpose(VF (&v)[4]) {
  const float32x4x2_t v01 = vtrnq_f32(v[0].data, v[1].data), v23 = vtrnq_f32(v[2].data, v[3].data);
#if defined(__aarch64__)
  const float64x2_t a = vreinterpretq_f64_f32(v01.val[0]), b = vreinterpretq_f64_f32(v23.val[0]);
  const float64x2_t c = vreinterpretq_f64_f32(v01.val[1]), d = vreinterpretq_f64_f32(v23.val[1]);
  v[0] = VF(vreinterpretq_f32_f64(vzip1q_f64(a, b)));
  v[1] = VF(vreinterpretq_f32_f64(vzip1q_f64(c, d)));
  v[2] = VF(vreinterpretq_f32_f64(vzip2q_f64(a, b)));
  v[3] = VF(vreinterpretq_f32_f64(vzip2q_f64(c, d)));
#else
  v[0] = VF(vcombine_f32(vget_low_f32(v01.val[0]), vget_low_f32(v23.val[0])));
  v[1] = VF(vcombine_f32(vget_low_f32(v01.val[1]), vget_low_f32(v23.val[1])));
  v[2] = VF(vcombine_f32(vget_high_f32(v01.val[0]), vget_high_f32(v23.val[0])));
  v[3] = VF(vcombine_f32(vget_high_f32(v01.val[1]), vget_high_f32(v23.val[1])));
#endif
}
FOVEA_INLINE VF Max(VF a, VF b) { return VF(vmaxq_f32(a.data, b.data)); }
FOVEA_INLINE VF ClampMin(VF a, VF least) { return Max(a, least); }  // NaN if one of them is
FOVEA_INLINE VF ClampMax(VF a, VF most) { return VF(vminq_f32(a.data, most.data)); }
#if defined(__aarch64__)
FOVEA_INLINE VF Div(VF a, VF b) { return VF(vdivq_f32(a.data, b.data)); }
#else
FOVEA_INLINE VF Div(VF a, VF b) {
  float x[4], y[4];
  StoreU(a, kF, x);
  StoreU(b, kF, y);
  for (int i = 0; i < 4; ++i) x[i] /= y[i];
  return LoadU(kF, x);
}
#endif
#if defined(__ARM_FEATURE_FMA)
FOVEA_INLINE VF MulAdd(VF a, VF b, VF c) { return VF(vfmaq_f32(c.data, a.data, b.data)); }
FOVEA_INLINE VF NegMulAdd(VF a, VF b, VF c) { return VF(vfmsq_f32(c.data, a.data, b.data)); }
#else
FOVEA_INLINE VF MulAdd(VF a, VF b, VF c) { return Add(Mul(a, b), c); }
FOVEA_INLINE VF NegMulAdd(VF a, VF b, VF c) { return Sub(c, Mul(a, b)); }
#endif
template <int n>
FOVEA_INLINE VI ShiftLeft(VI a) {
  return VI(vshlq_n_s32(a.data, n));
}
template <int n>
FOVEA_INLINE VI ShiftRight(VI a) {
  return n == 0 ? a : VI(vshrq_n_s32(a.data, n == 0 ? 1 : n));  // no instruction shifts by 0
}
FOVEA_INLINE VF BitCast(Tag<float>, VI a) { return VF(vreinterpretq_f32_s32(a.data)); }
FOVEA_INLINE VI BitCast(Tag<int32_t>, VF a) { return VI(vreinterpretq_s32_f32(a.data)); }
FOVEA_INLINE VF Iota(Tag<float>, float first) {
  const float lanes[4] = {0.0f, 1.0f, 2.0f, 3.0f};
  return Add(Set(kF, first), LoadU(kF, lanes));
}
FOVEA_INLINE MF SignMask(VF v) { return MF(vreinterpretq_u32_s32(vshrq_n_s32(vreinterpretq_s32_f32(v.data), 31))); }
FOVEA_INLINE VF IfThenZeroElse(MF m, VF no) {
  return VF(vreinterpretq_f32_u32(vbicq_u32(vreinterpretq_u32_f32(no.data), m.data)));
}
FOVEA_INLINE VF MulAddUnless(MF m, VF a, VF b, VF c) { return MulAdd(a, IfThenZeroElse(m, b), c); }
template <int k>
FOVEA_INLINE VF SwapLanes(VF v) {
  return VF(k == 1 ? vrev64q_f32(v.data) : vextq_f32(v.data, v.data, 2));
}

#if defined(__aarch64__)
#define FOVEA_BLOCK_LOOPS "ground/math/block_neon64.inl"
#define FOVEA_MULTIPLIES_LANES 1
FOVEA_INLINE VF NextTwo(const float*& p) { return VF{raw::NextTwo(p)}; }
template <int i>
FOVEA_INLINE VF MulAddLane(VF a, VF b, VF c) {
  return VF(vfmaq_laneq_f32(c.data, a.data, b.data, i));
}
template <int i>
FOVEA_INLINE VF MulAddLaneUnless(MF m, VF a, VF b, VF c) {
  return MulAddUnless(m, a, VF(vdupq_laneq_f32(b.data, i)), c);
}
#else
#define FOVEA_BLOCK_LOOPS "ground/math/block_neon32.inl"
FOVEA_INLINE VF NextSpread(const float*& p, ptrdiff_t step) { return VF{raw::NextSpread(p, step)}; }
#endif

template <int n>
FOVEA_INLINE void NextVectors(const float*& p, ptrdiff_t step, VF (&v)[n]) {
  raw::V r[n];
  raw::Next(p, step, r);
  FOVEA_EACH(i, n) v[i] = VF{r[i]};
}

#include "ground/simd/narrow.inl"

#include "ground/simd/derived.inl"

}  // namespace hn
