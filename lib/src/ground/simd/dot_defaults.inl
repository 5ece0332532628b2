// SPDX-License-Identifier: Apache-2.0
//
// What dot words have if their header says nothing else.
#ifndef FOVEA_SRC_SIMD_DOT_DEFAULTS_INL_
#define FOVEA_SRC_SIMD_DOT_DEFAULTS_INL_
#include "ground/simd/dot_bytes.inl"

// How an instruction's codes are stored.
template <DotKind kDot>
struct DotShape {
  static constexpr DotKind kKind = kDot;
  static constexpr size_t kGroup = ::fovea::kDotTraits[kDot].group, kReads = ::fovea::kDotTraits[kDot].reads;
  static constexpr int kBlockVectors =
      ::fovea::kDotTraits[kDot].vectors != 0 ? ::fovea::kDotTraits[kDot].vectors : hn::kBlockVectors;
};

struct DotDefaults {
  static constexpr bool kPutsQueries = false, kWidensRows = false, kSumsHalves = false, kWeighsRow = false;

  // Adjacent vectors.
  template <int n>
  FOVEA_INLINE void LoadVectors(const float* p, VF (&v)[n]) {
    FOVEA_EACH(i, n) v[i] = hn::LoadU(kF, p + i * kLanes);
  }
  template <int n>
  FOVEA_INLINE void StoreVectors(const VF (&v)[n], float* p) {
    FOVEA_EACH(i, n) hn::StoreU(v[i], kF, p + i * kLanes);
  }

  // p[0], p[1] and so on, repeated in the lanes of each row.
  template <int kHave>
  FOVEA_INLINE VF Repeated(VF v) {
    if constexpr (kHave == int(kLanes)) {
      return v;
    } else {
      return Repeated<2 * kHave>(hn::Add(v, hn::SwapLanes<kHave>(v)));
    }
  }
  template <int kRows>
  FOVEA_INLINE VF LoadForEachRow(const float* p) {
    if constexpr (kRows == 1) return hn::LoadU(kF, p);
    return Repeated<int(kLanes) / kRows>(hn::LoadN(kF, p, kLanes / kRows));
  }
};

#endif  // FOVEA_SRC_SIMD_DOT_DEFAULTS_INL_
