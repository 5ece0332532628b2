// SPDX-License-Identifier: Apache-2.0
//
// Rows of super-blocks as ggml stores them: q2_k to q6_k, iq4_xs and tq2_0. base.h describes them. Elements in high
// nibbles are read without a shift: Whole gives codes that are 16 times as large there, and Scale is a 16th.
#ifndef FOVEA_SRC_FORMATS_SUPER_ROWS_INL_
#define FOVEA_SRC_FORMATS_SUPER_ROWS_INL_

#include "ground/formats/group_rows.inl"
#include "ground/simd/code_words.inl"

template <fovea_dtype kType>
constexpr bool kInSuper = ::fovea::format_of(kType).scaled == Scaled::kSuper;
template <fovea_dtype kType>
constexpr bool kHasMinima = kType == FOVEA_Q4_K || kType == FOVEA_Q5_K;
// Super-blocks of groups of 32 without minima: their codes become bytes of either sign.
template <fovea_dtype kType>
constexpr bool kHasSignedGroups = kType == FOVEA_IQ4_XS || kType == FOVEA_TQ2_0;
// Super-blocks whose codes are brought by 16.
template <fovea_dtype kType>
constexpr bool kInSixteens = kType == FOVEA_Q2_K || kType == FOVEA_Q3_K;
constexpr size_t kSuperScales =
    16;  // of a super-block: with minima eight scales, then eight minima; in q2_k 16 of both
template <fovea_dtype kType>
constexpr size_t kScalesOf = kType == FOVEA_Q2_K ? 2 * kSuperScales : kSuperScales;

constexpr bool IsHigh(fovea_dtype type, size_t d) {
  return type != FOVEA_Q6_K ? d % (2 * kScaleGroup) >= kScaleGroup : d % (4 * kScaleGroup) >= 2 * kScaleGroup;
}
// What multiplies the integers of a super-block: a 16th where elements are in high nibbles, -1 for minima.
template <fovea_dtype kType, bool kAsRead>
struct SuperFactors {
  float of[kSuperScales];
  constexpr SuperFactors() : of() {
    constexpr size_t kScales = kHasMinima<kType> ? kSuperScales / 2 : kSuperScales;
    for (size_t i = 0; i < kSuperScales; ++i) {
      of[i] = i >= kScales ? -1.0f : kAsRead && IsHigh(kType, i * (kSuperBlock / kScales)) ? 0x1p-4f : 1.0f;
    }
  }
};

// The six-bit scales and minima of a super-block: from 12 bytes to 16.
FOVEA_INLINE void PutSixBits(const uint8_t* from, uint8_t* to) {
  typedef uint64_t Pair __attribute__((vector_size(16)));  // stored at once, since it is loaded at once
  uint32_t w[3];
  __builtin_memcpy(w, from, sizeof w);
  const uint32_t high_scales = (w[2] & 0x0f0f0f0f) | (w[0] >> 2 & 0x30303030);
  const uint32_t high_minima = (w[2] >> 4 & 0x0f0f0f0f) | (w[1] >> 2 & 0x30303030);
  const Pair all = {uint64_t{high_scales} << 32 | (w[0] & 0x3f3f3f3f),
                    uint64_t{high_minima} << 32 | (w[1] & 0x3f3f3f3f)};
  __builtin_memcpy(to, &all, sizeof all);
}

// A scale or a minimum of the group of element d; `more` is 8 for a minimum.
FOVEA_SHARED VF SixBitsAt(const uint8_t* block, size_t d, size_t more) {
  uint8_t all[kSuperScales];
  PutSixBits(block + 4, all);
  const auto integer = float(all[d % kSuperBlock / kScaleGroup + more]);
  const float factor = more != 0 ? -1.0f : IsHigh(FOVEA_Q4_K, d) ? 0x1p-4f : 1.0f;
  return hn::Mul(hn::SetF16(kF, HalfAt(block + more / 4)), hn::Set(kF, integer * factor));
}

template <fovea_dtype kType>
struct SuperRow {
  using Unit = uint8_t;
  const Unit* data;

