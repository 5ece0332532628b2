// SPDX-License-Identifier: Apache-2.0
//
// Widens rows of groups to rows of i8. Scales and codes are those that ScaleI8 gives. A 128-bit block of a vector holds
// half of a group: its low nibbles or high nibbles, or 16 of its bytes. For nibbles there is a table of 128 bits for
// each group: 16 codes of i8, one for each nibble. Four vectors are widened at a time, each of another row or of two
// rows; a lane of a block then is a row, where numbers are computed that a row has once. There are three passes over a
// tile, since one pass waits for its divisions.
#ifndef FOVEA_SRC_ATTENTION_I8_WIDEN_GROUPS_INL_
#define FOVEA_SRC_ATTENTION_I8_WIDEN_GROUPS_INL_

#include "ground/formats/rows.inl"

#if !FOVEA_HAS_BLOCKS
template <fovea_dtype kType>
constexpr bool WidensGroups(size_t) {
  return false;
}
template <fovea_dtype kType>
FOVEA_INLINE void WidenGroups(const KeyRows&, uint32_t, size_t, uint8_t*, size_t, float*) {}
constexpr uint32_t kWidenedAtOnce = 1;
#else

constexpr size_t kBlocks = kLanes / 4;  // groups in a vector
constexpr uint32_t kWidenedAtOnce = 8;  // at most
constexpr size_t kKeptScales = 512;     // of groups: limits the stack

// A row that ends in a part of a group is widened by a loop over its elements.
template <fovea_dtype kType>
constexpr bool WidensGroups(size_t dim) {
  return kGrouped<kType> && !kInBytes<kType> && dim % kScaleGroup == 0 && dim * 4 <= kKeptScales * kScaleGroup;
}

// The places of groups, as bytes. The scale of a group is an f16 at its head.
template <fovea_dtype kType>
struct GroupRows {
  static constexpr bool kHeadsApart = ::fovea::format_of(kType).scaled == Scaled::kGroup;
  static constexpr bool kNibbles = kType != FOVEA_Q8_0;
  static constexpr size_t kStep = ::fovea::format_of(kType).group_bytes;
  static constexpr size_t kHeadStep = kHeadsApart ? sizeof(uint16_t) : kStep;
  const uint8_t *codes, *heads;
  ptrdiff_t stride, head_stride;

  FOVEA_INLINE GroupRows Of(const KeyRows& rows) {
    const uint8_t* const data = static_cast<const uint8_t*>(rows.data);
    if constexpr (kHeadsApart) {
      return {data, static_cast<const uint8_t*>(*rows.scales), rows.stride,
              rows.scale_stride * ptrdiff_t(sizeof(uint16_t))};
    } else {
      return {data + FormatRow<kType>::kHeadBytes, data, rows.stride, rows.stride};
    }
  }
  FOVEA_MEMBER void Move(uint32_t rows) {
    codes += ptrdiff_t(rows) * stride;
    heads += ptrdiff_t(rows) * head_stride;
  }
};

