// SPDX-License-Identifier: Apache-2.0
//
// The tile kernel with products of halves, over the half words `Half`.

using Element = Half::Element;
constexpr size_t kProductLanes = Half::kLanes;
constexpr int kBlockVectors = Half::kBlockVectors, kPieces = Half::kPieces;
using Block = HalfBlock<Half>;
#include "attention/f16/elements.inl"
#if FOVEA_FOR_HELIUM
#include "attention/f16/products_helium.inl"
#else
#include "attention/f16/products.inl"
#endif

// A weight is rounded to a half, so its exponential need not be exact to the last bit.
template <int n>
FOVEA_INLINE void WeightExp2(VF (&x)[n]) {
  ShortExp2(x);
}
#include "attention/softmax.inl"

using QueryElement = Element;
FOVEA_INLINE void LoadQuery(fovea_dtype dtype, const void* row, size_t dim, VF factor, QueryElement* to, size_t step) {
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
#include "attention/queries.inl"
#include "attention/tile_kernel.inl"
