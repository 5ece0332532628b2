// SPDX-License-Identifier: Apache-2.0
//
// The xsimd header of the vocabulary, for x86: xsimd's batches for the one processor that the file is compiled for. Intrinsics
// are used where xsimd's own function is approximate, slow, or not the same in all releases. Written for 8.1, with only
// names that 13 still has.

namespace hn {

// The register blocks are those of the Highway backend header. In a build with Highway, which picks at run time, the
// files of xsimd are AVX2 ones: see ground/targets/compiled.h.
#if defined(__AVX512F__) && !FOVEA_WITH_HIGHWAY
#if !defined(__AVX512BW__) || !defined(__AVX512DQ__) || !defined(__AVX512VL__)
#error "AVX-512 means F, BW, DQ and VL here: compile with -march=skylake-avx512 or later, or without -mavx512f"
#endif
#define FOVEA_X86_LANES 16
using Arch = xsimd::avx512bw;
constexpr int kRegisters = 32, kBlockVectors = 3, kMaskedVectors = 3;
#elif defined(__AVX2__)
#if !defined(__FMA__) || !defined(__F16C__)
#error "AVX2 means AVX2, FMA and F16C here: compile with -mfma -mf16c too"
#endif
#define FOVEA_X86_LANES 8
using Arch = xsimd::fma3<xsimd::avx2>;
constexpr int kRegisters = 16, kBlockVectors = 3, kMaskedVectors = 2;
#elif defined(__SSE4_2__)
#define FOVEA_X86_LANES 4
using Arch = xsimd::sse4_2;
constexpr int kRegisters = 16, kBlockVectors = 3, kMaskedVectors = 2;
#else
#error "xsimd serves x86 from SSE4.2 on: set the compiler's processor (-march, or a toolchain file)"
#endif
#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC diagnostic push  // GCC 12 warns of what its own headers for AVX-512 leave undefined
#pragma GCC diagnostic ignored "-Wuninitialized"
#pragma GCC diagnostic ignored "-Wmaybe-uninitialized"
#endif
static_assert(Arch::supported(), "xsimd does not see the vector unit that the compiler is set to");

// A build that names its processor must get its vectors.
#if (defined(FOVEA_EXPECT_TARGET_SSE4) && FOVEA_X86_LANES != 4) || \
    (defined(FOVEA_EXPECT_TARGET_AVX2) && FOVEA_X86_LANES != 8) || \
    (defined(FOVEA_EXPECT_TARGET_AVX512) && FOVEA_X86_LANES != 16)
#error "xsimd's target is another than the toolchain file asks for: check -march and its feature flags"
#endif

template <class T>
struct Tag {};
constexpr Tag<float> kF;
constexpr Tag<int32_t> kI;
using VF = xsimd::batch<float, Arch>;
using VI = xsimd::batch<int32_t, Arch>;
using MF = xsimd::batch_bool<float, Arch>;
constexpr size_t kLanes = VF::size;

FOVEA_INLINE VF Zero(Tag<float>) { return VF(0.0f); }
FOVEA_INLINE VF Set(Tag<float>, float x) { return VF(x); }
FOVEA_INLINE VI Set(Tag<int32_t>, int32_t x) { return VI(x); }
FOVEA_INLINE VF LoadU(Tag<float>, const float* p) { return VF::load_unaligned(p); }
FOVEA_INLINE VI LoadU(Tag<int32_t>, const int32_t* p) { return VI::load_unaligned(p); }
FOVEA_INLINE void StoreU(VF v, Tag<float>, float* p) { v.store_unaligned(p); }

// The compiler's own operators: g++ 12 calls those of xsimd from long functions.
FOVEA_INLINE VF Add(VF a, VF b) { return VF(a.data + b.data); }
FOVEA_INLINE VF Sub(VF a, VF b) { return VF(a.data - b.data); }
FOVEA_INLINE VF Mul(VF a, VF b) { return VF(a.data * b.data); }
FOVEA_INLINE VF Abs(VF a) { return xsimd::abs(a); }
FOVEA_INLINE VI Add(VI a, VI b) { return a + b; }
FOVEA_INLINE VI Sub(VI a, VI b) { return a - b; }
FOVEA_INLINE VI And(VI a, VI b) { return a & b; }
FOVEA_INLINE VI Or(VI a, VI b) { return a | b; }
FOVEA_INLINE VI Xor(VI a, VI b) { return a ^ b; }
FOVEA_INLINE VF ConvertTo(Tag<float>, VI a) { return xsimd::to_float(a); }

FOVEA_INLINE MF Eq(VF a, VF b) { return a == b; }
FOVEA_INLINE MF Lt(VF a, VF b) { return a < b; }
FOVEA_INLINE MF Le(VF a, VF b) { return a <= b; }
FOVEA_INLINE MF Or(MF a, MF b) { return a | b; }
FOVEA_INLINE VF IfThenElse(MF m, VF yes, VF no) { return xsimd::select(m, yes, no); }

FOVEA_INLINE auto Raw(const VF& v) { return v.data; }
FOVEA_INLINE auto Raw(const VI& v) { return v.data; }
#include "ground/simd/x86.inl"

FOVEA_INLINE VF Div(VF a, VF b) { return VF(a.data / b.data); }
FOVEA_INLINE VF Max(VF a, VF b) { return VF(FOVEA_MM(max_ps)(a.data, b.data)); }
FOVEA_INLINE VF ClampMin(VF a, VF least) { return Max(least, a); }  // the second if one is NaN
FOVEA_INLINE VF ClampMax(VF a, VF most) { return VF(FOVEA_MM(min_ps)(most.data, a.data)); }
#if FOVEA_X86_LANES > 4
FOVEA_INLINE VF MulAdd(VF a, VF b, VF c) { return VF(FOVEA_MM(fmadd_ps)(a.data, b.data, c.data)); }
FOVEA_INLINE VF NegMulAdd(VF a, VF b, VF c) { return VF(FOVEA_MM(fnmadd_ps)(a.data, b.data, c.data)); }
#else
FOVEA_INLINE VF MulAdd(VF a, VF b, VF c) { return Add(Mul(a, b), c); }
FOVEA_INLINE VF NegMulAdd(VF a, VF b, VF c) { return Sub(c, Mul(a, b)); }
#endif
template <int n>
FOVEA_INLINE VI ShiftLeft(VI a) {
  return VI(FOVEA_MM(slli_epi32)(a.data, n));
}
template <int n>
FOVEA_INLINE VI ShiftRight(VI a) {
  return VI(FOVEA_MM(srai_epi32)(a.data, n));
}
FOVEA_INLINE VF BitCast(Tag<float>, VI a) { return VF(raw::Floats(a.data)); }
FOVEA_INLINE VI BitCast(Tag<int32_t>, VF a) { return VI(raw::Ints(a.data)); }
FOVEA_INLINE VF Iota(Tag<float>, float first) {
#if FOVEA_X86_LANES == 16
  const raw::V lanes = _mm512_setr_ps(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15);
#elif FOVEA_X86_LANES == 8
  const raw::V lanes = _mm256_setr_ps(0, 1, 2, 3, 4, 5, 6, 7);
#else
  const raw::V lanes = _mm_setr_ps(0, 1, 2, 3);
#endif
  return Add(Set(kF, first), VF(lanes));
}
#if FOVEA_X86_LANES == 16
FOVEA_INLINE MF SignMask(VF v) { return MF(_mm512_movepi32_mask(raw::Ints(v.data))); }
FOVEA_INLINE VF IfThenZeroElse(MF m, VF no) { return VF(_mm512_maskz_mov_ps(_knot_mask16(m.data), no.data)); }
FOVEA_INLINE VF MulAddUnless(MF m, VF a, VF b, VF c) {
  return VF(_mm512_mask3_fmadd_ps(a.data, b.data, c.data, _knot_mask16(m.data)));
}
#else
FOVEA_INLINE MF SignMask(VF v) { return MF(raw::Floats(FOVEA_MM(srai_epi32)(raw::Ints(v.data), 31))); }
FOVEA_INLINE VF IfThenZeroElse(MF m, VF no) { return VF(FOVEA_MM(andnot_ps)(m.data, no.data)); }
FOVEA_INLINE VF MulAddUnless(MF m, VF a, VF b, VF c) { return MulAdd(a, IfThenZeroElse(m, b), c); }
#endif

#include "ground/simd/narrow.inl"

#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC diagnostic pop
#endif

#include "ground/simd/derived.inl"

}  // namespace hn
