// SPDX-License-Identifier: Apache-2.0
//
// What dot words have if their header says nothing else.
#ifndef FOVEA_SRC_SIMD_DOT_DEFAULTS_INL_
#define FOVEA_SRC_SIMD_DOT_DEFAULTS_INL_

// How an instruction's codes are stored.
template <DotKind kDot>
struct DotShape {
  static constexpr DotKind kKind = kDot;
  static constexpr size_t kGroup = ::fovea::kDotTraits[kDot].group, kReads = ::fovea::kDotTraits[kDot].reads;
  static constexpr int kBlockVectors =
      ::fovea::kDotTraits[kDot].vectors != 0 ? ::fovea::kDotTraits[kDot].vectors : hn::kBlockVectors;
};

struct DotDefaults {
  static constexpr bool kUnsignedQueries = false, kSignedWeights = false;
  static constexpr bool kPutsQueries = false, kWidensRows = false, kSumsHalves = false, kWeighsRow = false;
  static constexpr bool kUnsignedRows = false;  // whether products of groups take the codes of rows as unsigned
  static constexpr int kFewBytesBias = 0;
  // How many of a block's vectors of columns stay in registers while its rows are multiplied.
  static constexpr int HeldVectors(int vectors) { return vectors; }
  template <int kRows>
  static constexpr int kFewVectors = kRows;

  static constexpr size_t PlaceOf(size_t d) { return d; }
  FOVEA_INLINE int32_t StartOfKey(const void*, size_t) { return 0; }
  // The sum of a row of bytes.
  FOVEA_INLINE int32_t SumOfRow(const int8_t* row, size_t dim) {
    VI sum = hn::Set(kI, 0);
    size_t d = 0;
    for (; d + kLanes <= dim; d += kLanes) sum = hn::Add(sum, hn::LoadI8(kI, row + d));
    float lanes[kLanes];
    hn::StoreU(hn::BitCast(kF, sum), kF, lanes);
    int32_t total = 0;
    for (size_t i = 0; i < kLanes; ++i) {
      int32_t lane;
      __builtin_memcpy(&lane, &lanes[i], sizeof lane);
      total += lane;
    }
    for (; d < dim; ++d) total += row[d];
    return total;
  }

  FOVEA_INLINE void StoreCodes(VF codes, int8_t* to, size_t n) {
    const VI bits = hn::BitCast(kI, hn::Add(codes, hn::Set(kF, kRoundingBias)));
    if (n == kLanes) {
      hn::StoreU8(bits, reinterpret_cast<uint8_t*>(to));
    } else {
      hn::StoreU8N(bits, reinterpret_cast<uint8_t*>(to), n);
    }
  }

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
