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
  inline __attribute__((always_inline)) explicit VF(float32x4_t raw) : data(raw) {}
  float32x4_t data;
};
struct VI {
  VI() = default;
  inline __attribute__((always_inline)) explicit VI(int32x4_t raw) : data(raw) {}
  int32x4_t data;
};
struct MF {
  MF() = default;
  inline __attribute__((always_inline)) explicit MF(uint32x4_t raw) : data(raw) {}
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

#include "simd/neon.inl"

FOVEA_INLINE raw::V Raw(VF v) { return v.data; }
FOVEA_INLINE raw::I Raw(VI v) { return v.data; }

#include "simd/neon_words.inl"
#include "simd/narrow.inl"
#include "simd/derived.inl"

}  // namespace hn
