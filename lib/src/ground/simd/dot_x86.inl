// SPDX-License-Identifier: Apache-2.0
//
// What the dot headers of x86 share: vectors of sums, FOVEA_X86_LANES integers of 32 bits, and their lanes' sums.
#ifndef FOVEA_SRC_SIMD_DOT_X86_INL_
#define FOVEA_SRC_SIMD_DOT_X86_INL_
#include "ground/simd/dot_defaults.inl"

struct X86Sums : DotDefaults {
  using X = hn::raw::I;
  using E = hn::raw::I;
  using Sum = hn::raw::I;

  FOVEA_INLINE Sum Start(int32_t sum) { return FOVEA_MM(set1_epi32)(sum); }
  FOVEA_INLINE void StoreWords(hn::raw::I v, void* to) { hn::raw::StoreInts(v, to); }
  FOVEA_INLINE Sum FewAdd(Sum a, Sum b) { return FOVEA_MM(add_epi32)(a, b); }
  // In each 16-byte block, AddLanes gives a0 + a2, b0 + b2, a1 + a3, b1 + b3, and AddPairs a0 + a2, a1 + a3, b0 + b2, b1 + b3.
  FOVEA_INLINE Sum AddLanes(Sum a, Sum b) {
    return FewAdd(FOVEA_MM(unpacklo_epi32)(a, b), FOVEA_MM(unpackhi_epi32)(a, b));
  }
  FOVEA_INLINE Sum AddPairs(Sum a, Sum b) {
    return FewAdd(FOVEA_MM(unpacklo_epi64)(a, b), FOVEA_MM(unpackhi_epi64)(a, b));
  }
  // Adds neighbouring blocks of a, and then those of b.
#if FOVEA_X86_LANES == 16
  FOVEA_INLINE Sum AddBlocks(Sum a, Sum b) {
    return FewAdd(_mm512_shuffle_i32x4(a, b, 0x88), _mm512_shuffle_i32x4(a, b, 0xdd));
  }
  // p[0], p[1] and so on, repeated in the lanes of each row.
  template <int kRows>
  FOVEA_INLINE VF LoadForEachRow(const float* p) {
    if constexpr (kRows == 1) return hn::LoadU(kF, p);
    if constexpr (kRows == 2) return VF{_mm512_broadcast_f32x8(_mm256_loadu_ps(p))};
    if constexpr (kRows == 4) return VF{_mm512_broadcast_f32x4(_mm_loadu_ps(p))};
  }
#elif FOVEA_X86_LANES == 8
  FOVEA_INLINE Sum AddBlocks(Sum a, Sum b) {
    return FewAdd(_mm256_permute2x128_si256(a, b, 0x20), _mm256_permute2x128_si256(a, b, 0x31));
  }
#endif

  // sum + addend in kBytes bytes. In assembly: g++ 12 would add several products before the sum, and have no registers for these.
  template <int kBytes>
  FOVEA_INLINE hn::raw::I AddInPlace(hn::raw::I addend, hn::raw::I sum) {
#if defined(__clang__)
    return kBytes == 4 ? FOVEA_MM(add_epi32)(sum, addend) : FOVEA_MM(add_epi16)(sum, addend);
#else
    if constexpr (kBytes == 4) asm("{vpaddd %1, %0, %0|vpaddd %0, %0, %1}" : "+x"(sum) : "x"(addend));
    if constexpr (kBytes == 2) asm("{vpaddw %1, %0, %0|vpaddw %0, %0, %1}" : "+x"(sum) : "x"(addend));
    return sum;
#endif
  }

  FOVEA_INLINE VF ToFloat(Sum sum) { return hn::ConvertTo(kF, VI{sum}); }
  FOVEA_INLINE VI ToInts(Sum sum) { return VI{sum}; }
  FOVEA_INLINE Sum FewZero() { return Start(0); }

  // Lane i of each 16-byte block: the sum of that block's lanes of v[i].
  FOVEA_INLINE Sum SumsOfBlocks(const Sum* v) { return AddPairs(AddLanes(v[0], v[1]), AddLanes(v[2], v[3])); }
  // Lane i: the sum of v[i]. With fewer vectors than lanes, each has lanes of every row: lane i of each row's lanes is the sum of that
  // row's lanes of v[i].
  template <int kRows, size_t kVectors>
  FOVEA_INLINE VI IntsOfRows(const Sum (&v)[kVectors]) {
    static_assert(kVectors == kLanes || kVectors == kLanes / kRows, "others are not served");
#if FOVEA_X86_LANES == 16
    if constexpr (kVectors == 16) {
      return ToInts(AddBlocks(AddBlocks(SumsOfBlocks(v), SumsOfBlocks(v + 4)),
                              AddBlocks(SumsOfBlocks(v + 8), SumsOfBlocks(v + 12))));
    } else if constexpr (kVectors == 8) {
      const Sum sums = AddBlocks(SumsOfBlocks(v), SumsOfBlocks(v + 4));
      return ToInts(_mm512_shuffle_i32x4(sums, sums, 0xd8));
    }
#elif FOVEA_X86_LANES == 8
    if constexpr (kVectors == 8) return ToInts(AddBlocks(SumsOfBlocks(v), SumsOfBlocks(v + 4)));
    if constexpr (kVectors == 2) return ToInts(_mm256_shuffle_epi32(_mm256_hadd_epi32(v[0], v[1]), 0xd8));
#endif
    if constexpr (kVectors == 4) return ToInts(SumsOfBlocks(v));
  }
  template <int kRows, size_t kVectors>
  FOVEA_INLINE VF SumsOfRows(const Sum (&v)[kVectors]) {
    return hn::ConvertTo(kF, IntsOfRows<kRows>(v));
  }
};

#endif  // FOVEA_SRC_SIMD_DOT_X86_INL_
