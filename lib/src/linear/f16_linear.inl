// SPDX-License-Identifier: Apache-2.0
//
// A linear layer with products of halves, over the half words: a lane is a token, and weights multiply it as keys
// multiply queries.

namespace FOVEA_HALF_NAMESPACE {
#include FOVEA_HALF_WORDS
#include "math/half_block.inl"

FOVEA_INLINE Element* TokenElements(const TokenTile& t) { return reinterpret_cast<Element*>(t.x); }

#if FOVEA_FOR_HELIUM
#include "linear/f16_begin_helium.inl"
#else
#include "linear/f16_begin.inl"
#endif

constexpr ::fovea::FormatSet kInputFormats =
    ::fovea::kOnlyF32 | (::fovea::kUnscaledFormats & ::fovea::FormatSet{1} << FOVEA_F16);
FOVEA_KERNEL void Begin(const TokenTile& t, fovea_dtype dtype, const void* x, ptrdiff_t stride) {
  FOVEA_WITH_FORMAT(kInputFormats, dtype, BeginOf<kType>(t, x, stride));
}

// Weights past the last ones repeat these. More than one vector are all of a tile: so the columns are a constant.
template <int kVectors>
FOVEA_TEMPLATE void MultiplyVectors(const TokenTile& t, const WeightRows& w, uint32_t output, uint32_t input,
                                    size_t column) {
  constexpr uint32_t kRows = half::kRows;
  static_assert(kLinearGrain % kRows == 0, "blocks must tile the tile");
  const size_t columns = kVectors > 1 ? kVectors * kProductLanes : t.columns;
  const Element* const x = TokenElements(t) + size_t(input) * columns + column;
  const Element* row = static_cast<const Element*>(w.data);
  float* sums = t.sums + size_t(output) * columns + column;
  for (uint32_t left = w.outputs;; left -= kRows, sums += kRows * columns) {
    const Element* at[kRows];
    FOVEA_UNROLL(8)
    for (uint32_t k = 0; k < kRows; ++k) {
      at[k] = row;
      row += k + 1 < left ? w.stride : 0;
    }
    MultiplyBlock<kVectors>(x, columns, w.inputs, at, input != 0, sums);
    if (left <= kRows) return;
  }
}

template <int kMost>
FOVEA_INLINE void MultiplyColumns(const TokenTile& t, const WeightRows& w, uint32_t output, uint32_t input,
                                  size_t column) {
  constexpr size_t kStep = kMost * kProductLanes;
  for (; column + kStep <= t.columns; column += kStep) MultiplyVectors<kMost>(t, w, output, input, column);
  if constexpr (kMost > 1) MultiplyColumns<kPreferSize ? 1 : kMost - 1>(t, w, output, input, column);
}

FOVEA_KERNEL void Multiply(const TokenTile& t, const WeightRows& w, uint32_t output, uint32_t input) {
  MultiplyColumns<kBlockVectors>(t, w, output, input, 0);
}

constexpr F16LinearKernel kKernel = {Begin, Multiply, nullptr};

}  // namespace FOVEA_HALF_NAMESPACE
