// SPDX-License-Identifier: Apache-2.0
//
// Groups of rows that are transposed: a lane is a row, and a vector has four codes of each. So no sum is taken over
// lanes, and all tokens share the cost of the transposition.
#ifndef FOVEA_SRC_LINEAR_I8_FEW_GROUPS_TURNED_INL_
#define FOVEA_SRC_LINEAR_I8_FEW_GROUPS_TURNED_INL_

#include "layers/linear/i8/few_groups_rows.inl"

// Where the low bits of a super-block's codes begin, how many each code has, and where the bytes of bits above them are.
template <fovea_dtype kType>
constexpr size_t kLowBitsAt = kHasMinima<kType>     ? kNibblesAt<kType>
                              : kType == FOVEA_Q3_K ? 32
                              : kType == FOVEA_Q2_K ? 16
                                                    : 0;
template <fovea_dtype kType>
constexpr uint32_t kLowBits = kHasMinima<kType> ? 4 : 2;
template <fovea_dtype kType>
constexpr bool kHasTopBits = kType == FOVEA_Q5_K || kType == FOVEA_Q3_K;

// Bytes of super-blocks whose codes belong to several groups: they are turned for the first of these, and kept.
template <class Dot, fovea_dtype kType>
struct TurnedBytes {
  typename Dot::FewX low[8], top[kHasTopBits<kType> ? 8 : 1];
};

template <class Dot>
struct GroupLoads<Dot, true> {
  using FewCode = typename Dot::FewCode;
  using FewX = typename Dot::FewX;
  using Sum = typename Dot::Sum;
  static constexpr size_t kRowsOfVector = Dot::kFewGroupRows, kRowVectors = kLanes / kRowsOfVector;
  template <fovea_dtype kType>
  using KeptCodes = TurnedBytes<Dot, kType>;
  using GroupCodes = FewX[kScaleGroup / 4];  // the first four codes of all rows, then the next four

  // Numbers from a table, whose codes are nibbles.
  template <fovea_dtype kType>
  static constexpr bool kFromTable = kType == FOVEA_IQ4_NL || kType == FOVEA_IQ4_XS || kType == FOVEA_MXFP4;
  template <fovea_dtype kType>
  static constexpr int kAdded =
      kType == FOVEA_Q5_0                                  ? 16
      : kType == FOVEA_MXFP4                               ? 12
      : kType == FOVEA_TQ2_0                               ? 1
      : ::fovea::is_one_of<::fovea::kSignedFormats>(kType) ? 128
                                                           : int{::fovea::format_of(kType).code_bias};

  // 16 bytes of each row, from byte `from` of its group or super-block on.
  template <fovea_dtype kType>
  FOVEA_INLINE void LoadBlocks(const GroupRows<Dot, kType>& rows, size_t from, FewX (&blocks)[4]) {
    FOVEA_EACH(k, 4) {
      const uint8_t* at[kRowsOfVector];
      FOVEA_EACH(i, kRowsOfVector) {
        at[i] = reinterpret_cast<const uint8_t*>(rows.Row(k + i * kRowVectors).data) + from;
      }
      blocks[k] = Dot::LoadBlocks(at);
    }
  }
  // Four bytes of each row.
  template <fovea_dtype kType>
  FOVEA_INLINE VI LoadWords(const GroupRows<Dot, kType>& rows, size_t from) {
    FewX blocks[4];
    LoadBlocks(rows, from, blocks);
    return Dot::ToInts(Dot::FirstOfBlocks(blocks));
  }
  // Four words of each row: lane i has those of row i.
  template <fovea_dtype kType>
  FOVEA_INLINE void LoadFourWords(const GroupRows<Dot, kType>& rows, size_t from, VI (&words)[4]) {
    FewX turned[4];
    TurnBytes(rows, from, turned);
    FOVEA_EACH(i, 4) words[i] = Dot::ToInts(turned[i]);
  }
  // kCount times 4 bytes of each row.
  template <fovea_dtype kType, size_t kCount>
  FOVEA_INLINE void TurnBytes(const GroupRows<Dot, kType>& rows, size_t from, FewX (&to)[kCount]) {
    FOVEA_UNROLL(4)
    for (size_t i = 0; i < kCount; i += 4) {
      FewX blocks[4];
      LoadBlocks(rows, from + 4 * i, blocks);
      Dot::TurnBlocks(blocks);
      FOVEA_EACH(k, 4) to[i + k] = blocks[k];
    }
  }

