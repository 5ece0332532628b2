// SPDX-License-Identifier: Apache-2.0
//
// Widens rows of i4 to rows of i8. Scales and codes are those that ScaleI8 gives. For each group there is a
// table of 128 bits: 16 codes of i8, one for each code of i4. Each element of the group is looked up there. Four rows
// are widened at a time.

#if FOVEA_FOR_SCALAR || FOVEA_FOR_HELIUM  // these lack words for 128-bit blocks
constexpr bool WidensI4(size_t) { return false; }
FOVEA_INLINE void WidenI4(const KeyRows&, uint32_t, size_t, uint8_t*, size_t, float*) {}
#else

// A row that ends in a part of a group is widened by a loop over its elements.
constexpr bool WidensI4(size_t dim) { return dim % kScaleGroup == 0; }

constexpr size_t kBlocks = kLanes / 4;  // groups in a vector

// Four rows; with a stride of 0, one row four times.
template <class T>
struct FourRows {
  T* first;
  ptrdiff_t stride;
  inline __attribute__((always_inline)) T* operator[](int i) const { return first + i * stride; }
};
using FourRowsI4 = FourRows<const uint8_t>;
using FourScalesI4 = FourRows<const uint16_t>;

FOVEA_INLINE VI LowNibbles(VI v) { return hn::And(v, hn::Set(kI, 0x0f0f0f0f)); }
FOVEA_INLINE VI HighNibbles(VI v) { return LowNibbles(hn::ShiftRight<4>(v)); }

// The same four numbers, or 16 bytes, in each 128-bit block.
struct EachBlock {
  int32_t lanes[kLanes];
  constexpr EachBlock(uint32_t a, uint32_t b, uint32_t c, uint32_t d) : lanes() {
    for (size_t i = 0; i < kLanes; ++i) lanes[i] = int32_t(i % 4 == 0 ? a : i % 4 == 1 ? b : i % 4 == 2 ? c : d);
  }
  inline __attribute__((always_inline)) VI Load() const { return hn::LoadU(kI, lanes); }
};

// The sum or maximum over the 128-bit blocks, lane by lane.
template <bool kMax, int kStep = 4>
FOVEA_INLINE VF OverBlocks(VF v) {
  if constexpr (kStep >= int(kLanes)) {
    return v;
  } else {
    const VF other = hn::SwapLanes<kStep>(v);
    return OverBlocks<kMax, 2 * kStep>(kMax ? hn::Max(v, other) : hn::Add(v, other));
  }
}

// The largest magnitude of each row, and NaN if a scale is not finite, else 0.
template <bool kWhole>
FOVEA_INLINE void LargestOfI4(const FourRowsI4& codes, const FourScalesI4& scales, size_t groups, float* largest,
                              float* nan) {
  static constexpr EachBlock kSizes = {0x05060708, 0x01020304, 0x03020100, 0x07060504};  // of codes 0 to 15
  const VI sizes = kSizes.Load();
  VF most = hn::Zero(kF), not_finite = hn::Zero(kF);
  for (size_t g = 0; g < groups; g += kBlocks) {
    const size_t n = kWhole || groups - g > kBlocks ? kBlocks : groups - g;
    VI found[4];
    FOVEA_UNROLL(4)
    for (int r = 0; r < 4; ++r) {
      const VI v = hn::LoadBlocks(kI, codes[r] + g * (kScaleGroup / 2), n);
      found[r] = hn::MaxU8(hn::LookUp(sizes, LowNibbles(v)), hn::LookUp(sizes, HighNibbles(v)));
    }
    const VF scale = hn::LoadF16Blocks(kF, scales.first + g, scales.stride, n);
    most = hn::Max(most, hn::Mul(hn::ConvertTo(kF, hn::LargestU8(found)), hn::Abs(scale)));
    not_finite = hn::Add(not_finite, hn::Sub(scale, scale));
  }
  hn::StoreN(OverBlocks<true>(most), kF, largest, 4);
  hn::StoreN(OverBlocks<false>(not_finite), kF, nan, 4);
}

