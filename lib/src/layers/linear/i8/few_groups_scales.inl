// SPDX-License-Identifier: Apache-2.0
//
// The scales of groups of kLanes rows, of which a lane is one.
#ifndef FOVEA_SRC_LINEAR_I8_FEW_GROUPS_SCALES_INL_
#define FOVEA_SRC_LINEAR_I8_FEW_GROUPS_SCALES_INL_

#include "layers/linear/i8/few_groups_turned.inl"

template <class Dot>
struct SuperScales {
  // Stores byte kByte of each lane as a number, times the factor if there is one. Of signed numbers kSigned is the width.
  template <int kByte, int kSigned>
  FOVEA_INLINE void PutByte(VI words, const VF* factor, float* to) {
    const VI byte = kSigned ? hn::ShiftRight<(32 - kSigned) % 32>(hn::ShiftLeft<(32 - kSigned - 8 * kByte) % 32>(words))
                            : hn::And(hn::ShiftRight<8 * kByte>(words), hn::Set(kI, 0xff));
    const VF number = hn::ConvertTo(kF, byte);
    hn::StoreU(factor ? hn::Mul(number, *factor) : number, kF, to);
  }
  template <int kSigned>
  FOVEA_INLINE void PutFourBytes(VI words, const VF* factor, float (*to)[kLanes]) {
    PutByte<0, kSigned>(words, factor, to[0]);
    PutByte<1, kSigned>(words, factor, to[1]);
    PutByte<2, kSigned>(words, factor, to[2]);
    PutByte<3, kSigned>(words, factor, to[3]);
  }
  // The same of integers of six bits, minus 32: the low four, and in each byte of `high` the others.
  FOVEA_INLINE void PutSixBitsLess(VI low, VI high, const VF* factor, float (*to)[kLanes]) {
    const VI six =
        hn::Add(hn::And(low, hn::Set(kI, 0x0f0f0f0f)), hn::ShiftLeft<4>(hn::And(high, hn::Set(kI, 0x03030303))));
    PutFourBytes<6>(hn::Xor(six, hn::Set(kI, 0x20202020)), factor, to);
  }
  // 16 bits of each lane, from bit 0 on, or 8, as the low halves of its bytes.
  template <int kBits>
  FOVEA_INLINE VI Spread(VI v) {
    v = hn::And(v, hn::Set(kI, (1 << 4 * kBits) - 1));
    v = hn::And(hn::Or(v, hn::ShiftLeft<16 - 2 * kBits>(v)), hn::Set(kI, ((1 << 2 * kBits) - 1) * 0x00010001));
    return hn::Or(v, hn::ShiftLeft<8 - kBits>(v));
  }
  // f16 numbers of the rows' super-blocks.
  template <fovea_dtype kType>
  FOVEA_INLINE VF HalvesAt(const GroupRows<Dot, kType>& rows, size_t from) {
    uint16_t halves[kLanes];
    FOVEA_EACH(k, kLanes) halves[k] = HalfAt(rows.Row(k).Block(0) + from);
    return hn::LoadF16(kF, halves);
  }
  // Stores the scales of a super-block of kLanes rows; the negative minima follow them.
  template <fovea_dtype kType>
  FOVEA_INLINE void PutScalesOfRows(const GroupRows<Dot, kType>& rows, float (&to)[kScalesOf<kType>][kLanes]) {
    const VI four = hn::Set(kI, 0x0f0f0f0f);
    if constexpr (kType == FOVEA_TQ2_0) {
      const VF scale = HalvesAt(rows, 64);
      FOVEA_EACH(i, kSuperBlock / kScaleGroup) hn::StoreU(scale, kF, to[i]);
      return;
    }
    VI words[4];
    GroupLoads<Dot>::LoadFourWords(rows, kType == FOVEA_Q6_K ? 192 : kType == FOVEA_Q3_K ? 92 : 0, words);
    if constexpr (kType == FOVEA_Q6_K) {
      FOVEA_EACH(i, 4) PutFourBytes<8>(words[i], nullptr, to + 4 * i);
    } else if constexpr (kType == FOVEA_Q3_K) {
      PutSixBitsLess(words[1], words[3], nullptr, to);
      PutSixBitsLess(words[2], hn::ShiftRight<2>(words[3]), nullptr, to + 4);
      PutSixBitsLess(hn::ShiftRight<4>(words[1]), hn::ShiftRight<4>(words[3]), nullptr, to + 8);
      PutSixBitsLess(hn::ShiftRight<4>(words[2]), hn::ShiftRight<6>(words[3]), nullptr, to + 12);
    } else if constexpr (kType == FOVEA_Q2_K) {
      const VF scale = HalvesAt(rows, 80), least = hn::Mul(HalvesAt(rows, 82), hn::Set(kF, -1.0f));
      FOVEA_EACH(i, 4) {
        PutFourBytes<0>(hn::And(words[i], four), &scale, to + 4 * i);
        PutFourBytes<0>(hn::And(hn::ShiftRight<4>(words[i]), four), &least, to + kSuperScales + 4 * i);
      }
    } else {
      uint16_t halves[2][kLanes];
      hn::StoreU16(words[0], halves[0]);
      hn::StoreU16(hn::ShiftRight<16>(words[0]), halves[1]);
      const VF scale = hn::LoadF16(kF, halves[0]);
      if constexpr (kType == FOVEA_IQ4_XS) {
        PutSixBitsLess(Spread<4>(words[1]), Spread<2>(hn::ShiftRight<16>(words[0])), &scale, to);
        PutSixBitsLess(Spread<4>(hn::ShiftRight<16>(words[1])), Spread<2>(hn::ShiftRight<24>(words[0])), &scale,
                       to + 4);
      } else {
        const VF least = hn::Mul(hn::LoadF16(kF, halves[1]), hn::Set(kF, -1.0f));
        const VI six = hn::Set(kI, 0x3f3f3f3f), two = hn::Set(kI, 0x30303030), lows = words[3];
        const VI high_lows = hn::And(hn::ShiftRight<4>(lows), four);
        PutFourBytes<0>(hn::And(words[1], six), &scale, to);
        PutFourBytes<0>(hn::Add(hn::And(lows, four), hn::And(hn::ShiftRight<2>(words[1]), two)), &scale, to + 4);
        PutFourBytes<0>(hn::And(words[2], six), &least, to + 8);
        PutFourBytes<0>(hn::Add(high_lows, hn::And(hn::ShiftRight<2>(words[2]), two)), &least, to + 12);
      }
    }
  }
};