  template <fovea_dtype kType>
  FOVEA_INLINE void LoadSuper(const GroupRows<Dot, kType>& rows, KeptCodes<kType>& bytes, GroupCodes& codes) {
    constexpr uint32_t kBits = kLowBits<kType>;
    const size_t group = rows.place / kScaleGroup, in_run = group % (8 / kBits);
    if (in_run == 0) TurnBytes(rows, kLowBitsAt<kType> + rows.place / 8 * kBits, bytes.low);
    if constexpr (kHasTopBits<kType>) {
      if (group == 0) TurnBytes(rows, kType == FOVEA_Q5_K ? 16 : 0, bytes.top);
    }
    FOVEA_EACH(i, 8) {
      if constexpr (kBits == 4) {
        codes[i] = in_run != 0 ? Dot::HighNibbles(bytes.low[i]) : Dot::LowNibbles(bytes.low[i]);
      } else {
        codes[i] = Dot::template BitsOf<kBits, 0>(bytes.low[i], uint32_t(in_run) * kBits);
      }
      if constexpr (kHasTopBits<kType>) {
        codes[i] = Dot::Join(codes[i], Dot::template BitsOf<1, kBits>(bytes.top[i], uint32_t(group)));
      }
    }
  }
  template <fovea_dtype kType>
  FOVEA_INLINE void LoadCodes(const GroupRows<Dot, kType>& rows, KeptCodes<kType>& turned, GroupCodes& codes) {
    constexpr size_t kAt = kType == FOVEA_IQ4_XS ? 8 : ::fovea::format_of(kType).head_bytes;
    if constexpr (kInSuper<kType> && kType != FOVEA_IQ4_XS) {
      LoadSuper(rows, turned, codes);
    } else if constexpr (kType == FOVEA_Q8_0) {
      TurnBytes(rows, kAt, codes);
      FOVEA_EACH(i, 8) codes[i] = Dot::FlipSigns(codes[i]);
    } else {
      FewX nibbles[4];
      TurnBytes(rows, kAt + rows.place / 2, nibbles);
      FOVEA_EACH(k, 4) codes[k] = Dot::LowNibbles(nibbles[k]), codes[4 + k] = Dot::HighNibbles(nibbles[k]);
      if constexpr (kFromTable<kType>) {
        static constexpr Repeated kTable(kNumbersOfCodes[kType == FOVEA_MXFP4], kAdded<kType>);
        const FewX table = Dot::LoadFewX(kTable.of);
        FOVEA_EACH(i, 8) codes[i] = Dot::LookUp(table, codes[i]);
      } else if constexpr (kIsFive<kType>) {
        Dot::AddFifthBits(LoadWords(rows, kAt - sizeof(uint32_t)), codes);
      }
    }
  }

  // Scales of super-blocks are made as early as those of groups.
  static constexpr bool kSuperScalesLast = false;
  static constexpr bool kJumpsInHalves = false;

  // Groups that are multiplied together: bytes of q6_k have codes of four. Each 16 bytes of a row are turned for halves
  // of these groups, so that turned bytes stay in registers.
  template <fovea_dtype kType>
  static constexpr size_t kGroupsAtOnce = kType == FOVEA_Q6_K ? 4 : 1;

  template <int kQuarter, size_t kHalf, class Use>
  FOVEA_INLINE void UseQuarter(const FewX (&nibbles)[4], const FewX (&pairs)[4], GroupCodes& codes, const Use& use) {
    FOVEA_EACH(i, 4) {
      codes[4 * kHalf + i] = Dot::template FewSixBits<kQuarter>(nibbles[i], Dot::template PairsOf<kQuarter>(pairs[i]));
    }
    use(size_t{kQuarter});
  }
  // Loads a half of each of the groups, and calls use(group) while `codes` has its half.
  template <size_t kHalf, class Use>
  FOVEA_INLINE void ForGroupsAtOnce(const GroupRows<Dot, FOVEA_Q6_K>& rows, GroupCodes& codes, const Use& use) {
    const size_t run = rows.place / 128, half = 16 * kHalf;
    FewX nibbles[4], pairs[4];
    TurnBytes(rows, 128 + 32 * run + half, pairs);
    TurnBytes(rows, 64 * run + half, nibbles);
    UseQuarter<0, kHalf>(nibbles, pairs, codes, use), UseQuarter<2, kHalf>(nibbles, pairs, codes, use);
    TurnBytes(rows, 64 * run + 32 + half, nibbles);
    UseQuarter<1, kHalf>(nibbles, pairs, codes, use), UseQuarter<3, kHalf>(nibbles, pairs, codes, use);
  }

  // Lane i: the sum of the products of a token's codes, from x on, with the group of row i, or with a half of it.
  template <size_t kHalf, size_t kHalves>
  FOVEA_INLINE VF SumsTimes(const FewCode* x, const GroupCodes& codes, VF&) {
    Sum sums[2] = {Dot::FewZero(), Dot::FewZero()};
    FOVEA_UNROLL(8)
    for (size_t i = kHalf * (8 / kHalves); i < (kHalf + 1) * (8 / kHalves); ++i) {
      sums[i % 2] = Dot::FewSameDot(x + 4 * i, codes[i], sums[i % 2]);
    }
    return hn::ConvertTo(kF, hn::Add(Dot::ToInts(sums[0]), Dot::ToInts(sums[1])));
  }

  // Stores the scale of each row's group, as f16, and m if the format has it.
  template <fovea_dtype kType>
  FOVEA_INLINE void PutHeads(const GroupRows<Dot, kType>& rows, uint16_t* scales, uint16_t* leasts) {
    const VI words = LoadWords(rows, 0);
    hn::StoreU16(words, scales);
    if constexpr (kHasLeast<kType>) hn::StoreU16(hn::ShiftRight<16>(words), leasts);
  }
};

#endif  // FOVEA_SRC_LINEAR_I8_FEW_GROUPS_TURNED_INL_
