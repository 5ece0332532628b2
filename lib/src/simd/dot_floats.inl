// SPDX-License-Identifier: Apache-2.0
//
// The dot words where no instruction multiplies bytes: f32 multiply-adds of integers. A sum below 2^24 is exact, fused
// or not.

namespace dot {

constexpr DotKind kKind = kDotFloats;
constexpr bool kUnsignedQueries = false, kSignedWeights = false;
using Code = float;     // of a query or a weight
using RowCode = float;  // of a key or a value that was brought

using Sum = VF;

FOVEA_INLINE Sum Start(int32_t sum) { return hn::ConvertTo(kF, hn::Set(kI, sum)); }
constexpr size_t PlaceOf(size_t d) { return d; }
FOVEA_INLINE int32_t StartOfKey(const RowCode*, size_t) { return 0; }
FOVEA_INLINE VF ToFloat(Sum sum) { return sum; }

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

// Nothing to gain from a whole group of rows.
FOVEA_INLINE size_t PackGroup(const int8_t* const (&)[1], size_t, RowCode*, int32_t*) { return 0; }

}  // namespace dot