  FOVEA_INLINE FormatRow<kType> Of(const void* data, const void*) { return {{static_cast<const Unit*>(data)}}; }
  FOVEA_MEMBER const Unit* Block(size_t d) const {
    return data + d / kSuperBlock * ::fovea::format_of(kType).group_bytes;
  }
  FOVEA_MEMBER VF Part(size_t d, size_t n) const {
    return FirstLanes(static_cast<const FormatRow<kType>*>(this)->Whole(d), n);
  }
  template <size_t kCount>
  FOVEA_MEMBER void Group(size_t d, VF (&all)[kCount]) const {
    FOVEA_UNROLL_BY(kGroupUnroll)
    for (size_t i = 0; i < kCount; ++i) all[i] = static_cast<const FormatRow<kType>*>(this)->Whole(d + i * kLanes);
  }
};

// Where the nibbles of q4_k and q5_k begin.
template <fovea_dtype kType>
constexpr size_t kNibblesAt = kType == FOVEA_Q4_K ? 16 : 48;

template <fovea_dtype kType>
struct RowWithMinima : SuperRow<kType> {
  using typename SuperRow<kType>::Unit;
  using SuperRow<kType>::Block;
  FOVEA_MEMBER VF Whole(size_t d) const {
    const size_t group = d % kSuperBlock / kScaleGroup;
    const bool high = group % 2 != 0;
    const Unit *const block = Block(d), *const codes =
                                            block + kNibblesAt<kType> + group / 2 * kScaleGroup + d % kScaleGroup;
    const VF low = hn::ConvertTo(kF, hn::And(hn::LoadU8(kI, codes), hn::Set(kI, high ? 0xf0 : 0x0f)));
    if constexpr (kType == FOVEA_Q4_K) return low;
    const VI fifth = hn::And(hn::LoadU8(kI, block + 16 + d % kScaleGroup), hn::Set(kI, 1 << group));
    return hn::MulAdd(hn::ConvertTo(kF, fifth), hn::Set(kF, (high ? 256.0f : 16.0f) / float(1 << group)), low);
  }
  FOVEA_MEMBER VF Scale(size_t d) const { return SixBitsAt(Block(d), d, 0); }
  FOVEA_MEMBER VF Least(size_t d) const { return SixBitsAt(Block(d), d, 8); }
};
template <>
struct FormatRow<FOVEA_Q4_K> : RowWithMinima<FOVEA_Q4_K> {};
template <>
struct FormatRow<FOVEA_Q5_K> : RowWithMinima<FOVEA_Q5_K> {};

template <>
struct FormatRow<FOVEA_Q6_K> : SuperRow<FOVEA_Q6_K> {
  FOVEA_MEMBER VF Whole(size_t d) const {
    const size_t half = d % kSuperBlock / 128, quarter = d % 128 / kScaleGroup, at = d % kScaleGroup;
    const Unit* const low = Block(d) + half * 64 + quarter % 2 * kScaleGroup + at;
    const Unit* const high = Block(d) + 128 + half * 32 + at;
    const bool is_high = quarter >= 2;
    const VI nibbles = hn::And(hn::LoadU8(kI, low), hn::Set(kI, is_high ? 0xf0 : 0x0f));
    const VI pairs = hn::And(hn::LoadU8(kI, high), hn::Set(kI, 3 << 2 * int(quarter)));
    const VF less = hn::Add(hn::ConvertTo(kF, nibbles), hn::Set(kF, is_high ? -512.0f : -32.0f));
    return hn::MulAdd(hn::ConvertTo(kF, pairs), hn::Set(kF, quarter % 2 != 0 ? 4.0f : 16.0f), less);
  }
  // A scale is the product of an integer and what is here.
  static constexpr size_t kCommonAt = 208;
  FOVEA_INLINE float IntegerScale(const Unit* block, size_t d) {
    return float(static_cast<int8_t>(block[192 + d % kSuperBlock / (kScaleGroup / 2)]));
  }
  FOVEA_INLINE VF CommonScale(const Unit* block) { return hn::SetF16(kF, HalfAt(block + kCommonAt)); }
  FOVEA_MEMBER VF Scale(size_t d) const {
    const Unit* const block = Block(d);
    const float factor = IsHigh(FOVEA_Q6_K, d) ? 0x1p-4f : 1.0f;
    return hn::Mul(CommonScale(block), hn::Set(kF, IntegerScale(block, d) * factor));
  }
};

