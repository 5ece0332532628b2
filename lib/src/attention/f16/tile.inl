// SPDX-License-Identifier: Apache-2.0
//
// The tile kernel with products of halves, over the half words that were included before.

namespace FOVEA_HALF_NAMESPACE {
#include FOVEA_HALF_WORDS
#include "math/half_block.inl"
#include "attention/f16/elements.inl"
#if FOVEA_FOR_HELIUM
#include "attention/f16/products_helium.inl"
#else
#include "attention/f16/products.inl"
#endif

FOVEA_INLINE void LoadQuery(fovea_dtype dtype, const void* row, size_t dim, VF factor, Element* to, size_t step) {
  for (size_t d = 0; d < dim; ++d, to += step) StoreQuery(hn::Mul(LoadPart(dtype, row, d, 1), factor), to, false);
}
FOVEA_INLINE VF QueryFactors(const QueryTile& t, const LaneRows<char>& rows, fovea_dtype dtype, size_t column,
                             float scale) {
  VF largest[kLanes], powers;
  FindLargest<kLanes>(rows.at, dtype, t.head_dim, largest);
  hn::Transpose(largest);
  for (size_t i = 1; i < kLanes; ++i) largest[0] = hn::Max(largest[0], largest[i]);
  const VF factors = FactorsOfQueries(largest[0], scale, &powers);
  hn::StoreU(powers, kF, query_scales(t) + column);
  return factors;
}
// The functions above as the parts of a tile kernel.
struct TileParts : TileQueries<TileParts, Element>, TileSoftmax<TileParts> {
  static constexpr size_t kProductLanes = FOVEA_HALF_NAMESPACE::kProductLanes;
  static constexpr int kBlockVectors = FOVEA_HALF_NAMESPACE::kBlockVectors;
  template <int kVectors>
  FOVEA_INLINE void Scores(const QueryTile& t, const KeyTile& keys, size_t column) {
    FOVEA_HALF_NAMESPACE::Scores<kVectors>(t, keys, column);
  }
  template <int kVectors>
  FOVEA_INLINE void ScaleScores(const QueryTile& t, const KeyTile& keys, size_t column) {
    FOVEA_HALF_NAMESPACE::ScaleScores<kVectors>(t, keys, column);
  }
  template <bool kHides, int kVectors>
  FOVEA_INLINE void Values(const QueryTile& t, const KeyTile& keys, size_t column) {
    FOVEA_HALF_NAMESPACE::Values<kHides, kVectors>(t, keys, column);
  }
  FOVEA_INLINE void PackWeights(const QueryTile& t, const KeyTile& keys, size_t column, bool changed) {
    FOVEA_HALF_NAMESPACE::PackWeights(t, keys, column, changed);
  }
  static constexpr bool kPacksWeights = FOVEA_HALF_NAMESPACE::kPacksWeights, kStoresInTwo = FOVEA_HALF_NAMESPACE::kStoresInTwo;
  template <int n>
  FOVEA_INLINE void WeightExp2(VF (&x)[n]) {
    ShortExp2(x);  // a weight is rounded to a half, so its exponential need not be exact to the last bit
  }
  FOVEA_INLINE VF ScorePower(const QueryTile& t, size_t column) { return FOVEA_HALF_NAMESPACE::ScorePower(t, column); }
  FOVEA_INLINE void StoreWeight(VF weight, float* score, size_t column) {
    FOVEA_HALF_NAMESPACE::StoreWeight(weight, score, column);
  }
  FOVEA_INLINE Element* QueryElements(const QueryTile& t) { return FOVEA_HALF_NAMESPACE::QueryElements(t); }
  FOVEA_INLINE void StoreQuery(VF v, Element* p, bool second) { FOVEA_HALF_NAMESPACE::StoreQuery(v, p, second); }
  FOVEA_INLINE VF QueryFactors(const QueryTile& t, const LaneRows<char>& rows, fovea_dtype dtype, size_t column,
                               float scale) {
    return FOVEA_HALF_NAMESPACE::QueryFactors(t, rows, dtype, column, scale);
  }
  FOVEA_INLINE void LoadQuery(fovea_dtype dtype, const void* row, size_t dim, VF factor, Element* to, size_t step) {
    FOVEA_HALF_NAMESPACE::LoadQuery(dtype, row, dim, factor, to, step);
  }
};

}  // namespace FOVEA_HALF_NAMESPACE
