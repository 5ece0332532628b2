// SPDX-License-Identifier: Apache-2.0
//
// Groups of rows, in place or transposed. In place a vector has codes of one row, or of several, one after the other.
// Transposed a lane is a row, and a vector has four codes of each. So no sum is taken over lanes, and all tokens share
// the cost of the transposition.
#ifndef FOVEA_SRC_LINEAR_I8_FEW_GROUPS_ROWS_INL_
#define FOVEA_SRC_LINEAR_I8_FEW_GROUPS_ROWS_INL_

#include "layers/linear/i8/few.inl"
#include "layers/linear/i8/reader.inl"

// The next groups of kLanes rows. Vector k holds codes of row k and of each kLanes / kFewGroupRows-th row after it.
template <class Dot, fovea_dtype kType>
using GroupRows = GroupReader<kType, kLanes / Dot::kFewGroupRows>;

// Codes of q6_k become bytes for some groups at once, which are kept.
template <fovea_dtype kType>
struct CodesOfRun {};
template <>
struct CodesOfRun<FOVEA_Q6_K> {
  int8_t codes[kLanes][kSuperRun<FOVEA_Q6_K>];  // [row][element]
};

// Stores the scales of a super-block of kLanes rows; the negative minima follow them.
template <class Dot, fovea_dtype kType>
FOVEA_INLINE void PutScalesRowByRow(const GroupRows<Dot, kType>& rows, float (&to)[kScalesOf<kType>][kLanes]) {
  float of_rows[kLanes][kScalesOf<kType>];
  FOVEA_EACH(k, kLanes) PutSuperScales<kType, false>(rows.Row(k).Block(0), of_rows[k]);
  FOVEA_UNROLL(4)
  for (size_t i = 0; i < (kHasLeast<kType> ? kScalesOf<kType> : kSuperBlock / kScaleStep<kType>); i += kLanes) {
    VF v[kLanes];
    FOVEA_EACH(k, kLanes) v[k] = hn::LoadU(kF, of_rows[k] + i);
    hn::Transpose(v);
    FOVEA_EACH(k, kLanes) hn::StoreU(v[k], kF, to[i + k]);
  }
}

template <class Dot, bool kTurned = (Dot::kFewGroupRows > 1)>
struct GroupLoads {
  using Inputs = typename FewProducts<Dot>::Inputs;
  using FewCode = typename Dot::FewCode;
  static constexpr size_t kGroupParts = Dot::kFewGroupParts;
  using GroupCodes = Inputs[kLanes][kGroupParts];
  template <fovea_dtype kType>
  using KeptCodes = CodesOfRun<kType>;

  // Loads 32 codes that are bytes.
  FOVEA_INLINE void LoadBytes(const int8_t* bytes, Inputs (&codes)[kGroupParts]) {
    const uint8_t* const at[1] = {reinterpret_cast<const uint8_t*>(bytes)};
    Dot::LoadFewGroup(at, codes);
  }
  template <fovea_dtype kType>
  FOVEA_INLINE void LoadSuper(const GroupRows<Dot, kType>& rows, KeptCodes<kType>&, GroupCodes& codes) {
    FOVEA_EACH(k, kLanes) {
      int8_t bytes[kScaleGroup];
      PutGroup<kType>(rows.Row(k).Block(0), rows.place, bytes);
      LoadBytes(bytes, codes[k]);
    }
  }
  FOVEA_INLINE void LoadSuper(const GroupRows<Dot, FOVEA_Q6_K>& rows, KeptCodes<FOVEA_Q6_K>& bytes, GroupCodes& codes) {
    const size_t in_run = rows.place % kSuperRun<FOVEA_Q6_K>;
    FOVEA_UNROLL(16)
    for (size_t k = 0; in_run == 0 && k < kLanes; ++k) {
      PutRun<FOVEA_Q6_K, 0>(rows.Row(k).Block(0), rows.place, bytes.codes[k]);
    }
    const int8_t* at = bytes.codes[0] + in_run;
    FOVEA_OPAQUE(at);  // g++ 12 would compute an address for each row
    FOVEA_EACH(k, kLanes) LoadBytes(at + k * sizeof bytes.codes[0], codes[k]);
  }

