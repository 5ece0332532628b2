// SPDX-License-Identifier: Apache-2.0
//
// Groups of rows in place: a vector has codes of one row, or of several, one after the other.

constexpr size_t kGroupParts = dot::kFewGroupParts;
using GroupCodes = FewInputs[kRowVectors][kGroupParts];

template <fovea_dtype kType>
FOVEA_INLINE void LoadGroups(const GroupRows<kType>& rows, GroupCodes& codes) {
  FOVEA_UNROLL(16)
  for (size_t k = 0; k < kRowVectors; ++k) {
    const uint8_t* at[kRowsOfVector];
    for (size_t i = 0; i < kRowsOfVector; ++i) at[i] = rows.Row(k + i * kRowVectors).Codes(0);
    if constexpr (kType == FOVEA_Q8_0) {
      dot::LoadFewGroup(at, codes[k]);
    } else {
      dot::LoadFewNibbles(at, codes[k]);
    }
  }
}

// Lane i: the sum of the products of a token's codes, from x on, with the group of row i.
FOVEA_INLINE VF GroupsTimes(const dot::FewCode* x, const GroupCodes& codes) {
  FewInputs v[kGroupParts];
  dot::LoadFewGroupX(x, v);
  dot::Sum sums[kRowVectors];
  FOVEA_UNROLL(16)
  for (size_t k = 0; k < kRowVectors; ++k) {
    sums[k] = dot::FewStart(x, 0);
    FOVEA_UNROLL(8)
    for (size_t p = 0; p < kGroupParts; ++p) sums[k] = dot::FewScoreDot(v[p], codes[k][p], sums[k]);
  }
  return dot::SumsOfRows<int(kRowsOfVector)>(sums);
}

// Stores the scale of each row's group, as f16, and m if the format has it.
template <fovea_dtype kType>
FOVEA_INLINE void PutHeads(const GroupRows<kType>& rows, uint16_t* scales, uint16_t* leasts) {
  if constexpr (kType == FOVEA_Q4_1) {  // both at once
    int32_t both[kLanes];
    FOVEA_UNROLL(16)
    for (size_t k = 0; k < kLanes; ++k) __builtin_memcpy(&both[k], rows.Row(k).Block(0), sizeof both[k]);
    const VI words = hn::LoadU(kI, both);
    hn::StoreU16(words, scales);
    hn::StoreU16(hn::ShiftRight<16>(words), leasts);
  } else {
    FOVEA_UNROLL(16)
    for (size_t k = 0; k < kLanes; ++k) scales[k] = rows.Row(k).ScaleBits(0);
  }
}
