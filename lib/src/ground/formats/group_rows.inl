// SPDX-License-Identifier: Apache-2.0
//
// How rows of each format are read into registers and written: FormatRow<dtype>, for the formats of ground/formats/formats.h.
//   Unit              what strides count
//   Of(data, scales)  a row as it is stored
//   Whole(d)          elements d .. d + kLanes - 1, for d a multiple of kLanes
//   Part(d, n)        the first n <= kLanes of them, up to the end of the row; 0 in the other lanes
// Both leave out the scale, so that elements of i8 and of groups are small integers.
// Formats with scales have
//   Scale(d)                      the scale of element d, in all lanes
//   ScaleBits(d), Group(d, all)   of groups: the scale as f16, and all codes, for d a multiple of kScaleGroup
//   Narrow(x, dim, data, scales)  writes a row of dim floats; formats of weights alone but q4_1 lack it
// and formats without scales
//   StoreWhole(v, data, d), StorePart(v, data, d, n)  write these elements of a row
// Rows of super-blocks are in ground/formats/super_rows.inl.
//
// Loops over groups take kScaleGroup elements at a time and unroll the vectors of a group, so they have no branch: the
// compiler knows which half of the group each vector is in, and reads its scale once.
#ifndef FOVEA_SRC_FORMATS_GROUP_ROWS_INL_
#define FOVEA_SRC_FORMATS_GROUP_ROWS_INL_

#include "ground/formats/block_codes.inl"

template <fovea_dtype kType>
struct FormatRow;

// ----------------------------------------------------------------------------------------- formats without scales

template <>
struct FormatRow<FOVEA_F32> {
  using Unit = float;
  const Unit* data;

  FOVEA_INLINE FormatRow Of(const void* data, const void*) { return {static_cast<const Unit*>(data)}; }
  FOVEA_MEMBER VF Whole(size_t d) const { return hn::LoadU(kF, data + d); }
  FOVEA_MEMBER VF Part(size_t d, size_t n) const { return hn::LoadN(kF, data + d, n); }
  FOVEA_INLINE void StoreWhole(VF v, void* data, size_t d) { hn::StoreU(v, kF, static_cast<Unit*>(data) + d); }
  FOVEA_INLINE void StorePart(VF v, void* data, size_t d, size_t n) {
    hn::StoreN(v, kF, static_cast<Unit*>(data) + d, n);
  }
};

template <>
struct FormatRow<FOVEA_F16> {
  using Unit = uint16_t;
  const Unit* data;

  FOVEA_INLINE FormatRow Of(const void* data, const void*) { return {static_cast<const Unit*>(data)}; }
  FOVEA_MEMBER VF Whole(size_t d) const { return hn::LoadF16(kF, data + d); }
  FOVEA_MEMBER VF Part(size_t d, size_t n) const { return hn::LoadF16N(kF, data + d, n); }
  FOVEA_INLINE void StoreWhole(VF v, void* data, size_t d) { hn::StoreF16(v, static_cast<Unit*>(data) + d); }
  FOVEA_INLINE void StorePart(VF v, void* data, size_t d, size_t n) {
    hn::StoreF16N(v, static_cast<Unit*>(data) + d, n);
  }
};

// The upper half of a float, rounded, in the low 16 bits of each lane. A carry runs into the exponent, which may make
// the number infinite.
FOVEA_INLINE VI ToBf16(VF v) {
  const VI bits = hn::BitCast(kI, v);
  const VI odd = hn::And(hn::ShiftRight<16>(bits), hn::Set(kI, 1));
  const VI rounded = hn::Add(hn::Add(bits, odd), hn::Set(kI, 0x7fff));
  const VI quiet = hn::Or(bits, hn::Set(kI, 0x400000));
  const VF either = hn::IfThenElse(hn::Eq(v, v), hn::BitCast(kF, rounded), hn::BitCast(kF, quiet));
  return hn::ShiftRight<16>(hn::BitCast(kI, either));
}

template <>
struct FormatRow<FOVEA_BF16> {
  using Unit = uint16_t;
  const Unit* data;

  FOVEA_INLINE FormatRow Of(const void* data, const void*) { return {static_cast<const Unit*>(data)}; }
  FOVEA_MEMBER VF Whole(size_t d) const { return hn::BitCast(kF, hn::ShiftLeft<16>(hn::LoadU16(kI, data + d))); }
  FOVEA_MEMBER VF Part(size_t d, size_t n) const {
    return hn::BitCast(kF, hn::ShiftLeft<16>(hn::LoadU16N(kI, data + d, n)));
  }
  FOVEA_INLINE void StoreWhole(VF v, void* data, size_t d) { hn::StoreU16(ToBf16(v), static_cast<Unit*>(data) + d); }
  FOVEA_INLINE void StorePart(VF v, void* data, size_t d, size_t n) {
    hn::StoreU16N(ToBf16(v), static_cast<Unit*>(data) + d, n);
  }
};