template <>
struct FormatRow<FOVEA_Q3_K> : SuperRow<FOVEA_Q3_K> {
  static constexpr size_t kCommonAt = 108;
  FOVEA_MEMBER VF Whole(size_t d) const {
    const size_t group = d % kSuperBlock / kScaleGroup, at = d % kScaleGroup, place = group % 4 * 2;
    const Unit* const block = Block(d);
    const VI two = hn::And(hn::LoadU8(kI, block + 32 + group / 4 * 32 + at), hn::Set(kI, 3 << place));
    const VI third = hn::And(hn::LoadU8(kI, block + at), hn::Set(kI, 1 << group));
    const VF less = hn::MulAdd(hn::ConvertTo(kF, two), hn::Set(kF, 1.0f / float(1 << place)), hn::Set(kF, -4.0f));
    return hn::MulAdd(hn::ConvertTo(kF, third), hn::Set(kF, 4.0f / float(1 << group)), less);
  }
  // Integer scales, plus 32.
  FOVEA_INLINE void PutScales(const Unit* block, Unit* to) {
    uint32_t w[3], all[4];
    __builtin_memcpy(w, block + 96, sizeof w);
    FOVEA_EACH(i, 4) all[i] = (w[i % 2] >> (i / 2 * 4) & 0x0f0f0f0f) | (w[2] >> (2 * i) & 0x03030303) << 4;
    __builtin_memcpy(to, all, sizeof all);
  }
  FOVEA_INLINE float IntegerScale(const Unit* block, size_t d) {
    const size_t k = d % kSuperBlock / 16;
    const uint32_t low = block[96 + k % 8] >> (k / 8 * 4) & 15, high = block[104 + k % 4] >> (k / 4 * 2) & 3;
    return float(int32_t(low | high << 4) - 32);
  }
  FOVEA_INLINE VF CommonScale(const Unit* block) { return hn::SetF16(kF, HalfAt(block + kCommonAt)); }
  FOVEA_MEMBER VF Scale(size_t d) const {
    const Unit* const block = Block(d);
    return hn::Mul(CommonScale(block), hn::Set(kF, IntegerScale(block, d)));
  }
};

template <>
struct FormatRow<FOVEA_Q2_K> : SuperRow<FOVEA_Q2_K> {
  FOVEA_MEMBER VF Whole(size_t d) const {
    const size_t in_block = d % kSuperBlock, place = in_block % 128 / kScaleGroup * 2;
    const VI bytes = hn::LoadU8(kI, Block(d) + 16 + in_block / 128 * kScaleGroup + d % kScaleGroup);
    return hn::Mul(hn::ConvertTo(kF, hn::And(bytes, hn::Set(kI, 3 << place))), hn::Set(kF, 1.0f / float(1 << place)));
  }
  FOVEA_INLINE void PutScales(const Unit* block, Unit* to) {
    for (size_t i = 0; i < 16; ++i) to[i] = block[i] & 15, to[16 + i] = block[i] >> 4;
  }
  FOVEA_MEMBER VF Scale(size_t d) const {
    const Unit* const block = Block(d);
    return hn::Mul(hn::SetF16(kF, HalfAt(block + 80)), hn::Set(kF, float(block[d % kSuperBlock / 16] & 15)));
  }
  FOVEA_MEMBER VF Least(size_t d) const {
    const Unit* const block = Block(d);
    return hn::Mul(hn::SetF16(kF, HalfAt(block + 82)), hn::Set(kF, -float(block[d % kSuperBlock / 16] >> 4)));
  }
};

template <>
struct FormatRow<FOVEA_IQ4_XS> : SuperRow<FOVEA_IQ4_XS> {
  // A group like those of iq4_nl, from two bytes before its codes on.
  FOVEA_INLINE const Unit* GroupOf(const Unit* block, size_t d) {
    return block + 6 + d % kSuperBlock / kScaleGroup * 16;
  }
  FOVEA_MEMBER VF Whole(size_t d) const { return BlockNumbers<FOVEA_IQ4_NL>(GroupOf(Block(d), d), d % kScaleGroup); }
  FOVEA_MEMBER void Group(size_t d, VF (&all)[kGroupVectors]) const {
    AllBlockNumbers<FOVEA_IQ4_NL>(GroupOf(Block(d), d), all);
  }
  // Integer scales, plus 32: four bits in each of eight bytes, and two more.
  FOVEA_INLINE void PutScales(const Unit* block, Unit* to) {
    uint32_t low;
    __builtin_memcpy(&low, block + 4, sizeof low);
    uint64_t fours = low, twos = HalfAt(block + 2);
    fours = (fours | fours << 16) & 0x0000ffff0000ffff;
    fours = (fours | fours << 8) & 0x00ff00ff00ff00ff;
    fours = (fours | fours << 4) & 0x0f0f0f0f0f0f0f0f;
    twos = (twos | twos << 24) & 0x000000ff000000ff;
    twos = (twos | twos << 12) & 0x000f000f000f000f;
    twos = (twos | twos << 6) & 0x0303030303030303;
    fours |= twos << 4;
    __builtin_memcpy(to, &fours, sizeof fours);
  }
  FOVEA_INLINE VF CommonScale(const Unit* block) { return hn::SetF16(kF, HalfAt(block)); }
  FOVEA_MEMBER VF Scale(size_t d) const {
    const Unit* const block = Block(d);
    const size_t k = d % kSuperBlock / kScaleGroup;
    const uint32_t low = block[4 + k / 2] >> (k % 2 * 4) & 15, high = uint32_t(HalfAt(block + 2)) >> (2 * k) & 3;
    return hn::Mul(CommonScale(block), hn::Set(kF, float(int32_t(low | high << 4) - 32)));
  }
};

