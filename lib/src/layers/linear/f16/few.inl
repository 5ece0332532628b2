// SPDX-License-Identifier: Apache-2.0
//
// A linear layer of one to three tokens with products of halves, where the processor has arithmetic for them. A lane is
// an output, so that each weight is read once and none is multiplied by a lane without a token. The chains are those of
// linear.inl.
#ifndef FOVEA_SRC_LINEAR_F16_FEW_INL_
#define FOVEA_SRC_LINEAR_F16_FEW_INL_

#include "ground/math/half_lanes.inl"
#include "layers/linear/f16/linear.inl"

template <class Half>
struct FewHalfLinear {
  using Element = typename Half::Element;
  using Lanes = HalfLanes<Half>;
  static constexpr size_t kProductLanes = Half::kLanes;
  static constexpr int kPieces = Half::kPieces;
  static_assert(::fovea::kFewHalfInputs == kProductLanes, "rows of tokens have room for whole vectors");

  // The tokens of a tile become rows of halves, one after the other.
  template <fovea_dtype kType>
  FOVEA_TEMPLATE void BeginOf(const TokenTile& t, const void* x, ptrdiff_t stride) {
    Element* to = TokensOf<Half>(t);
    for (uint32_t token = 0; token < t.live; ++token, to += ::fovea::round_up(t.in_dim, kProductLanes)) {
      const ptrdiff_t from = stride_bytes(stride, unit_bytes(kType), ptrdiff_t(token));
      const FormatRow<kType> row = FormatRow<kType>::Of(::fovea::advanced(x, from), nullptr);
      for (size_t d = 0; d < t.in_dim; d += kLanes) {
        const size_t n = LanesBefore(d, t.in_dim);
        Half::Store(n == kLanes ? LoadAs(row, d) : LoadAsN(row, d, n), to + d);
      }
    }
  }
  FOVEA_SECTION_OF(Half)
  FOVEA_KERNEL void Begin(const TokenTile& t, fovea_dtype dtype, const void* x, ptrdiff_t stride) {
    FOVEA_WITH_FORMAT(HalfLinear<Half>::kInputFormats, dtype, BeginOf<kType>(t, x, stride));
  }

  // kTokens tokens, which begin at x.
  template <int kTokens, bool kNear>
  FOVEA_TEMPLATE void Outputs(const FewHalfTokens& f, const Element* x, float* y) {
    using Rows = typename Lanes::template Rows<kNear>;
    const size_t pitch = size_t(f.x_stride);
    const Element* weights = static_cast<const Element*>(f.weights.data);
    const ptrdiff_t stride = f.weights.row_stride;
    for (uint32_t j = 0; j < f.out_dim; j += kProductLanes, weights += ptrdiff_t(kProductLanes) * stride) {
      VF sums[kTokens][kPieces];
      Lanes::template Multiply<kTokens>(Rows::Of(weights, stride, f.out_dim - j - 1), x, pitch, f.in_dim, sums);
      FOVEA_EACH(r, kTokens) {
        FOVEA_EACH(i, uint32_t(kPieces)) {
          const size_t output = j + i * kLanes, n = LanesBefore(output, f.out_dim);
          if (n == 0) continue;
          if (f.weights.bias) sums[r][i] = hn::Add(sums[r][i], LoadUpTo(f.weights.bias + output, n));
          StoreUpTo(sums[r][i], y + ptrdiff_t(r) * f.y_stride + ptrdiff_t(output), n);
        }
      }
    }
  }
  template <int kTokens>
  FOVEA_INLINE void OutputsOf(const FewHalfTokens& f, const Element* x, float* y) {
    if constexpr (Lanes::kMayBeFar) {
      if (!Lanes::AreNear(f.weights.row_stride)) return Outputs<kTokens, false>(f, x, y);
    }
    Outputs<kTokens, true>(f, x, y);
  }

  // Where size counts, a token at a time.
  FOVEA_SECTION_OF(Half) FOVEA_KERNEL void Multiply(const FewHalfTokens& f) {
    const Element* x = f.x;
    if constexpr (!kSmallText) {
      if (f.tokens == 2) return OutputsOf<2>(f, x, f.y);
      if (f.tokens == 3) return OutputsOf<3>(f, x, f.y);
    }
    float* y = f.y;
    for (uint32_t left = f.tokens; left > 0; --left, x += f.x_stride, y += f.y_stride) OutputsOf<1>(f, x, y);
  }
};

// The kernel for few tokens, if the words have one.
template <class Half>
constexpr F16LinearKernel FewKernelOfHalves() {
  if constexpr (Half::kServesFewRows && ::fovea::kHasFewHalves) {
    return {FewHalfLinear<Half>::Begin, nullptr, FewHalfLinear<Half>::Multiply};
  }
  return {};
}

#endif  // FOVEA_SRC_LINEAR_F16_FEW_INL_