// -------------------------------------------------------------------------------------------- formats with scales

template <>
struct FormatRow<FOVEA_I8> {
  using Unit = int8_t;
  const Unit* data;
  const float* scale;

  FOVEA_INLINE FormatRow Of(const void* data, const void* scales) {
    return {static_cast<const Unit*>(data), static_cast<const float*>(scales)};
  }
  FOVEA_MEMBER VF Whole(size_t d) const { return hn::ConvertTo(kF, hn::LoadI8(kI, data + d)); }
  FOVEA_MEMBER VF Part(size_t d, size_t n) const { return hn::ConvertTo(kF, hn::LoadI8N(kI, data + d, n)); }
  FOVEA_MEMBER VF Scale(size_t) const { return FiniteOrNaN(hn::Set(kF, *scale)); }
  FOVEA_INLINE void Narrow(const float* x, size_t dim, void* data, void* scales) {
    NarrowRowI8(x, dim, static_cast<Unit*>(data), static_cast<float*>(scales));
  }
};

// A row of codes that are used unchanged, and what takes the place of their ScaleI8.
struct CodeRow {
  FormatRow<FOVEA_I8> row;
  FOVEA_INLINE CodeRow Of(const void* data) { return {FormatRow<FOVEA_I8>::Of(data, nullptr)}; }
  FOVEA_MEMBER VF operator()(size_t d, size_t n) const { return IsVector(n) ? row.Whole(d) : row.Part(d, n); }
};
struct CodesAsTheyAre {
  FOVEA_MEMBER VF Biased(VF codes) const { return hn::Add(codes, hn::Set(kF, kRoundingBias)); }
};

// The first n lanes, and 0 in the others.
FOVEA_INLINE VF FirstLanes(VF v, size_t n) {
  return hn::IfThenElse(hn::Lt(hn::Iota(kF, 0.0f), hn::Set(kF, float(n))), v, hn::Zero(kF));
}

// The nibbles u of bytes, minus kLess. ORed into the fraction of a float, a low nibble makes 2^23 + u; a high one makes
// 2^19 + u without a shift.
template <int kLess>
FOVEA_INLINE VF LowNibbles(VI bytes) {
  if constexpr (kLess == 0) return hn::ConvertTo(kF, hn::And(bytes, hn::Set(kI, 0x0f)));
  const VI u = hn::Or(hn::And(bytes, hn::Set(kI, 0x0f)), hn::BitCast(kI, hn::Set(kF, 0x1p23f)));
  return hn::Sub(hn::BitCast(kF, u), hn::Set(kF, 0x1p23f + kLess));
}
template <int kLess>
FOVEA_INLINE VF HighNibbles(VI bytes) {
  if constexpr (kLess == 0) return hn::ConvertTo(kF, hn::ShiftRight<4>(bytes));
  const VI u = hn::Or(hn::And(bytes, hn::Set(kI, 0xf0)), hn::BitCast(kI, hn::Set(kF, 0x1p19f)));
  return hn::Sub(hn::BitCast(kF, u), hn::Set(kF, 0x1p19f + kLess));
}
// The vector of a group's elements from `place` on; all vectors of a group.
template <int kLess>
FOVEA_INLINE VF Nibbles(const uint8_t* group, size_t place) {
  const VI bytes = hn::LoadU8(kI, group + place % (kScaleGroup / 2));
  return place < kScaleGroup / 2 ? LowNibbles<kLess>(bytes) : HighNibbles<kLess>(bytes);
}
template <int kLess>
FOVEA_INLINE void AllNibbles(const uint8_t* group, VF (&all)[kGroupVectors]) {
  FOVEA_UNROLL_BY(kGroupUnroll)
  for (size_t i = 0; i < kGroupVectors / 2; ++i) {
    const VI bytes = hn::LoadU8(kI, group + i * kLanes);
    all[i] = LowNibbles<kLess>(bytes);
    all[i + kGroupVectors / 2] = HighNibbles<kLess>(bytes);
  }
}

template <>
struct FormatRow<FOVEA_I4> {
  using Unit = uint8_t;
  const Unit* data;
  const uint16_t* scales;