template <>
struct FormatRow<FOVEA_TQ2_0> : SuperRow<FOVEA_TQ2_0> {
  FOVEA_MEMBER VF Whole(size_t d) const {
    const size_t in_block = d % kSuperBlock, place = in_block % 128 / kScaleGroup * 2;
    const VI bytes = hn::LoadU8(kI, Block(d) + in_block / 128 * kScaleGroup + d % kScaleGroup);
    const VF bits = hn::ConvertTo(kF, hn::And(bytes, hn::Set(kI, 3 << place)));
    return hn::Sub(hn::Mul(bits, hn::Set(kF, 1.0f / float(1 << place))), hn::Set(kF, 1.0f));
  }
  FOVEA_INLINE void PutScales(const Unit*, Unit* to) { __builtin_memset(to, 33, 8); }  // 1
  FOVEA_INLINE VF CommonScale(const Unit* block) { return hn::SetF16(kF, HalfAt(block + 64)); }
  FOVEA_MEMBER VF Scale(size_t d) const { return CommonScale(Block(d)); }
};

// Stores the scales of a super-block; the negative minima follow them. kAsRead: the scales of the codes that
// Whole gives. Else codes of high nibbles are not 16 times as large, and scales of q6_k are integers, without d.
template <fovea_dtype kType, bool kAsRead>
FOVEA_INLINE void PutSuperScales(const uint8_t* block, float (&to)[kScalesOf<kType>]) {
  if constexpr (kType == FOVEA_Q2_K) {
    uint8_t all[kScalesOf<kType>];
    FormatRow<kType>::PutScales(block, all);
    for (size_t i = 0; i < kScalesOf<kType>; i += kLanes) {
      const VF common = hn::SetF16(kF, HalfAt(block + (i < kSuperScales ? 80 : 82)));
      const VF number = hn::Mul(hn::ConvertTo(kF, hn::LoadU8(kI, all + i)), common);
      hn::StoreU(i < kSuperScales ? number : hn::Sub(hn::Zero(kF), number), kF, to + i);
    }
    return;
  }
  if constexpr (kHasSignedGroups<kType> || kType == FOVEA_Q3_K) {
    uint8_t more[kSuperScales] = {};
    FormatRow<kType>::PutScales(block, more);
    for (size_t i = 0; i < kSuperBlock / ::fovea::scale_step(kType); i += kLanes) {
      const VF scale = hn::Sub(hn::ConvertTo(kF, hn::LoadU8(kI, more + i)), hn::Set(kF, 32.0f));
      hn::StoreU(kAsRead || kHasSignedGroups<kType> ? hn::Mul(scale, FormatRow<kType>::CommonScale(block)) : scale, kF,
                 to + i);
    }
    return;
  }
  static constexpr SuperFactors<kType, kAsRead> kFactors;
  constexpr bool kMinima = kHasMinima<kType>;
  constexpr bool kTimesCommon = kMinima || kAsRead;
  uint8_t six[kSuperScales];
  if constexpr (kMinima) PutSixBits(block + 4, six);
  const VF scale = hn::SetF16(kF, HalfAt(block + (kMinima ? 0 : 208)));
  const VF least = kMinima ? hn::SetF16(kF, HalfAt(block + 2)) : scale;
  FOVEA_UNROLL_BY(kGroupUnroll)
  for (size_t i = 0; i < kSuperScales; i += kLanes) {
    VF integers;
    if constexpr (kMinima) {
      integers = hn::ConvertTo(kF, hn::LoadU8(kI, six + i));
    } else {
      integers = hn::ConvertTo(kF, hn::LoadI8(kI, reinterpret_cast<const int8_t*>(block) + 192 + i));
    }
    if (kAsRead || kMinima) integers = hn::Mul(integers, hn::LoadU(kF, kFactors.of + i));
    const VF common = i + kLanes <= 8 ? scale
                      : i >= 8        ? least
                                      : hn::IfThenElse(hn::Lt(hn::Iota(kF, 0.0f), hn::Set(kF, 8.0f)), scale, least);
    hn::StoreU(kTimesCommon ? hn::Mul(integers, common) : integers, kF, to + i);
  }
}

