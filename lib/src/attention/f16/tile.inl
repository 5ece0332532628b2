// SPDX-License-Identifier: Apache-2.0
//
// The tile kernel with products of halves, over the half words that were included before.

namespace FOVEA_HALF_NAMESPACE {
#include FOVEA_HALF_WORDS
#include "math/half_block.inl"
#include "attention/f16/products.inl"

// A weight is rounded to a half, so its exponential need not be exact to the last bit.
template <int n>
FOVEA_INLINE void WeightExp2(VF (&x)[n]) {
  ShortExp2(x);
}
#include "attention/softmax.inl"

// The weights of one vector of rows become halves. A hidden one stays -0.
FOVEA_SHARED void PackWeights(const QueryTile& t, const KeyTile& keys, size_t column, bool) {
  for (uint32_t j = keys.begin; j < keys.end; ++j) {
    half::Store(hn::LoadU(kF, t.s + size_t(j) * t.columns + column), WeightElements(t, j, column));
  }
}

using QueryElement = Element;
FOVEA_INLINE void StoreQuery(VF v, QueryElement* p) { half::Store(v, p); }
FOVEA_INLINE void LoadQuery(fovea_dtype dtype, const void* row, size_t dim, VF factor, QueryElement* to, size_t step) {
  for (size_t d = 0; d < dim; ++d, to += step) StoreQuery(hn::Mul(LoadPart(dtype, row, d, 1), factor), to);
}
#include "attention/queries.inl"
#include "attention/tile_kernel.inl"

}  // namespace FOVEA_HALF_NAMESPACE
