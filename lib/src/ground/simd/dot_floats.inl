// SPDX-License-Identifier: Apache-2.0
//
// The dot words where no instruction multiplies bytes: f32 multiply-adds of integers. A sum below 2^24 is exact, fused
// or not.
#ifndef FOVEA_SRC_SIMD_DOT_FLOATS_INL_
#define FOVEA_SRC_SIMD_DOT_FLOATS_INL_
#include "ground/formats/rows.inl"
#include "ground/simd/dot_defaults.inl"

struct Floats : DotDefaults, DotShape<kDotFloats>, FewDefaults<Floats> {
  using Code = float;     // of a query or a weight
  using RowCode = float;  // of a key or a value that was brought

  using Sum = VF;

  FOVEA_INLINE Sum Start(int32_t sum) { return hn::ConvertTo(kF, hn::Set(kI, sum)); }
  FOVEA_INLINE VF ToFloat(Sum sum) { return sum; }
  // In two parts, since the bias converts no more than 22 bits at once.
  FOVEA_INLINE VI ToInts(Sum sum) {
    const VF bias = hn::Set(kF, kRoundingBias), high = hn::Add(hn::Mul(sum, hn::Set(kF, 0x1p-12f)), bias);
    const VF low = hn::Sub(sum, hn::Mul(hn::Sub(high, bias), hn::Set(kF, 0x1p12f)));
    const VI bits = hn::Add(hn::ShiftLeft<12>(hn::BitCast(kI, high)), hn::BitCast(kI, hn::Add(low, bias)));
    return hn::Sub(bits, hn::BitCast(kI, bias));
  }

  FOVEA_INLINE void StoreQueries(VF biased, Code* lanes) {
    hn::StoreU(hn::Sub(biased, hn::Set(kF, kRoundingBias)), kF, lanes);
  }
  FOVEA_INLINE void StoreWeights(const VF (&biased)[1], Code* to) { StoreQueries(biased[0], to); }
  FOVEA_INLINE void StoreCodes(VF codes, RowCode* to, size_t n) {
    if (n == kLanes) {
      hn::StoreU(codes, kF, to);
    } else {
      hn::StoreN(codes, kF, to, n);
    }
  }
  FOVEA_INLINE void WidenRow(const int8_t* row, size_t dim, RowCode* to) {
    for (size_t d = 0; d < dim; d += kLanes) {
      const size_t n = dim - d < kLanes ? dim - d : kLanes;
      const VI codes = n == kLanes ? hn::LoadI8(kI, row + d) : hn::LoadI8N(kI, row + d, n);
      StoreCodes(hn::ConvertTo(kF, codes), to + d, n);
    }
  }

  // There is no faster way for a whole group of rows.
  FOVEA_INLINE size_t PackGroup(const int8_t* const (&)[1], size_t, RowCode*, int32_t*) { return 0; }

  // ---- for the few-rows kernel

  using FewCode = float;    // of a query
  using FewWeight = float;  // of a weight
  using FewX = VF;
  static constexpr size_t FewReads(size_t) { return kLanes; }
  static constexpr size_t kFewXCodes = kLanes;

  FOVEA_INLINE FewX LoadFewX(const FewCode* p) { return hn::LoadU(kF, p); }
  template <int kRows>
  FOVEA_INLINE FewX LoadFew(const int8_t* p) {
    return hn::ConvertTo(kF, hn::LoadI8(kI, p));
  }
  template <int kRows>
  FOVEA_INLINE FewX LoadFewPart(const int8_t* p, size_t n) {
    return hn::ConvertTo(kF, hn::LoadI8N(kI, p, n));
  }
  FOVEA_INLINE Sum FewZero() { return hn::Zero(kF); }
  FOVEA_INLINE Sum FewAdd(Sum a, Sum b) { return hn::Add(a, b); }
  FOVEA_INLINE Sum FewScoreDot(FewX x, FewX e, Sum sum) { return fused::MulAdd(x, e, sum); }
  FOVEA_INLINE Sum FewValueDot(FewX x, FewX e, Sum sum) { return fused::MulAdd(x, e, sum); }
  template <int kRows>
  FOVEA_INLINE VF SumsOfRows(const Sum (&sums)[kLanes]) {
    return hn::SumsOfLanes(sums);
  }
  template <int kRows>
  FOVEA_INLINE VI IntsOfRows(const Sum (&sums)[kLanes]) {
    return ToInts(hn::SumsOfLanes(sums));
  }

  FOVEA_INLINE void StoreFewWeights(VF biased, FewWeight* lanes) { StoreQueries(biased, lanes); }
  FOVEA_INLINE FewX SetFewWeights(const FewWeight* p) { return hn::Set(kF, *p); }

  // ---- for rows of groups

  static constexpr size_t kFewGroupRows = 1, kFewGroupParts = kGroupVectors;

  FOVEA_INLINE void LoadFewGroup(const uint8_t* const (&at)[1], FewX (&codes)[kFewGroupParts]) {
    FOVEA_EACH(i, kFewGroupParts) {
      codes[i] = LoadFew<1>(reinterpret_cast<const int8_t*>(at[0]) + i * kLanes);
    }
  }
  FOVEA_INLINE void LoadFewNibbles(const uint8_t* const (&at)[1], FewX (&codes)[kFewGroupParts]) {
    AllNibbles<0>(at[0], codes);
  }
};

#endif  // FOVEA_SRC_SIMD_DOT_FLOATS_INL_