// The scales of a row, for a loop over its groups. Those of a super-block are made together, when the loop enters it.
template <fovea_dtype kType>
struct RowScales {
  float all[kInSuper<kType> ? kScalesOf<kType> : 1];

  FOVEA_MEMBER void Enter(const FormatRow<kType>& row, size_t d) {
    if constexpr (kInSuper<kType>) PutSuperScales<kType, true>(row.Block(d), all);
  }
  FOVEA_MEMBER VF Scale(const FormatRow<kType>& row, size_t d) const {
    if constexpr (!kInSuper<kType>) return row.Scale(d);
    return hn::Set(kF, all[d % kSuperBlock / kScaleStep<kType>]);
  }
  FOVEA_MEMBER VF Least(const FormatRow<kType>& row, size_t d) const {
    if constexpr (!kInSuper<kType>) return row.Least(d);
    return hn::Set(kF, all[kScalesOf<kType> / 2 + d % kSuperBlock / kScaleStep<kType>]);
  }
};

// ------------------------------------------------------------------------------------- codes as bytes

// Bit `group` of each byte, as its bit kTo.
template <int kTo, class Word>
FOVEA_INLINE Word TopBits(Word bits, size_t group) {
  if constexpr (sizeof(Word) == sizeof(uint32_t)) {
    return (bits >> uint32_t(group) & FourBytes(1)) << kTo;
  } else {
    typedef uint8_t Bytes __attribute__((vector_size(sizeof(Word))));
    return Word(Bytes((Bytes(bits) & uint8_t(1u << group)) != 0) & uint8_t{1 << kTo});
  }
}

// Stores 16 codes of a super-block as bytes, from element place + more on, in q6_k minus kLess. place is a multiple of
// 32 and more is a constant below 32; or place is a multiple of 16 and more is 0.
template <fovea_dtype kType, uint32_t kLess>
FOVEA_INLINE void PutSixteen(const uint8_t* block, size_t place, size_t more, int8_t* to) {
  FOVEA_UNROLL_FOR_SPEED(4)
  for (size_t i = 0; i < 16; i += sizeof(CodeWord)) {
    CodeWord codes;
    if constexpr (kType == FOVEA_Q3_K) {
      const uint8_t* const two = block + place / 128 * 32 + place % 32 + (32 + more + i);
      codes = CodesAt(two) >> uint32_t(place % 128 / 32 * 2) & FourBytes(3);
      codes |= TopBits<2>(CodesAt(block + place % 32 + (more + i)), place / 32);
      if constexpr (kLess != 0) codes = Lessened<kLess>(codes);
    } else if constexpr (kType == FOVEA_Q2_K) {
      const uint8_t* const two = block + place / 128 * 32 + place % 32 + (16 + more + i);
      codes = CodesAt(two) >> uint32_t(place % 128 / 32 * 2) & FourBytes(3);
    } else if constexpr (kHasMinima<kType>) {
      const uint8_t* const low = block + place / 64 * 32 + place % 32 + (kNibblesAt<kType> + more + i);
      codes = CodesAt(low) >> (IsHigh(kType, place) ? 4 : 0) & FourBytes(15);
      if constexpr (kType == FOVEA_Q5_K) codes |= TopBits<4>(CodesAt(block + place % 32 + (16 + more + i)), place / 32);
    } else {
      const uint32_t quarter = uint32_t(place % 128 / 32);
      const uint8_t* const low = block + place / 128 * 64 + place % 64 + (more + i);
      const uint8_t* const high = block + place / 128 * 32 + place % 32 + (128 + more + i);
      const CodeWord nibbles = CodesAt(low) >> (quarter / 2 * 4) & FourBytes(15);
      codes = nibbles | (PairsAt(CodesAt(high), quarter) & FourBytes(0x30));
      if constexpr (kLess != 0) codes = Lessened<kLess>(codes);
    }
    __builtin_memcpy(to + i, &codes, sizeof codes);
  }
}

