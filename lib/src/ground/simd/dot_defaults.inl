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

// The words for few rows that follow from others of Dot: an instruction takes one key or value unless words of its own
// say more.
template <class Dot>
struct FewDefaults {
  static constexpr uint32_t kFewKeysAtOnce = 1;
  template <int kRows>
  static constexpr int kFewValueVectors = kRows * 4 <= hn::kRegisters / 2 ? 4 : hn::kRegisters / 2 / kRows;

  template <class Code>
  FOVEA_INLINE void StoreFewQueries(VF biased, Code* lanes) {
    Dot::StoreQueries(biased, lanes);
  }
  template <class Code>
  FOVEA_INLINE auto FewStart(const Code*, size_t) {
    return Dot::FewZero();
  }
  template <class Weight>
  FOVEA_INLINE auto FewValueStart(const Weight*, uint32_t) {
    return Dot::FewZero();
  }
  FOVEA_INLINE auto LoadOneValue(const int8_t* p) { return Dot::template LoadFew<1>(p); }
  FOVEA_INLINE auto LoadOneValuePart(const int8_t* p, size_t n) { return Dot::template LoadFewPart<1>(p, n); }
  template <class X, int kVectors>
  FOVEA_INLINE void LoadFewValues(const int8_t* const (&at)[1], X (&values)[kVectors]) {
    FOVEA_EACH(v, kVectors) values[v] = Dot::LoadOneValue(at[0] + v * kLanes);
  }
  template <class X, int kVectors>
  FOVEA_INLINE void LoadFewValuesPart(const int8_t* const (&at)[1], size_t n, X (&values)[kVectors]) {
    FOVEA_EACH(v, kVectors) {
      const size_t first = v * kLanes, left = first < n ? n - first : 0;
      values[v] = Dot::LoadOneValuePart(at[0] + (left ? first : 0), left < kLanes ? left : kLanes);
    }
  }
  template <class Sum, int kVectors>
  FOVEA_INLINE void InOrder(const Sum (&sums)[kVectors], VF (&floats)[kVectors]) {
    FOVEA_EACH(v, kVectors) floats[v] = Dot::ToFloat(sums[v]);
  }
  // For rows of groups.
  template <class Code, class X, size_t kParts>
  FOVEA_INLINE void LoadFewGroupX(const Code* x, X (&codes)[kParts]) {
    FOVEA_EACH(i, kParts) codes[i] = Dot::LoadFewX(x + i * Dot::kFewXCodes);
  }
};

#endif  // FOVEA_SRC_SIMD_DOT_DEFAULTS_INL_
