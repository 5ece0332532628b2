// SPDX-License-Identifier: Apache-2.0
//
// Groups of rows in place: a vector has codes of one row, or of several, one after the other.
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

template <class Dot, bool kTurned = (Dot::kFewGroupRows > 1)>
struct GroupLoads {
  using Inputs = typename FewProducts<Dot>::Inputs;
  using FewCode = typename Dot::FewCode;
  static constexpr size_t kGroupParts = Dot::kFewGroupParts;
  using GroupCodes = Inputs[kLanes][kGroupParts];
  template <fovea_dtype kType>
  using KeptCodes = CodesOfRun<kType>;
  // How much the codes that are multiplied exceed the numbers that they stand for.
  template <fovea_dtype kType>
  static constexpr int kAdded = ::fovea::format_of(kType).code_bias;

  // Loads 32 codes that are bytes.
  FOVEA_INLINE void LoadBytes(const int8_t* bytes, Inputs (&codes)[kGroupParts]) {
    const uint8_t* const at[1] = {reinterpret_cast<const uint8_t*>(bytes)};
    Dot::LoadFewGroup(at, codes);
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
  FOVEA_INLINE void LoadCodes(const GroupRows<Dot, kType>& rows, KeptCodes<kType>& turned, GroupCodes& codes) {
    if constexpr (kType == FOVEA_Q6_K) {
      LoadSuper(rows, turned, codes);
    } else if constexpr (kInSuper<kType> || kInBytes<kType>) {
      FOVEA_EACH(k, kLanes) {
        int8_t bytes[kScaleGroup];
        PutGroup<kType>(rows.Row(k).Block(0), rows.place, bytes);
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

  // Four words of each row: lane i has those of row i.
  template <fovea_dtype kType>
  FOVEA_INLINE void LoadFourWords(const GroupRows<Dot, kType>& rows, size_t from, VI (&words)[4]) {
    int32_t of_rows[4][kLanes];
    FOVEA_EACH(k, kLanes) {
      FOVEA_EACH(i, 4) __builtin_memcpy(&of_rows[i][k], rows.Row(k).Block(0) + from + 4 * i, sizeof of_rows[i][k]);
    }
    FOVEA_EACH(i, 4) words[i] = hn::LoadU(kI, of_rows[i]);
  }

  // Lane i: the sum of the products of a token's codes, from x on, with the group of row i, or with a half of it. Where
  // a group is one vector, the products of its second half come with those of the first.
  template <size_t kHalf, size_t kHalves>
  FOVEA_INLINE VF SumsTimes(const FewCode* x, const GroupCodes& codes, VF& second) {
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

#endif  // FOVEA_SRC_LINEAR_I8_FEW_GROUPS_ROWS_INL_
