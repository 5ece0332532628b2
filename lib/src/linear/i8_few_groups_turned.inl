// SPDX-License-Identifier: Apache-2.0
//
// Groups of rows, transposed: a lane is a row, and a vector has four codes of each. So no sum is taken over lanes, and
// all tokens share the cost of the transposition.

using GroupCodes = dot::FewX[kScaleGroup / 4];  // the first four codes of all rows, then the next four

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

template <fovea_dtype kType>
FOVEA_INLINE void LoadGroups(const GroupRows<kType>& rows, GroupCodes& codes) {
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

// Lane i: the sum of the products of a token's codes, from x on, with the group of row i.
FOVEA_INLINE VF GroupsTimes(const dot::FewCode* x, const GroupCodes& codes) {
  dot::Sum sums[2] = {dot::FewZero(), dot::FewZero()};
  FOVEA_UNROLL(8)
  for (size_t i = 0; i < kScaleGroup / 4; ++i) {
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
