// SPDX-License-Identifier: Apache-2.0
//
// The register blocks of dot_block.inl where codes are floats: the loops of f32 products, whose sums are exact here.
#ifndef FOVEA_SRC_MATH_DOT_BLOCK_FLOATS_INL_
#define FOVEA_SRC_MATH_DOT_BLOCK_FLOATS_INL_

#include "ground/math/block.inl"
#include "ground/math/dot_block.inl"

template <class Dot>
struct DotBlock<Dot, kDotFloats> : DotSums<Dot> {
  template <int kVectors>
  static constexpr int kRows = LargestBlock<kVectors, false>();

  template <int kVectors, int kRows>
  FOVEA_INLINE void MultiplyRows(const float* x, size_t columns, const float* const (&row)[kRows], size_t dim,
                                 VF (&sums)[kRows][kVectors]) {
    const float* at[kRows];
    FOVEA_EACH(k, kRows) {
      at[k] = row[k];
      FOVEA_OPAQUE(at[k]);
    }
    MultiplyPart<false>(x, columns, dim, at, nullptr, sums);
  }

  template <int kVectors, int kRows>
  FOVEA_INLINE void MultiplyValues(const float* x, size_t columns, const float* value, size_t padded, size_t groups,
                                   VF (&sums)[kRows][kVectors]) {
    AddValues<false>(x, columns, value, ptrdiff_t(padded), uint32_t(groups), sums);
  }
};

#endif  // FOVEA_SRC_MATH_DOT_BLOCK_FLOATS_INL_
