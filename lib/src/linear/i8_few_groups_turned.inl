// SPDX-License-Identifier: Apache-2.0
//
// Groups of rows, transposed: a lane is a row, and a vector has four codes of each. So no sum is taken over lanes, and
// all tokens share the cost of the transposition.

using GroupCodes = dot::FewX[kScaleGroup / 4];  // the first four codes of all rows, then the next four

// Bytes of super-blocks whose codes belong to several groups: they are turned for the first of these, and kept.
template <fovea_dtype kType>
struct TurnedBytes {};
template <>
struct TurnedBytes<FOVEA_Q4_K> {
  dot::FewX nibbles[8];  // of two groups
};
template <>
struct TurnedBytes<FOVEA_Q6_K> {
  dot::FewX nibbles[16], pairs[8];  // of four groups
};

// 16 bytes of each row, from byte `from` of its codes on; with kHeads, of its whole group, which begins with the scale.
template <fovea_dtype kType, bool kHeads>
FOVEA_INLINE void LoadBlocks(const GroupRows<kType>& rows, size_t from, dot::FewX (&blocks)[4]) {
  FOVEA_UNROLL(4)
  for (size_t k = 0; k < 4; ++k) {
    const uint8_t* at[kRowsOfVector];
    FOVEA_UNROLL(4)
    for (size_t i = 0; i < kRowsOfVector; ++i) {
      const FormatRow<kType> row = rows.Row(k + i * kRowVectors);
      if constexpr (kHeads) {
        at[i] = row.Block(0) + from;
      } else {
        at[i] = row.Codes(0) + from;
      }
    }
    blocks[k] = dot::LoadBlocks(at);
  }
}

// kCount times 4 bytes of each row, from byte `from` of its super-block on.
template <fovea_dtype kType, size_t kCount>
FOVEA_INLINE void TurnBytes(const GroupRows<kType>& rows, size_t from, dot::FewX (&to)[kCount]) {
  FOVEA_UNROLL(4)
  for (size_t i = 0; i < kCount; i += 4) {
    dot::FewX blocks[4];
    LoadBlocks<kType, true>(rows, from + 4 * i, blocks);
    dot::TurnBlocks(blocks);
    FOVEA_UNROLL(4)
    for (size_t k = 0; k < 4; ++k) to[i + k] = blocks[k];
  }
}
FOVEA_INLINE void LoadSuper(const GroupRows<FOVEA_Q4_K>& rows, TurnedBytes<FOVEA_Q4_K>& bytes, GroupCodes& codes) {
  const bool high = IsHigh(FOVEA_Q4_K, rows.place);
  if (!high) TurnBytes(rows, 16 + rows.place / 2, bytes.nibbles);
  FOVEA_UNROLL(8)
  for (size_t i = 0; i < 8; ++i) {
    codes[i] = high ? dot::HighNibbles(bytes.nibbles[i]) : dot::LowNibbles(bytes.nibbles[i]);
  }
}
FOVEA_INLINE void LoadSuper(const GroupRows<FOVEA_Q6_K>& rows, TurnedBytes<FOVEA_Q6_K>& bytes, GroupCodes& codes) {
  const size_t half = rows.place / 128, quarter = rows.place % 128 / kScaleGroup;
  if (quarter == 0) {
    TurnBytes(rows, 64 * half, bytes.nibbles);
    TurnBytes(rows, 128 + 32 * half, bytes.pairs);
  }
  const dot::FewX* const nibbles = bytes.nibbles + quarter % 2 * 8;
  FOVEA_UNROLL(8)
  for (size_t i = 0; i < 8; ++i) {
    const dot::FewX low = quarter < 2 ? dot::LowNibbles(nibbles[i]) : dot::HighNibbles(nibbles[i]);
    codes[i] = dot::AddPairs(low, bytes.pairs[i], int(2 * quarter));
  }
}

template <fovea_dtype kType>
FOVEA_INLINE void LoadGroups(const GroupRows<kType>& rows, TurnedBytes<kType>& turned, GroupCodes& codes) {
  if constexpr (kInSuper<kType>) {
    LoadSuper(rows, turned, codes);
  } else {
    constexpr size_t kBytes = kType == FOVEA_Q8_0 ? kScaleGroup : kScaleGroup / 2;
    dot::FewX blocks[4];
    FOVEA_UNROLL(2)
    for (size_t from = 0; from < kBytes; from += 16) {
      LoadBlocks<kType, false>(rows, from, blocks);
      dot::TurnBlocks(blocks);
      FOVEA_UNROLL(4)
      for (size_t k = 0; k < 4; ++k) {
        if constexpr (kType == FOVEA_Q8_0) {
          codes[from / 4 + k] = dot::FlipSigns(blocks[k]);
        } else {
          codes[k] = dot::LowNibbles(blocks[k]), codes[4 + k] = dot::HighNibbles(blocks[k]);
        }
      }
    }
  }
}

// Lane i: the sum of the products of a token's codes, from x on, with the group of row i, or with a half of it.
template <size_t kHalf, size_t kHalves>
FOVEA_INLINE VF GroupsTimes(const dot::FewCode* x, const GroupCodes& codes) {
  dot::Sum sums[2] = {dot::FewZero(), dot::FewZero()};
  FOVEA_UNROLL(8)
  for (size_t i = kHalf * (8 / kHalves); i < (kHalf + 1) * (8 / kHalves); ++i) {
    sums[i % 2] = dot::FewScoreDot(dot::SetFewX(x + 4 * i), codes[i], sums[i % 2]);
  }
  return dot::ToFloat(dot::FewAdd(sums[0], sums[1]));
}

// Stores the scale of each row's group, as f16, and m if the format has it.
template <fovea_dtype kType>
FOVEA_INLINE void PutHeads(const GroupRows<kType>& rows, uint16_t* scales, uint16_t* leasts) {
  dot::FewX blocks[4];
  LoadBlocks<kType, true>(rows, 0, blocks);
  const VI words = dot::ToInts(dot::FirstOfBlocks(blocks));
  hn::StoreU16(words, scales);
  if constexpr (kType == FOVEA_Q4_1) hn::StoreU16(hn::ShiftRight<16>(words), leasts);
}
