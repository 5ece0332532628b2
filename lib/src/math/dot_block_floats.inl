// SPDX-License-Identifier: Apache-2.0
//
// The register blocks of dot_block.inl where codes are floats: the loops of f32 products, whose sums are exact here.

// Rows, or elements of the values, of a block.
template <int kVectors>
constexpr int kDotRows = LargestBlock<kVectors, false>();

// Elements of values that were brought: whole blocks.
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