// Vector r has groups g to g + n - 1 of row r; or, if two rows share a vector, all of row r and then all of row r + 4.
template <int kShare>
FOVEA_INLINE const uint8_t* PlaceOfBlock(const uint8_t* first, ptrdiff_t stride, size_t step, int r, size_t b) {
  constexpr size_t kEach = kBlocks / kShare;
  return first + (r + int(b / kEach) * 4) * stride + b % kEach * step;
}
template <fovea_dtype kType, int kShare>
FOVEA_INLINE VI LoadGroups(const GroupRows<kType>& rows, int r, size_t g, size_t n, size_t part = 0) {
  const uint8_t* at[kBlocks];
  FOVEA_EACH(b, kBlocks) {  // blocks past the end repeat the first
    at[b] = PlaceOfBlock<kShare>(rows.codes + part + g * GroupRows<kType>::kStep, rows.stride, GroupRows<kType>::kStep,
                                 r, b < n ? b : 0);
  }
  constexpr int kRun = GroupRows<kType>::kStep == 16 ? int(kBlocks) / kShare : 1;  // adjacent
  if (n == kBlocks) return hn::LoadBlocks<kRun>(kI, at);
  return hn::LoadBlocks<1>(kI, at);
}
// The scale of each group in the lane of its row, and 0 past the end.
template <fovea_dtype kType, int kShare>
FOVEA_INLINE VF LoadScales(const GroupRows<kType>& rows, size_t g, size_t n) {
  constexpr size_t kEach = kBlocks / kShare;
  uint64_t halves[4] = {};
  const uint8_t* const first = rows.heads + g * GroupRows<kType>::kHeadStep;
  FOVEA_EACH(r, 4) {
    FOVEA_UNROLL_LONG_LOOP(4)
    for (size_t b = 0; b < n; b += GroupRows<kType>::kHeadsApart && n == kBlocks ? kEach : 1) {
      const uint8_t* const head = PlaceOfBlock<kShare>(first, rows.head_stride, GroupRows<kType>::kHeadStep, r, b);
      uint64_t some = HalfAt(head);
      if (GroupRows<kType>::kHeadsApart && n == kBlocks) __builtin_memcpy(&some, head, kEach * sizeof(uint16_t));
      halves[r] |= some << (16 * b);
    }
  }
  return hn::WidenF16Blocks(kF, halves);
}

FOVEA_INLINE VI LowNibbles(VI v) { return hn::And(v, hn::Set(kI, 0x0f0f0f0f)); }
FOVEA_INLINE VI HighNibbles(VI v) { return LowNibbles(hn::ShiftRight<4>(v)); }

// The same four numbers, or 16 bytes, in each 128-bit block.
struct EachBlock {
  int32_t lanes[kLanes];
  constexpr EachBlock(uint32_t a, uint32_t b, uint32_t c, uint32_t d) : lanes() {
    for (size_t i = 0; i < kLanes; ++i) lanes[i] = int32_t(i % 4 == 0 ? a : i % 4 == 1 ? b : i % 4 == 2 ? c : d);
  }
  FOVEA_MEMBER VI Load() const { return hn::LoadU(kI, lanes); }
};

// The sum or maximum over the 128-bit blocks of a row, lane by lane.
template <bool kMax, int kShare, int kStep = 4>
FOVEA_INLINE VF OverBlocks(VF v) {
  if constexpr (kStep >= int(kLanes) / kShare) {
    return v;
  } else {
    const VF other = hn::SwapLanes<kStep>(v);
    return OverBlocks<kMax, kShare, 2 * kStep>(kMax ? hn::Max(v, other) : hn::Add(v, other));
  }
}

// The magnitudes of codes, as bytes. Only their largest matters.
template <fovea_dtype kType, int kShare>
FOVEA_INLINE VI LargerMagnitudes(const GroupRows<kType>& rows, int r, size_t g, size_t n) {
  const VI v = LoadGroups<kType, kShare>(rows, r, g, n);
  if constexpr (GroupRows<kType>::kNibbles) {
    static constexpr EachBlock kSizes = {0x05060708, 0x01020304, 0x03020100, 0x07060504};  // of codes 0 to 15
    const VI sizes = kSizes.Load();
    return hn::MaxU8(hn::LookUp(sizes, LowNibbles(v)), hn::LookUp(sizes, HighNibbles(v)));
  } else {
    return hn::MaxU8(hn::AbsI8(v), hn::AbsI8(LoadGroups<kType, kShare>(rows, r, g, n, 16)));
  }
}