  FOVEA_INLINE FormatRow Of(const void* data, const void* scales) {
    return {static_cast<const Unit*>(data), static_cast<const uint16_t*>(scales)};
  }
  FOVEA_MEMBER const Unit* Codes(size_t d) const { return data + d / kScaleGroup * (kScaleGroup / 2); }
  FOVEA_MEMBER VF Whole(size_t d) const { return Nibbles<8>(Codes(d), d % kScaleGroup); }
  FOVEA_MEMBER void Group(size_t d, VF (&all)[kGroupVectors]) const { AllNibbles<8>(Codes(d), all); }
  FOVEA_MEMBER VF Part(size_t d, size_t n) const {  // a group is always stored whole
    return FirstLanes(Whole(d), n);
  }
  FOVEA_MEMBER uint16_t ScaleBits(size_t d) const { return scales[d / kScaleGroup]; }
  FOVEA_MEMBER VF Scale(size_t d) const { return hn::SetF16(kF, ScaleBits(d)); }
  FOVEA_INLINE void Narrow(const float* x, size_t dim, void* data, void* scales) {
    NarrowRowI4<FOVEA_I4>(x, dim, {static_cast<Unit*>(data), static_cast<Unit*>(scales), kScaleGroup / 2, 2});
  }
};

// Groups as ggml stores them: q8_0, q4_0, q4_1, and those of block_codes.inl.
template <fovea_dtype kType>
struct FormatRow {
  static constexpr size_t kBlock = ::fovea::format_of(kType).group_bytes;
  static constexpr size_t kHeadBytes = ::fovea::format_of(kType).head_bytes;
  static constexpr int kLess = ::fovea::format_of(kType).code_bias;
  using Unit = uint8_t;
  const Unit* data;

  FOVEA_INLINE FormatRow Of(const void* data, const void*) { return {static_cast<const Unit*>(data)}; }
  FOVEA_MEMBER const Unit* Block(size_t d) const { return data + d / kScaleGroup * kBlock; }
  FOVEA_MEMBER const Unit* Codes(size_t d) const { return Block(d) + kHeadBytes; }
  FOVEA_MEMBER VF Whole(size_t d) const {
    if constexpr (kType == FOVEA_Q8_0) {
      const int8_t* const codes = reinterpret_cast<const int8_t*>(Codes(d));
      return hn::ConvertTo(kF, hn::LoadI8(kI, codes + d % kScaleGroup));
    } else if constexpr (kInBytes<kType>) {
      return BlockNumbers<kType>(Block(d), d % kScaleGroup);
    } else {
      return Nibbles<kLess>(Codes(d), d % kScaleGroup);
    }
  }
  FOVEA_MEMBER void Group(size_t d, VF (&all)[kGroupVectors]) const {
    if constexpr (kType == FOVEA_Q8_0) {
      FOVEA_UNROLL_BY(kGroupUnroll)
      for (size_t i = 0; i < kGroupVectors; ++i) all[i] = Whole(d + i * kLanes);
    } else if constexpr (kInBytes<kType>) {
      AllBlockNumbers<kType>(Block(d), all);
    } else {
      AllNibbles<kLess>(Codes(d), all);
    }
  }
  FOVEA_MEMBER VF Part(size_t d, size_t n) const { return FirstLanes(Whole(d), n); }
  FOVEA_MEMBER uint16_t ScaleBits(size_t d) const { return HalfAt(Block(d)); }
  FOVEA_MEMBER uint16_t LeastBits(size_t d) const { return HalfAt(Block(d) + 2); }  // q4_1, q5_1: m
  FOVEA_MEMBER VF Scale(size_t d) const {
    return kType == FOVEA_MXFP4 ? PowersOf(hn::Set(kI, ScaleBits(d))) : hn::SetF16(kF, ScaleBits(d));
  }
  FOVEA_MEMBER VF Least(size_t d) const { return hn::SetF16(kF, LeastBits(d)); }
  FOVEA_INLINE void Narrow(const float* x, size_t dim, void* data, void*) {
    Unit* const blocks = static_cast<Unit*>(data);
    constexpr bool kLeast = ::fovea::is_one_of<::fovea::kLeastFormats>(kType);
    if constexpr (kType != FOVEA_Q8_0 && !kLeast) {
      static_assert(kType == FOVEA_Q4_0 || kType == FOVEA_Q5_0 || kType == FOVEA_IQ4_NL, "no format that is written");
      return NarrowRowI4<kType>(x, dim, {blocks + kHeadBytes, blocks, kBlock, kBlock});
    }
    for (size_t d = 0; d < dim; d += kScaleGroup) {
      Unit* const block = blocks + d / kScaleGroup * kBlock;
      const size_t count = dim - d < kScaleGroup ? dim - d : kScaleGroup;
      if constexpr (kType == FOVEA_Q8_0) NarrowGroupQ8(x + d, count, block);
      if constexpr (kLeast) NarrowGroupWithLeast(kType == FOVEA_Q5_1, x + d, count, block);
    }
  }
};

// Elements that share a scale, where formats have scales of groups.
template <fovea_dtype kType>
constexpr size_t kScaleStep = ::fovea::scale_step(kType);

#endif  // FOVEA_SRC_FORMATS_GROUP_ROWS_INL_
