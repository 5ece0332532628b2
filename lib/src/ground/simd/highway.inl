// SPDX-License-Identifier: Apache-2.0
//
// The Highway header of the vocabulary: Highway's own words, and those that release 1.0.3 lacks. Included once for each
// target, inside the target's namespace.

namespace hn {

using namespace hwy::HWY_NAMESPACE;

constexpr ScalableTag<float> kF;
constexpr ScalableTag<int32_t> kI;
using VF = Vec<ScalableTag<float>>;
using VI = Vec<ScalableTag<int32_t>>;
using MF = Mask<ScalableTag<float>>;
constexpr size_t kLanes = MaxLanes(kF);

// Register blocks: keys by vectors of rows. Where masks are vectors too, fewer other vectors fit.
#if HWY_TARGET == HWY_AVX3
constexpr int kRegisters = 32, kBlockVectors = 3, kMaskedVectors = 3;
#else
constexpr int kRegisters = 16, kBlockVectors = 3, kMaskedVectors = 2;
#endif

// The processor's maximum and minimum return the second operand if one is NaN, or NaN.
FOVEA_INLINE VF ClampMin(VF a, VF least) { return Max(least, a); }
FOVEA_INLINE VF ClampMax(VF a, VF most) { return Min(most, a); }

FOVEA_INLINE auto Raw(VF v) { return v.raw; }
FOVEA_INLINE auto Raw(VI v) { return v.raw; }

#undef FOVEA_X86_LANES
#if HWY_ARCH_X86

#if HWY_TARGET == HWY_AVX3
#define FOVEA_X86_LANES 16
#elif HWY_TARGET == HWY_AVX2
#define FOVEA_X86_LANES 8
#else
#define FOVEA_X86_LANES 4
#endif
#include "ground/simd/x86.inl"

#else  // WebAssembly

FOVEA_INLINE void LoadPairs(ScalableTag<float>, const float* p, VF& a, VF& b) { LoadInterleaved2(kF, p, a, b); }
FOVEA_INLINE void StorePairs(VF a, VF b, ScalableTag<float>, float* p) { StoreInterleaved2(a, b, kF, p); }
FOVEA_INLINE void Transpose(VF (&v)[4]) {
  const VF lo02 = InterleaveLower(kF, v[0], v[2]), hi02 = InterleaveUpper(kF, v[0], v[2]);
  const VF lo13 = InterleaveLower(kF, v[1], v[3]), hi13 = InterleaveUpper(kF, v[1], v[3]);
  v[0] = InterleaveLower(kF, lo02, lo13);
  v[1] = InterleaveUpper(kF, lo02, lo13);
  v[2] = InterleaveLower(kF, hi02, hi13);
  v[3] = InterleaveUpper(kF, hi02, hi13);
}
template <int k>
FOVEA_INLINE VF SwapLanes(VF v) {
  return k == 1 ? Shuffle2301(v) : Shuffle1032(v);
}

#include "ground/simd/wasm.inl"

#endif

#include "ground/simd/narrow.inl"

#if HWY_TARGET == HWY_AVX3
FOVEA_INLINE MF SignMask(VF v) { return MF{_mm512_movepi32_mask(_mm512_castps_si512(v.raw))}; }
FOVEA_INLINE VF MulAddUnless(MF m, VF a, VF b, VF c) {
  return VF{_mm512_mask3_fmadd_ps(a.raw, b.raw, c.raw, _knot_mask16(m.raw))};
}
#else
FOVEA_INLINE MF SignMask(VF v) { return MaskFromVec(BitCast(kF, BroadcastSignBit(BitCast(kI, v)))); }
FOVEA_INLINE VF MulAddUnless(MF m, VF a, VF b, VF c) { return MulAdd(a, IfThenZeroElse(m, b), c); }
#endif

#include "ground/simd/derived.inl"

}  // namespace hn
