// SPDX-License-Identifier: Apache-2.0
//
// A linear layer with products of halves, over half words: a lane is a token, and weights multiply it as keys multiply
// queries.
#ifndef FOVEA_SRC_LINEAR_F16_LINEAR_INL_
#define FOVEA_SRC_LINEAR_F16_LINEAR_INL_

#include "ground/formats/rows.inl"
#include "ground/math/half_block.inl"

template <class Half>
FOVEA_INLINE auto* TokensOf(const TokenTile& t) {
  return static_cast<typename Half::Element*>(t.x);
}

// How the tokens of a tile become halves: by vectors along a token, which are transposed.
template <class Half, bool = Half::kByScalars>
struct HalfTokens {
  template <fovea_dtype kType>
  FOVEA_TEMPLATE void Transpose(const TokenTile& t, const void* x, ptrdiff_t stride) {
    for (size_t column = 0; column < t.columns; column += kLanes) {
      FormatRow<kType> rows[kLanes];
      for (size_t i = 0; i < kLanes; ++i) {
        const size_t token = column + i < t.live ? column + i : t.live - 1;
        rows[i] = FormatRow<kType>::Of(::fovea::advanced(x, stride_bytes(stride, unit_bytes(kType), ptrdiff_t(token))),
                                       nullptr);
      }
      auto* x_t = TokensOf<Half>(t) + column;
      for (size_t d = 0; d < t.in_dim; d += kLanes) {
        const size_t n = t.in_dim - d < kLanes ? t.in_dim - d : kLanes;
        VF lanes[kLanes];
        for (size_t i = 0; i < kLanes; ++i) lanes[i] = n == kLanes ? LoadAs(rows[i], d) : LoadAsN(rows[i], d, n);
        hn::Transpose(lanes);
        FOVEA_UNROLL(16)
        for (size_t i = 0; i < kLanes; ++i, x_t += t.columns) {
          if (i < n) Half::Store(lanes[i], x_t);
        }
      }
    }
  }
};

// For Helium: one load gathers an element of four tokens, or of eight. Columns past the last token repeat it.
template <class Half>
struct HalfTokens<Half, true> {
  using Places = typename Half::Places;

  FOVEA_INLINE auto Gather(const float* x, Places first, Places second) {
    return Half::Both(Half::GatherFloats(x, first), Half::GatherFloats(x, second));
  }
  FOVEA_INLINE auto Gather(const uint16_t* x, Places first, Places second) { return Half::GatherFar(x, first, second); }

  template <fovea_dtype kType>
  FOVEA_TEMPLATE void Transpose(const TokenTile& t, const void* x, ptrdiff_t stride) {
    for (uint32_t column = 0; column < t.columns; column += Half::kLanes) {
      const Places first = Half::PlacesOf(column, t.live - 1, stride);
      const Places second = Half::PlacesOf(column + uint32_t(kLanes), t.live - 1, stride);
      auto* element = static_cast<const typename FormatRow<kType>::Unit*>(x);
      auto* to = TokensOf<Half>(t) + column;
      FOVEA_UNROLL_LONG_LOOP(4)
      for (size_t n = t.in_dim; n > 0; --n, ++element, to += t.columns) {
        Half::StoreRow(Gather(element, first, second), to);
      }
    }
  }
};

template <class Half>
struct HalfLinear {
  using Element = typename Half::Element;

  static constexpr ::fovea::FormatSet kInputFormats =
      ::fovea::kOnlyF32 | (::fovea::kUnscaledFormats & ::fovea::FormatSet{1} << FOVEA_F16);
  FOVEA_SECTION_OF(Half)
  FOVEA_KERNEL void Begin(const TokenTile& t, fovea_dtype dtype, const void* x, ptrdiff_t stride) {
    FOVEA_WITH_FORMAT(kInputFormats, dtype, HalfTokens<Half>::template Transpose<kType>(t, x, stride));
  }

  // Weights past the last ones repeat these. More than one vector are all of a tile: so the columns are a constant.
  template <int kVectors>
  FOVEA_TEMPLATE void MultiplyVectors(const TokenTile& t, const WeightRows& w, uint32_t output, uint32_t input,
                                      size_t column) {
    constexpr uint32_t kRows = Half::kRows;
    static_assert(kLinearGrain % kRows == 0, "blocks must tile the tile");
    const size_t columns = kVectors > 1 ? kVectors * Half::kLanes : t.columns;
    const Element* const x = TokensOf<Half>(t) + size_t(input) * columns + column;
    const Element* row = static_cast<const Element*>(w.data);
    float* sums = t.sums + size_t(output) * columns + column;
    for (uint32_t left = w.outputs;; left -= kRows, sums += kRows * columns) {
      const Element* at[kRows];
      FOVEA_EACH(k, kRows) {
        at[k] = row;
        row += k + 1 < left ? w.stride : 0;
      }
      HalfBlock<Half>::template Multiply<kVectors>(x, columns, w.inputs, at, input != 0, sums);
      if (left <= kRows) return;
    }
  }

  template <int kMost>
  FOVEA_INLINE void MultiplyColumns(const TokenTile& t, const WeightRows& w, uint32_t output, uint32_t input,
                                    size_t column) {
    constexpr size_t kStep = kMost * Half::kLanes;
    for (; column + kStep <= t.columns; column += kStep) MultiplyVectors<kMost>(t, w, output, input, column);
    if constexpr (kMost > 1) MultiplyColumns<AtOnce(kMost - 1)>(t, w, output, input, column);
  }

  FOVEA_SECTION_OF(Half)
  FOVEA_KERNEL void Multiply(const TokenTile& t, const WeightRows& w, uint32_t output, uint32_t input) {
    MultiplyColumns<Half::kBlockVectors>(t, w, output, input, 0);
  }
};

// The kernel for any tokens, if there are words.
template <class Half>
constexpr F16LinearKernel KernelOfHalves() {
  if constexpr (::fovea::kHasF16Linear && Half::kRows != 0)
    return {HalfLinear<Half>::Begin, HalfLinear<Half>::Multiply, nullptr};
  return {};
}

#endif  // FOVEA_SRC_LINEAR_F16_LINEAR_INL_