// A table in each 128-bit block: that of the group whose scale fills the block.
FOVEA_INLINE VI TableOfNibbles(VF scale, VF inverse) {
  static constexpr EachBlock kPlaces = {0x0105090d, 0x0004080c, 0x080400ff, 0x0905010c};
  static constexpr EachBlock kNegated = {~0u, ~0u, 0, 0};
  static constexpr EachBlock kSizes = {1, 2, 3, 4};
  const VF sizes = hn::ConvertTo(kF, kSizes.Load());
  const VF low = hn::Mul(hn::Mul(sizes, scale), inverse);
  const VF high = hn::Mul(hn::Mul(hn::Add(sizes, hn::Set(kF, 4.0f)), scale), inverse);
  // Magnitudes 1 to 4 in the first byte of each lane, 5 to 8 in the second. Magnitudes that the group does not have may
  // be too large for a byte.
  const VI first = hn::And(hn::BitCast(kI, hn::Add(low, hn::Set(kF, kRoundingBias))), hn::Set(kI, 255));
  const VI second = hn::ShiftLeft<8>(hn::BitCast(kI, hn::Add(high, hn::Set(kF, kRoundingBias))));
  const VI codes = hn::LookUp(hn::Or(first, second), kPlaces.Load());  // code c stands for c - 8
  const VI negated = kNegated.Load();
  return hn::SubU8(hn::Xor(codes, negated), negated);
}

// Stores the new codes of the bytes of row r, whose scales are in lane r of blocks: of four vectors at a time, which
// are half of a group, a group, or two.
template <fovea_dtype kType>
FOVEA_INLINE void WidenBytes(const GroupRows<kType>& rows, int r, size_t groups, const float* scales, float inverse,
                             uint8_t* to) {
  constexpr size_t kVectors = kScaleGroup / kLanes, kAtOnce = kVectors < 4 ? 4 / kVectors : 1;  // groups
  const auto* codes = reinterpret_cast<const int8_t*>(rows.codes + r * rows.stride);
  const VF times = hn::Set(kF, inverse);
  const auto widened = [=](size_t g, size_t vector) __attribute__((always_inline)) {
    const VI code = hn::LoadI8(kI, codes + g * GroupRows<kType>::kStep + vector * kLanes);
    return hn::Mul(hn::Mul(hn::ConvertTo(kF, code), hn::Set(kF, scales[4 * g + size_t(r)])), times);
  };
  size_t g = 0;
  for (; g + kAtOnce <= groups; g += kAtOnce) {
    FOVEA_UNROLL(2)
    for (size_t first = 0; first < kAtOnce * kVectors; first += 4, to += 4 * kLanes) {
      VF x[4];
      FOVEA_EACH(v, 4) x[v] = widened(g + (first + v) / kVectors, (first + v) % kVectors);
      hn::StoreNearestI8(x, to);
    }
  }
  for (; g < groups; ++g) {
    FOVEA_UNROLL(2)
    for (size_t v = 0; v < kVectors; ++v, to += kLanes) {
      hn::StoreU8(hn::BitCast(kI, hn::Add(widened(g, v), hn::Set(kF, kRoundingBias))), to);
    }
  }
}

// Stores the new codes of the nibbles of row r, or of rows r and r + 4.
template <int r, fovea_dtype kType, int kShare>
FOVEA_INLINE void WidenNibbles(const GroupRows<kType>& rows, size_t g, size_t n, VF scales, VF inverses, uint8_t* to,
                               size_t to_stride) {
  const VF scale = hn::SpreadLane<r>(scales), inverse = hn::SpreadLane<r>(inverses);
  const VI v = LoadGroups<kType, kShare>(rows, r, g, n);
  const VI table = TableOfNibbles(scale, inverse);
  const VI a = hn::LookUp(table, LowNibbles(v)), b = hn::LookUp(table, HighNibbles(v));
  to += r * to_stride + g * kScaleGroup;
  hn::StoreBlockPairs(a, b, to, to + (kShare == 1 ? kBlocks / 2 * kScaleGroup : 4 * to_stride), n);
}

// Prefetches rows, which may be past the end of an array. Adjacent rows are prefetched as one.
FOVEA_INLINE void PrefetchNext(uintptr_t row, ptrdiff_t stride, size_t rows, size_t bytes) {
  if (stride == ptrdiff_t(bytes)) bytes *= rows, rows = 1;
  for (; rows > 0; --rows, row += uintptr_t(stride)) {
    for (size_t line = 0; line < bytes; line += kCacheLine) {
      __builtin_prefetch(reinterpret_cast<const void*>(row + line), 0, 3);
    }
  }
}