// The scales of kLanes rows. Groups are taken in order, and Put stores the scales of the next group.
template <class Dot, fovea_dtype kType, bool = kInSuper<kType>>
struct GroupScales {
  uint16_t scales[2][kLanes], leasts[2][kLanes];  // as stored: loaded a group later than stored

  FOVEA_MEMBER void Put(const GroupRows<Dot, kType>& rows, size_t group, size_t) {
    GroupLoads<Dot>::PutHeads(rows, scales[group % 2], leasts[group % 2]);
  }
  FOVEA_MEMBER VF Scale(size_t group) const { return ScalesAt<kType>(scales[group % 2]); }
  FOVEA_MEMBER VF Least(size_t group) const { return hn::LoadF16(kF, leasts[group % 2]); }
};
// In I4 the scales of a row are adjacent: those of kLanes groups at a time are transposed.
template <class Dot>
struct GroupScales<Dot, FOVEA_I4, false> {
  float scales[kLanes][kLanes];  // [group][row]

  FOVEA_MEMBER void Put(const GroupRows<Dot, FOVEA_I4>& rows, size_t group, size_t groups) {
    if (group % kLanes != 0) return;
    // Where a row has kLanes scales, the last ones are read with some before them: a part of a vector is read slowly.
    const bool whole = groups >= kLanes;
    const size_t at = whole && groups - group < kLanes ? groups - kLanes : group;
    VF v[kLanes];
    FOVEA_EACH(k, kLanes) {
      const uint16_t* const row = rows.Row(k).scales + at;
      Ahead::From(row, sizeof *row * kFewRowsAhead * 2 * groups).Ask<1, 2>();
      v[k] = whole ? hn::LoadF16(kF, row) : hn::LoadF16N(kF, row, groups);
    }
    hn::Transpose(v);
    FOVEA_EACH(k, kLanes) hn::StoreU(v[k], kF, scales[(at + k) % kLanes]);
  }
  FOVEA_MEMBER VF Scale(size_t group) const { return hn::LoadU(kF, scales[group % kLanes]); }
};

// Those of a super-block are made together. Those of halves without least numbers are integers, and d is apart.
template <class Dot, fovea_dtype kType>
struct GroupScales<Dot, kType, true> {
  static constexpr bool kHalves = kScaleStep<kType> < kScaleGroup && !kHasLeast<kType>;
  float scales[kScalesOf<kType>][kLanes];
  float common[kHalves ? kLanes : 1];

  FOVEA_MEMBER void Put(const GroupRows<Dot, kType>& rows, size_t, size_t) {
    if (rows.place != 0) return;
    SuperScales<Dot>::PutScalesOfRows(rows, scales);
    if constexpr (kHalves) hn::StoreU(SuperScales<Dot>::HalvesAt(rows, FormatRow<kType>::kCommonAt), kF, common);
  }
  FOVEA_MEMBER VF Scale(size_t step) const { return hn::LoadU(kF, scales[step % (kSuperBlock / kScaleStep<kType>)]); }
  FOVEA_MEMBER VF Least(size_t step) const {
    return hn::LoadU(kF, scales[kScalesOf<kType> / 2 + step % (kScalesOf<kType> / 2)]);
  }
};

#endif  // FOVEA_SRC_LINEAR_I8_FEW_GROUPS_SCALES_INL_
