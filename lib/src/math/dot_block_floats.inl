// SPDX-License-Identifier: Apache-2.0
//
// The register blocks of dot_block.inl where codes are floats: the loops of f32 products, whose sums are exact here.

// Rows, or elements of the values, of a register block.
template <int kVectors>
constexpr int kDotRows = LargestBlock<kVectors, false>();

// Elements of values that were brought: whole register blocks.
FOVEA_INLINE size_t PaddedValues(size_t value_dim) { return padded_values(value_dim); }

template <int kRows, int kVectors>
FOVEA_INLINE void MultiplyKeys(const float* x, size_t columns, const float* const (&row)[kRows], size_t dim,
                               dot::Sum (&sums)[kRows][kVectors]) {
  const float* at[kRows];
  FOVEA_UNROLL(8)
  for (int k = 0; k < kRows; ++k) {
    at[k] = row[k];
    FOVEA_OPAQUE(at[k]);
  }
  MultiplyPart<false>(x, columns, dim, at, nullptr, sums);
}

template <int kRows, int kVectors>
FOVEA_INLINE void MultiplyValues(const float* x, size_t columns, const float* value, size_t padded, size_t groups,
                                 dot::Sum (&sums)[kRows][kVectors]) {
  AddValues<false>(x, columns, value, ptrdiff_t(padded), uint32_t(groups), sums);
}

#include "math/dot_sums.inl"

// Widens `count` rows of dim codes to rows of floats in `to`. *stride becomes the stride of these rows.
constexpr bool kRowsInPlace = false;
FOVEA_INLINE const float* ReachRows(const int8_t* rows, uint32_t count, size_t dim, float* to, ptrdiff_t* stride) {
  const ptrdiff_t step = *stride;
  *stride = ptrdiff_t(dim);
  float* row = to;
  for (uint32_t i = 0; i < count; ++i, rows += step, row += dim) {
    for (size_t d = 0; d < dim; d += kLanes) {
      const size_t n = dim - d < kLanes ? dim - d : kLanes;
      const VI codes = n == kLanes ? hn::LoadI8(kI, rows + d) : hn::LoadI8N(kI, rows + d, n);
      dot::StoreCodes(hn::ConvertTo(kF, codes), row + d, n);
    }
  }
  return to;
}