// Stores the codes of one group of 32 as bytes, minus kLess, but of i4 to q4_1 and q6_k. `place` is that in a super-block.
// Those of either sign are minus 128 or 0.
template <fovea_dtype kType, uint8_t kLess = 0>
FOVEA_INLINE void PutGroup(const uint8_t* block, size_t place, int8_t* to) {
  if constexpr (kInBytes<kType>) return PutBlockCodes<kType, kLess>(block, to);
  if constexpr (kInSixteens<kType>) {
    PutSixteen<kType, kLess>(block, place, 0, to), PutSixteen<kType, kLess>(block, place, 16, to + 16);
    return;
  }
  if constexpr (kType == FOVEA_IQ4_XS)
    return PutBlockCodes<FOVEA_IQ4_NL, kLess>(FormatRow<kType>::GroupOf(block, place), to);
  FOVEA_UNROLL_FOR_SPEED(2)
  for (size_t i = 0; i < kScaleGroup; i += sizeof(RunWord)) {
    RunWord codes;
    if constexpr (kType == FOVEA_TQ2_0) {
      const auto bits =
          CodesAt<RunWord>(block + place / 128 * kScaleGroup + i) >> uint32_t(place % 128 / kScaleGroup * 2);
      codes = (bits & FourBytes(3)) + FourBytes(127);
      if constexpr (kLess == 0) codes ^= FourBytes(128);
    } else {
      const uint8_t* const low = block + place / 64 * 32 + kNibblesAt<kType>;
      codes = CodesAt<RunWord>(low + i) >> (IsHigh(kType, place) ? 4 : 0) & FourBytes(15);
      if constexpr (kType == FOVEA_Q5_K) codes |= TopBits<4>(CodesAt<RunWord>(block + 16 + i), place / 32);
    }
    __builtin_memcpy(to + i, &codes, sizeof codes);
  }
}

// Elements of a super-block whose codes are in the same bytes.
template <fovea_dtype kType>
constexpr size_t kSuperRun = kHasSignedGroups<kType> || kInSixteens<kType> ? 32
                             : kHasMinima<kType>                           ? 64
                                                                           : 128;

// Stores their codes as bytes, from element place on, which is a multiple of their number; in q6_k minus kLess.
template <fovea_dtype kType, uint32_t kLess>
FOVEA_INLINE void PutRun(const uint8_t* block, size_t place, int8_t* to) {
  if constexpr (kSuperRun<kType> == kScaleGroup) return PutGroup<kType, kLess>(block, place, to);
  constexpr size_t kRun = kSuperRun<kType>, kStep = sizeof(RunWord);
  const uint8_t* const low = block + place / 2 + (kHasMinima<kType> ? kNibblesAt<kType> : 0);
  const uint8_t* const high = block + (kType == FOVEA_Q6_K ? 128 + place / 4 : 16);
  const auto put = [](RunWord codes, int8_t* at) {
    if constexpr (kLess != 0 && kType == FOVEA_Q6_K) codes = Lessened<kLess>(codes);
    __builtin_memcpy(at, &codes, sizeof codes);
  };
  FOVEA_UNROLL_FOR_SPEED(2)
  for (size_t i = 0; i < kScaleGroup; i += kStep, to += kStep) {
    const auto first = CodesAt<RunWord>(low + i);
    if constexpr (kType == FOVEA_Q6_K) {
      const auto second = CodesAt<RunWord>(low + i + kScaleGroup), pairs = CodesAt<RunWord>(high + i);
      put(SixBits<0>(first, pairs), to);
      put(SixBits<1>(second, pairs), to + kScaleGroup);
      put(SixBits<2>(first, pairs), to + 2 * kScaleGroup);
      put(SixBits<3>(second, pairs), to + 3 * kScaleGroup);
    } else {
      RunWord a = first & FourBytes(15), b = first >> 4 & FourBytes(15);
      if constexpr (kType == FOVEA_Q5_K) {
        const auto bits = CodesAt<RunWord>(high + i);
        a |= TopBits<4>(bits, place / 32), b |= TopBits<4>(bits, place / 32 + 1);
      }
      put(a, to);
      put(b, to + kRun / 2);
    }
  }
}
#endif  // FOVEA_SRC_FORMATS_SUPER_ROWS_INL_
