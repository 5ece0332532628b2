// SPDX-License-Identifier: Apache-2.0
//
// The tile kernel with products of halves.
#ifndef FOVEA_SRC_ATTENTION_F16_TILE_INL_
#define FOVEA_SRC_ATTENTION_F16_TILE_INL_

#include "core/attention/f16/products.inl"
#include "core/attention/queries.inl"
#include "core/attention/softmax.inl"
#include "core/attention/tile_kernel.inl"

template <class Half>
struct HalfTile : HalfProducts<Half>, TileQueries<HalfTile<Half>, typename Half::Element>, TileSoftmax<HalfTile<Half>> {
  using Element = typename Half::Element;

  template <int n>
  FOVEA_INLINE void WeightExp2(VF (&x)[n]) {
    ShortExp2(x);  // a weight is rounded to a half, so its exponential need not be exact to the last bit
  }
  FOVEA_INLINE void LoadQuery(fovea_dtype dtype, const void* row, size_t dim, VF factor, Element* to, size_t step) {
    for (size_t d = 0; d < dim; ++d, to += step) {
      HalfProducts<Half>::StoreQuery(hn::Mul(LoadPart(dtype, row, d, 1), factor), to, false);
    }
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
};

#endif  // FOVEA_SRC_ATTENTION_F16_TILE_INL_