  template <fovea_dtype kType>
  FOVEA_INLINE void LoadGroups(const GroupRows<Dot, kType>& rows, KeptCodes<kType>& turned, GroupCodes& codes) {
    if constexpr (kInSuper<kType>) {
      LoadSuper(rows, turned, codes);
    } else if constexpr (kInBytes<kType>) {
      FOVEA_EACH(k, kLanes) {
        int8_t bytes[kScaleGroup];
        PutBlockCodes<kType, 0>(rows.Row(k).Block(0), bytes);
        LoadBytes(bytes, codes[k]);
      }
    } else {
      FOVEA_EACH(k, kLanes) {
        const uint8_t* const at[1] = {rows.Row(k).Codes(0)};
        if constexpr (kType == FOVEA_Q8_0) {
          Dot::LoadFewGroup(at, codes[k]);
        } else {
          Dot::LoadFewNibbles(at, codes[k]);
        }
      }
    }
  }

  // Groups that are multiplied together.
  template <fovea_dtype>
  static constexpr size_t kGroupsAtOnce = 1;

  // The scales of a super-block are made after the products of the group before it: else codes would wait in memory.
  static constexpr bool kSuperScalesLast = true;
  // Whether halves without a zero point jump over its part, which is then faster than to subtract 0.
  static constexpr bool kJumpsInHalves = true;

  // Stores the scales of a super-block of kLanes rows; the negative minima follow them.
  template <fovea_dtype kType>
  FOVEA_INLINE void PutScalesOfRows(const GroupRows<Dot, kType>& rows, float (&to)[kScalesOf<kType>][kLanes]) {
    PutScalesRowByRow<Dot, kType>(rows, to);
  }

  // Lane i: the sum of the products of a token's codes, from x on, with the group of row i, or with a half of it. Where
  // a group is one vector, the products of its second half come with those of the first.
  template <size_t kHalf, size_t kHalves>
  FOVEA_INLINE VF Times(const FewCode* x, const GroupCodes& codes, VF& second) {
    constexpr bool kTogether = Dot::kSumsHalves && kHalves == 2;
    if constexpr (kTogether && kHalf == 1) return second;
    constexpr size_t kParts = kTogether ? 1 : kGroupParts / kHalves;
    Inputs v[kGroupParts];
    Dot::LoadFewGroupX(x, v);
    typename Dot::Sum sums[kLanes];
    FOVEA_EACH(k, kLanes) {
      sums[k] = Dot::FewStart(x, 0);
      FOVEA_UNROLL(8)
      for (size_t p = kHalf * kParts; p < (kHalf + 1) * kParts; ++p) {
        sums[k] = Dot::FewScoreDot(v[p], codes[k][p], sums[k]);
      }
    }
    if constexpr (kTogether) return Dot::SumsOfHalves(sums, second);
    return Dot::template SumsOfRows<1>(sums);
  }

  // Stores the scale of each row's group, as f16, and m if the format has it.
  template <fovea_dtype kType>
  FOVEA_INLINE void PutHeads(const GroupRows<Dot, kType>& rows, uint16_t* scales, uint16_t* leasts) {
    if constexpr (kHasLeast<kType>) {  // both at once
      int32_t both[kLanes];
      FOVEA_EACH(k, kLanes) __builtin_memcpy(&both[k], rows.Row(k).Block(0), sizeof both[k]);
      const VI words = hn::LoadU(kI, both);
      hn::StoreU16(words, scales);
      hn::StoreU16(hn::ShiftRight<16>(words), leasts);
    } else {
      FOVEA_EACH(k, kLanes) scales[k] = rows.Row(k).ScaleBits(0);
    }
  }
};

// ------------------------------------------------------------------------------------------------- transposed

// Bytes of q4_k whose codes belong to two groups: they are turned for the first of these, and kept.
template <class Dot, fovea_dtype kType>
struct TurnedBytes {};
template <class Dot>
struct TurnedBytes<Dot, FOVEA_Q4_K> {
  typename Dot::FewX nibbles[8];
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

