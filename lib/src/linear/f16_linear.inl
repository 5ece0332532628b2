// SPDX-License-Identifier: Apache-2.0
//
// A linear layer with products of halves, over the half words: a lane is a token, and weights multiply it as keys
// multiply queries.

namespace FOVEA_HALF_NAMESPACE {
#include FOVEA_HALF_WORDS
#include "math/half_block.inl"

FOVEA_INLINE Element* TokenElements(const TokenTile& t) { return reinterpret_cast<Element*>(t.x); }

// Transposes the tokens of a tile into it, and rounds them to halves.
template <fovea_dtype kType>
FOVEA_TEMPLATE void BeginOf(const TokenTile& t, const void* x, ptrdiff_t stride) {
  for (size_t column = 0; column < t.columns; column += kLanes) {
    FormatRow<kType> rows[kLanes];
    for (size_t i = 0; i < kLanes; ++i) {
      const size_t token = column + i < t.live ? column + i : t.live - 1;
      rows[i] = FormatRow<kType>::Of(::fovea::advanced(x, stride_bytes(stride, unit_bytes(kType), ptrdiff_t(token))),
                                     nullptr);
    }
    Element* x_t = TokenElements(t) + column;
    for (size_t d = 0; d < t.in_dim; d += kLanes) {
      const size_t n = t.in_dim - d < kLanes ? t.in_dim - d : kLanes;
      VF lanes[kLanes];
      for (size_t i = 0; i < kLanes; ++i) lanes[i] = n == kLanes ? LoadAs(rows[i], d) : LoadAsN(rows[i], d, n);
      hn::Transpose(lanes);
      FOVEA_UNROLL(16)
      for (size_t i = 0; i < kLanes; ++i, x_t += t.columns) {
        if (i < n) half::Store(lanes[i], x_t);
      }
    }
  }
}

constexpr ::fovea::FormatSet kInputFormats =
    ::fovea::kOnlyF32 | (::fovea::kUnscaledFormats & ::fovea::FormatSet{1} << FOVEA_F16);
FOVEA_KERNEL void Begin(const TokenTile& t, fovea_dtype dtype, const void* x, ptrdiff_t stride) {
  FOVEA_WITH_FORMAT(kInputFormats, dtype, BeginOf<kType>(t, x, stride));
}

// Weights past the last ones repeat these.
template <int kVectors>
FOVEA_TEMPLATE void MultiplyVectors(const TokenTile& t, const WeightRows& w, uint32_t output, uint32_t input,
                                    size_t column) {
  constexpr uint32_t kRows = half::kRows;
  static_assert(kLinearGrain % kRows == 0, "blocks must tile the tile");
  const Element* const x = TokenElements(t) + size_t(input) * t.columns + column;
  const Element* row = static_cast<const Element*>(w.data);
  float* sums = t.sums + size_t(output) * t.columns + column;
  for (uint32_t left = w.outputs;; left -= kRows, sums += kRows * t.columns) {
    const Element* at[kRows];
    FOVEA_UNROLL(8)
    for (uint32_t k = 0; k < kRows; ++k) {
      at[k] = row;
      row += k + 1 < left ? w.stride : 0;
    }
    MultiplyBlock<kVectors>(x, t.columns, w.inputs, at, input != 0, sums);
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

constexpr F16LinearKernel kKernel = {Begin, Multiply};

}  // namespace FOVEA_HALF_NAMESPACE