template <bool kWhole>
FOVEA_INLINE size_t BlocksAt(size_t groups, size_t g) {
  return kWhole || groups - g > kBlocks ? kBlocks : groups - g;
}

// largest[i] becomes the largest magnitude of row i, nan[i] NaN if a scale is not finite, else 0: for four rows, or
// eight if two share a vector. Both have room for kLanes - 4 more numbers, because whole vectors are stored. Keeps the
// scales of groups, and 0 for one that is not finite.
template <fovea_dtype kType, int kShare, bool kWhole>
FOVEA_INLINE void LargestOfRows(const GroupRows<kType>& rows, size_t groups, float* kept, float* largest, float* nan) {
  VF most = hn::Zero(kF), not_finite = hn::Zero(kF);
  for (size_t g = 0; g < groups; g += kBlocks, kept += kLanes) {
    const size_t n = BlocksAt<kWhole>(groups, g);
    VI found[4];
    FOVEA_EACH(r, 4) found[r] = LargerMagnitudes<kType, kShare>(rows, r, g, n);
    const VF scale = LoadScales<kType, kShare>(rows, g, n), nan_or_zero = hn::Sub(scale, scale);
    most = hn::Max(most, hn::Mul(hn::ConvertTo(kF, hn::LargestU8(found)), hn::Abs(scale)));
    not_finite = hn::Add(not_finite, nan_or_zero);
    hn::StoreU(hn::IfThenElse(hn::Eq(nan_or_zero, hn::Zero(kF)), scale, hn::Zero(kF)), kF, kept);
  }
  most = OverBlocks<true, kShare>(most);
  not_finite = OverBlocks<false, kShare>(not_finite);
  hn::StoreU(most, kF, largest);
  hn::StoreU(not_finite, kF, nan);
  if constexpr (kShare == 2) {
    hn::StoreU(hn::SwapLanes<int(kLanes) / 2>(most), kF, largest + 4);
    hn::StoreU(hn::SwapLanes<int(kLanes) / 2>(not_finite), kF, nan + 4);
  }
}

// Stores the codes of these rows. Elements of row i are multiplied by inverse[i]: 0 if a scale is not finite.
template <fovea_dtype kType, int kShare, bool kWhole>
FOVEA_INLINE void CodesOfRows(const GroupRows<kType>& rows, size_t groups, const float* kept, const float* inverse,
                              uint8_t* to, size_t to_stride) {
  if constexpr (GroupRows<kType>::kNibbles) {
    const uint8_t* at[kBlocks];
    FOVEA_EACH(b, kBlocks) {
      at[b] = PlaceOfBlock<kShare>(reinterpret_cast<const uint8_t*>(inverse), sizeof(float), 0, 0, b);
    }
    const VF inverses = hn::BitCast(kF, hn::LoadBlocks<1>(kI, at));
    for (size_t g = 0; g < groups; g += kBlocks, kept += kLanes) {
      const size_t n = BlocksAt<kWhole>(groups, g);
      const VF scales = hn::LoadU(kF, kept);
      WidenNibbles<0, kType, kShare>(rows, g, n, scales, inverses, to, to_stride);
      WidenNibbles<1, kType, kShare>(rows, g, n, scales, inverses, to, to_stride);
      WidenNibbles<2, kType, kShare>(rows, g, n, scales, inverses, to, to_stride);
      WidenNibbles<3, kType, kShare>(rows, g, n, scales, inverses, to, to_stride);
    }
  } else {
    for (int r = 0; r < 4 * kShare; ++r) {
      const float* const scales = kept + (r < 4 ? 0 : int(kLanes) / 2 - 4);
      WidenBytes<kType>(rows, r, groups, scales, inverse[r], to + size_t(r) * to_stride);
    }
  }
}