  // 16 bytes of each row, from byte `from` of its codes on; with kHeads, of its whole group, which begins with the
  // scale.
  template <fovea_dtype kType, bool kHeads>
  FOVEA_INLINE void LoadBlocks(const GroupRows<Dot, kType>& rows, size_t from, FewX (&blocks)[4]) {
    FOVEA_EACH(k, 4) {
      const uint8_t* at[kRowsOfVector];
      FOVEA_EACH(i, kRowsOfVector) {
        const FormatRow<kType> row = rows.Row(k + i * kRowVectors);
        if constexpr (kHeads) {
          at[i] = row.Block(0) + from;
        } else {
          at[i] = row.Codes(0) + from;
        }
      }
      blocks[k] = Dot::LoadBlocks(at);
    }
  }

  // kCount times 4 bytes of each row, from byte `from` of its super-block on.
  template <fovea_dtype kType, size_t kCount>
  FOVEA_INLINE void TurnBytes(const GroupRows<Dot, kType>& rows, size_t from, FewX (&to)[kCount]) {
    FOVEA_UNROLL(4)
    for (size_t i = 0; i < kCount; i += 4) {
      FewX blocks[4];
      LoadBlocks<kType, true>(rows, from + 4 * i, blocks);
      Dot::TurnBlocks(blocks);
      FOVEA_EACH(k, 4) to[i + k] = blocks[k];
    }
  }
  FOVEA_INLINE void LoadSuper(const GroupRows<Dot, FOVEA_Q4_K>& rows, KeptCodes<FOVEA_Q4_K>& bytes, GroupCodes& codes) {
    const bool high = IsHigh(FOVEA_Q4_K, rows.place);
    if (!high) TurnBytes(rows, 16 + rows.place / 2, bytes.nibbles);
    FOVEA_EACH(i, 8) {
      codes[i] = high ? Dot::HighNibbles(bytes.nibbles[i]) : Dot::LowNibbles(bytes.nibbles[i]);
    }
  }
  template <fovea_dtype kType>
  FOVEA_INLINE void LoadGroups(const GroupRows<Dot, kType>& rows, KeptCodes<kType>& turned, GroupCodes& codes) {
    if constexpr (kType == FOVEA_Q4_K) {
      LoadSuper(rows, turned, codes);
    } else if constexpr (kInBytes<kType> || kInSuper<kType>) {
      int8_t bytes[kLanes][kScaleGroup];
      FOVEA_EACH(k, kLanes) {
        constexpr uint8_t kLess = ::fovea::is_one_of<::fovea::kSignedFormats>(kType) ? Dot::kFewBytesBias : 0;
        if constexpr (kInSuper<kType>) {
          PutGroup<kType, kLess>(rows.Row(k).Block(0), rows.place, bytes[k]);
        } else {
          PutBlockCodes<kType, kLess>(rows.Row(k).Block(0), bytes[k]);
        }
      }
      FOVEA_UNROLL(2)
      for (size_t from = 0; from < kScaleGroup; from += 16) {
        FewX blocks[4];
        FOVEA_EACH(k, 4) {
          const uint8_t* at[kRowsOfVector];
          FOVEA_EACH(i, kRowsOfVector) at[i] = reinterpret_cast<const uint8_t*>(bytes[k + i * kRowVectors]) + from;
          blocks[k] = Dot::LoadBlocks(at);
        }
        Dot::TurnBlocks(blocks);
        FOVEA_EACH(k, 4) codes[from / 4 + k] = blocks[k];
      }
    } else {
      constexpr size_t kBytes = kType == FOVEA_Q8_0 ? kScaleGroup : kScaleGroup / 2;
      FewX blocks[4];
      FOVEA_UNROLL(2)
      for (size_t from = 0; from < kBytes; from += 16) {
        LoadBlocks<kType, false>(rows, from, blocks);
        Dot::TurnBlocks(blocks);
        FOVEA_EACH(k, 4) {
          if constexpr (kType == FOVEA_Q8_0) {
            codes[from / 4 + k] = Dot::FlipSigns(blocks[k]);
          } else {
            codes[k] = Dot::LowNibbles(blocks[k]), codes[4 + k] = Dot::HighNibbles(blocks[k]);
          }
        }
      }
    }
  }

  // Scales of super-blocks are made as early as those of groups.
  static constexpr bool kSuperScalesLast = false;
  static constexpr bool kJumpsInHalves = false;

