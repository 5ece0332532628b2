// SPDX-License-Identifier: Apache-2.0
//
// Groups of rows in place: a vector has codes of one row, or of several, one after the other.

constexpr size_t kGroupParts = dot::kFewGroupParts;
// Where a group is one vector, its halves are multiplied as if the other half was 0.
constexpr size_t kHalfCodes = kGroupParts == 1 ? 2 : 1;
using GroupCodes = FewInputs[kHalfCodes][kRowVectors][kGroupParts];
// Nothing is kept from a group to the next.
template <fovea_dtype kType>
struct TurnedBytes {};

// Loads the codes of a group in a super-block, which become bytes first.
template <fovea_dtype kType>
FOVEA_INLINE void LoadSuper(const uint8_t* block, size_t place, FewInputs (&codes)[kGroupParts]) {
  int8_t bytes[kScaleGroup];
  PutSixteen<kType, 32>(block, place, 0, bytes);
  PutSixteen<kType, 32>(block, place, 16, bytes + 16);
  const uint8_t* const at[kRowsOfVector] = {reinterpret_cast<const uint8_t*>(bytes)};
  dot::LoadFewGroup(at, codes);
}
template <fovea_dtype kType>
FOVEA_INLINE void LoadHalf(const uint8_t* block, size_t place, size_t half, FewInputs (&codes)[kGroupParts]) {
  int8_t bytes[kScaleGroup] = {};
  PutSixteen<kType, 32>(block, place, 16 * half, bytes + 16 * half);
  const uint8_t* const at[kRowsOfVector] = {reinterpret_cast<const uint8_t*>(bytes)};
  dot::LoadFewGroup(at, codes);
}

template <fovea_dtype kType>
FOVEA_INLINE void LoadGroups(const GroupRows<kType>& rows, TurnedBytes<kType>&, GroupCodes& codes) {
  FOVEA_UNROLL(16)
  for (size_t k = 0; k < kRowVectors; ++k) {
    if constexpr (kScaleStep<kType> < kScaleGroup && kHalfCodes == 2) {
      FOVEA_UNROLL(2)
      for (size_t half = 0; half < 2; ++half) LoadHalf<kType>(rows.Row(k).Block(0), rows.place, half, codes[half][k]);
    } else if constexpr (kInSuper<kType>) {
      LoadSuper<kType>(rows.Row(k).Block(0), rows.place, codes[0][k]);
    } else {
      const uint8_t* at[kRowsOfVector];
      for (size_t i = 0; i < kRowsOfVector; ++i) at[i] = rows.Row(k + i * kRowVectors).Codes(0);
      if constexpr (kType == FOVEA_Q8_0) {
        dot::LoadFewGroup(at, codes[0][k]);
      } else {
        dot::LoadFewNibbles(at, codes[0][k]);
      }
    }
  }
}

// The scales of a super-block are made after the products of the group before it: else codes would wait in memory.
constexpr bool kSuperScalesLast = true;

// Stores the scales of a super-block of kLanes rows; in q4_k the negative minima follow them.
template <fovea_dtype kType>
FOVEA_INLINE void PutScalesOfRows(const GroupRows<kType>& rows, float (&to)[kSuperScales][kLanes]) {
  float of_rows[kLanes][kSuperScales];
  FOVEA_UNROLL(16)
  for (size_t k = 0; k < kLanes; ++k) PutSuperScales<kType, false>(rows.Row(k).Block(0), of_rows[k]);
  FOVEA_UNROLL(4)
  for (size_t i = 0; i < kSuperScales; i += kLanes) {
    VF v[kLanes];
    FOVEA_UNROLL(16)
    for (size_t k = 0; k < kLanes; ++k) v[k] = hn::LoadU(kF, of_rows[k] + i);
    hn::Transpose(v);
    FOVEA_UNROLL(16)
    for (size_t k = 0; k < kLanes; ++k) hn::StoreU(v[k], kF, to[i + k]);
  }
}

// Lane i: the sum of the products of a token's codes, from x on, with the group of row i, or with a half of it.
template <size_t kHalf, size_t kHalves>
FOVEA_INLINE VF GroupsTimes(const dot::FewCode* x, const GroupCodes& codes) {
  constexpr size_t kParts = kGroupParts == 1 ? 1 : kGroupParts / kHalves;
  constexpr size_t kFirst = kGroupParts == 1 ? 0 : kHalf * kParts;
  FewInputs v[kGroupParts];
  dot::LoadFewGroupX(x, v);
  dot::Sum sums[kRowVectors];
  FOVEA_UNROLL(16)
  for (size_t k = 0; k < kRowVectors; ++k) {
    sums[k] = dot::FewStart(x, 0);
    FOVEA_UNROLL(8)
    for (size_t p = kFirst; p < kFirst + kParts; ++p) {
      sums[k] = dot::FewScoreDot(v[p], codes[kHalfCodes == 1 ? 0 : kHalf][k][p], sums[k]);
    }
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
