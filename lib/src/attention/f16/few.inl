// SPDX-License-Identifier: Apache-2.0
//
// The few-rows kernel with products of halves, over the half words of f16/tile.inl: the chains are those of
// f16/products.inl, so that the bits are those of the tile kernel. A lane is a key while its products with a query are
// added up: the elements of kProductLanes keys are transposed, or gathered. With values, lanes run along value_dim, and
// each value is read once for all rows.

namespace FOVEA_HALF_NAMESPACE {
// clang-format off
#include "attention/few_block.inl"
#include "attention/f16/few_softmax.inl"
#if FOVEA_FOR_HELIUM
#include "math/half_lanes_helium.inl"
#include "attention/f16/few_rows_helium.inl"
#else
#include "math/half_lanes.inl"
#include "attention/f16/few_rows.inl"
#endif
// The functions above as the parts of a few-rows kernel.
struct FewParts {
  static constexpr uint32_t kMostFewRows = FOVEA_HALF_NAMESPACE::kMostFewRows;
  static constexpr auto* FewBegin = FOVEA_HALF_NAMESPACE::FewBegin;
  template <int kRows>
  FOVEA_INLINE bool PrefetchesAhead(const QueryTile& t, const KeyTile& keys) {
    return FOVEA_HALF_NAMESPACE::PrefetchesAhead<kRows>(t, keys);
  }
  template <int kRows, bool kPrefetch>
  FOVEA_INLINE void FewScores(const QueryTile& t, const KeyTile& keys) {
    FOVEA_HALF_NAMESPACE::FewScores<kRows, kPrefetch>(t, keys);
  }
  template <int kRows>
  FOVEA_INLINE void FewSoftmax(const QueryTile& t, const KeyTile& keys, bool hides) {
    FOVEA_HALF_NAMESPACE::FewSoftmax<kRows>(t, keys, hides);
  }
  template <int kRows>
  FOVEA_INLINE void FewValues(const QueryTile& t, const KeyTile& keys, bool hides) {
    FOVEA_HALF_NAMESPACE::FewValues<kRows>(t, keys, hides);
  }
  FOVEA_INLINE auto* WeightsToKeep(const QueryTile& t, const KeyTile& keys) {
    return FOVEA_HALF_NAMESPACE::WeightsToKeep(t, keys);
  }
};
// clang-format on
}  // namespace FOVEA_HALF_NAMESPACE