  // Stores byte kByte of each lane: times the factor, or with its sign and without a factor.
  template <int kByte, bool kSigned>
  FOVEA_INLINE void PutByte(VI words, VF factor, float* to) {
    const VI byte = kSigned ? hn::ShiftRight<24>(hn::ShiftLeft<24 - 8 * kByte>(words))
                            : hn::And(hn::ShiftRight<8 * kByte>(words), hn::Set(kI, 0xff));
    const VF number = hn::ConvertTo(kF, byte);
    hn::StoreU(kSigned ? number : hn::Mul(number, factor), kF, to);
  }
  template <bool kSigned>
  FOVEA_INLINE void PutFourBytes(VI words, VF factor, float (*to)[kLanes]) {
    PutByte<0, kSigned>(words, factor, to[0]);
    PutByte<1, kSigned>(words, factor, to[1]);
    PutByte<2, kSigned>(words, factor, to[2]);
    PutByte<3, kSigned>(words, factor, to[3]);
  }
  // Stores the scales of a super-block of kLanes rows; the negative minima follow them.
  template <fovea_dtype kType>
  FOVEA_INLINE void PutScalesOfRows(const GroupRows<Dot, kType>& rows, float (&to)[kScalesOf<kType>][kLanes]) {
    if constexpr (!kHasMinima<kType>) return PutScalesRowByRow<Dot, kType>(rows, to);
    FewX blocks[4];
    LoadBlocks<kType, true>(rows, 0, blocks);
    Dot::TurnBlocks(blocks);
    const VI heads = Dot::ToInts(blocks[0]), scales = Dot::ToInts(blocks[1]), minima = Dot::ToInts(blocks[2]);
    const VI lows = Dot::ToInts(blocks[3]), high_lows = hn::ShiftRight<4>(lows);
    uint16_t halves[2][kLanes];
    hn::StoreU16(heads, halves[0]);
    hn::StoreU16(hn::ShiftRight<16>(heads), halves[1]);
    const VF scale = hn::LoadF16(kF, halves[0]);
    const VF least = hn::Mul(hn::LoadF16(kF, halves[1]), hn::Set(kF, -1.0f));
    const VI six = hn::Set(kI, 0x3f3f3f3f), four = hn::Set(kI, 0x0f0f0f0f), two = hn::Set(kI, 0x30303030);
    PutFourBytes<false>(hn::And(scales, six), scale, to);
    PutFourBytes<false>(hn::Add(hn::And(lows, four), hn::And(hn::ShiftRight<2>(scales), two)), scale, to + 4);
    PutFourBytes<false>(hn::And(minima, six), least, to + 8);
    PutFourBytes<false>(hn::Add(hn::And(high_lows, four), hn::And(hn::ShiftRight<2>(minima), two)), least, to + 12);
  }
  FOVEA_INLINE void PutScalesOfRows(const GroupRows<Dot, FOVEA_Q6_K>& rows, float (&to)[kSuperScales][kLanes]) {
    FewX blocks[4];
    LoadBlocks<FOVEA_Q6_K, true>(rows, 192, blocks);
    Dot::TurnBlocks(blocks);
    FOVEA_EACH(i, 4) PutFourBytes<true>(Dot::ToInts(blocks[i]), hn::Zero(kF), to + 4 * i);
  }

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
  FOVEA_INLINE VF Times(const FewCode* x, const GroupCodes& codes, VF&) {
    Sum sums[2] = {Dot::FewZero(), Dot::FewZero()};
    FOVEA_UNROLL(8)
    for (size_t i = kHalf * (8 / kHalves); i < (kHalf + 1) * (8 / kHalves); ++i) {
      sums[i % 2] = Dot::FewSameDot(x + 4 * i, codes[i], sums[i % 2]);
    }
    return Dot::ToFloat(Dot::FewAdd(sums[0], sums[1]));
  }

  // Stores the scale of each row's group, as f16, and m if the format has it.
  template <fovea_dtype kType>
  FOVEA_INLINE void PutHeads(const GroupRows<Dot, kType>& rows, uint16_t* scales, uint16_t* leasts) {
    FewX blocks[4];
    LoadBlocks<kType, true>(rows, 0, blocks);
    const VI words = Dot::ToInts(Dot::FirstOfBlocks(blocks));
    hn::StoreU16(words, scales);
    if constexpr (kHasLeast<kType>) hn::StoreU16(hn::ShiftRight<16>(words), leasts);
  }
};

#endif  // FOVEA_SRC_LINEAR_I8_FEW_GROUPS_ROWS_INL_