// Widens rows: some times as many as LargestOfRows takes, or one.
template <fovea_dtype kType, int kShare, bool kWhole>
FOVEA_INLINE void WidenSome(const GroupRows<kType>& from, uint32_t count, size_t groups, uint8_t* to, size_t to_stride,
                            float* scales) {
  constexpr uint32_t kAtOnce = 4 * kShare, kRoom = kKeyTile + kAtOnce;
  float largest[kRoom + kLanes], nan[kRoom + kLanes], inverse[kRoom], kept[kKeptScales];
  const size_t kept_each = round_up(groups, kBlocks) * 4;
  GroupRows<kType> rows = from;
  for (uint32_t i = 0; i < count; i += kAtOnce, rows.Move(kAtOnce)) {
    LargestOfRows<kType, kShare, kWhole>(rows, groups, kept + i / kAtOnce * kept_each, largest + i, nan + i);
    PrefetchNext(reinterpret_cast<uintptr_t>(rows.codes) + kKeyTile * uintptr_t(rows.stride), rows.stride, kAtOnce,
                 groups * GroupRows<kType>::kStep);
  }
  const uint32_t filled = uint32_t(round_up(count, kAtOnce));
  for (uint32_t i = 0; i < filled; i += kLanes) {
    const size_t n = filled - i < kLanes ? filled - i : kLanes;
    const VF not_finite = LoadUpTo(nan + i, n);
    const ScaleI8 fit = ScaleI8::From(hn::Max(LoadUpTo(largest + i, n), hn::Set(kF, kLeastMaxI8)), not_finite);
    hn::StoreN(fit.scale, kF, scales + i, n);
    hn::StoreN(ZeroIfNan(hn::Add(fit.inverse, not_finite)), kF, inverse + i, n);
  }
  rows = from;
  for (uint32_t i = 0; i < count; i += kAtOnce, rows.Move(kAtOnce)) {
    CodesOfRows<kType, kShare, kWhole>(rows, groups, kept + i / kAtOnce * kept_each, inverse + i, to + i * to_stride,
                                       to_stride);
  }
}

// Widens `count` <= kKeyTile rows. scales[i] becomes the scale of row i. Prefetches rows of the next tile.
template <fovea_dtype kType, int kShare, bool kWhole>
FOVEA_TEMPLATE void WidenGroupRows(const KeyRows& from, uint32_t count, size_t dim, uint8_t* to, size_t to_stride,
                                   float* scales) {
  constexpr uint32_t kAtOnce = 4 * kShare;
  const auto first = GroupRows<kType>::Of(from);
  const size_t groups = dim / kScaleGroup;
  const uint32_t most = uint32_t(kKeptScales / (round_up(groups, kBlocks) * 4)) * kAtOnce;
  for (uint32_t i = 0, n; i < count; i += n) {
    n = (count - i) / kAtOnce * kAtOnce;
    if (n > most) n = most;
    if (n == 0 && count > kAtOnce) i = count - kAtOnce, n = kAtOnce;  // some once more
    GroupRows<kType> rows = first;
    rows.Move(i);
    if (n == 0) rows.stride = rows.head_stride = 0, n = 1;  // the row takes the place of all
    WidenSome<kType, kShare, kWhole>(rows, n, groups, to + i * to_stride, n == 1 ? 0 : to_stride, scales + i);
  }
}
// Room for kWidenedAtOnce more scales than there are rows is needed.
template <fovea_dtype kType>
FOVEA_INLINE void WidenGroups(const KeyRows& rows, uint32_t count, size_t dim, uint8_t* to, size_t to_stride,
                              float* scales) {
  if constexpr (kBlocks > 2) {
    if (dim == kBlocks / 2 * kScaleGroup)
      return WidenGroupRows<kType, 2, true>(rows, count, dim, to, to_stride, scales);
  }
  if constexpr (kBlocks > 1) {
    if (dim % (kBlocks * kScaleGroup) != 0)
      return WidenGroupRows<kType, 1, false>(rows, count, dim, to, to_stride, scales);
  }
  WidenGroupRows<kType, 1, true>(rows, count, dim, to, to_stride, scales);
}

#endif

#endif  // FOVEA_SRC_ATTENTION_I8_WIDEN_GROUPS_INL_