// A table in each 128-bit block: that of the group whose scale fills the block.
FOVEA_INLINE VI TableOfI4(VF scale, VF inverse) {
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

// The codes of i8 of row r, whose elements are multiplied by `inverse`: 0 if a scale is not finite.
template <int r>
FOVEA_INLINE void CodesOfRow(const uint8_t* codes, VF scales, float inverse, size_t n, uint8_t* to) {
  const VI table = TableOfI4(hn::SpreadLane<r>(scales), hn::Set(kF, inverse));
  const VI v = hn::LoadBlocks(kI, codes, n);
  hn::StoreBlockPairs(hn::LookUp(table, LowNibbles(v)), hn::LookUp(table, HighNibbles(v)), to, n);
}
template <bool kWhole>
FOVEA_INLINE void CodesOfI4(const FourRowsI4& codes, const FourScalesI4& scales, size_t groups, const float* inverse,
                            const FourRows<uint8_t>& to) {
  for (size_t g = 0; g < groups; g += kBlocks) {
    const size_t n = kWhole || groups - g > kBlocks ? kBlocks : groups - g;
    const size_t from = g * (kScaleGroup / 2), at = g * kScaleGroup;
    const VF all = hn::LoadF16Blocks(kF, scales.first + g, scales.stride, n);
    const VF scale = hn::IfThenElse(hn::Eq(hn::Sub(all, all), hn::Zero(kF)), all, hn::Zero(kF));
    CodesOfRow<0>(codes[0] + from, scale, inverse[0], n, to[0] + at);
    CodesOfRow<1>(codes[1] + from, scale, inverse[1], n, to[1] + at);
    CodesOfRow<2>(codes[2] + from, scale, inverse[2], n, to[2] + at);
    CodesOfRow<3>(codes[3] + from, scale, inverse[3], n, to[3] + at);
  }
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

// Widens `count` <= kKeyTile rows, four at a time, or one if fewer are left. scales[i] becomes the scale of row i.
// Prefetches rows of the next tile.
template <bool kWhole>
FOVEA_TEMPLATE void WidenRowsI4(const KeyRows& rows, uint32_t count, size_t dim, uint8_t* to, size_t to_stride,
                                float* scales) {
  float nan[kKeyTile + 4], inverse[kKeyTile + 4];
  const auto* const first_codes = static_cast<const uint8_t*>(rows.data);
  const auto* const first_scales = static_cast<const uint16_t*>(*rows.scales);
  const ptrdiff_t stride = rows.stride, scale_stride = rows.scale_stride;
  const size_t groups = dim / kScaleGroup;
  FourRowsI4 codes = {first_codes, stride};
  FourScalesI4 group_scales = {first_scales, scale_stride};
  for (uint32_t i = 0, step; i < count; i += step) {
    step = count - i < 4 ? 1 : 4;
    if (step == 1) codes.stride = group_scales.stride = 0;
    LargestOfI4<kWhole>(codes, group_scales, groups, scales + i, nan + i);
    PrefetchNext(reinterpret_cast<uintptr_t>(codes.first) + kKeyTile * uintptr_t(stride), stride, step, dim / 2);
    codes.first += ptrdiff_t(step) * stride;
    group_scales.first += ptrdiff_t(step) * scale_stride;
  }
  for (uint32_t i = 0; i < count; i += kLanes) {
    const size_t n = count - i < kLanes ? count - i : kLanes;
    const VF not_finite = LoadUpTo(nan + i, n);
    const ScaleI8 fit = ScaleI8::From(hn::Max(LoadUpTo(scales + i, n), hn::Set(kF, kLeastMaxI8)), not_finite);
    hn::StoreN(fit.scale, kF, scales + i, n);
    hn::StoreN(ZeroIfNan(hn::Add(fit.inverse, not_finite)), kF, inverse + i, n);
  }
  codes = {first_codes, stride};
  group_scales = {first_scales, scale_stride};
  FourRows<uint8_t> at = {to, ptrdiff_t(to_stride)};
  for (uint32_t i = 0, step; i < count; i += step) {
    step = count - i < 4 ? 1 : 4;
    if (step == 1) codes.stride = group_scales.stride = at.stride = 0;
    const uint32_t one = step == 4;
    const float inverses[4] = {inverse[i], inverse[i + one], inverse[i + 2 * one], inverse[i + 3 * one]};
    CodesOfI4<kWhole>(codes, group_scales, groups, inverses, at);
    codes.first += ptrdiff_t(step) * stride;
    group_scales.first += ptrdiff_t(step) * scale_stride;
    at.first += size_t(step) * to_stride;
  }
}
FOVEA_INLINE void WidenI4(const KeyRows& rows, uint32_t count, size_t dim, uint8_t* to, size_t to_stride,
                          float* scales) {
  if (dim % (kBlocks * kScaleGroup) == 0) {
    WidenRowsI4<true>(rows, count, dim, to, to_stride, scales);
  } else {
    WidenRowsI4<false>(rows, count, dim, to, to_stride, scales);
  }
}

#endif
