// SPDX-License-Identifier: Apache-2.0
//
// A linear layer. With many tokens a lane is a token, and weights multiply it as keys multiply queries
// (ground/math/block.inl). With few tokens lanes run along the inputs, and each weight is read once for one to four tokens.
#ifndef FOVEA_SRC_LINEAR_LINEAR_INL_
#define FOVEA_SRC_LINEAR_LINEAR_INL_

#include "ground/formats/rows.inl"
#include "ground/math/activation.inl"
#include "ground/math/block.inl"

FOVEA_KERNEL void LinearBegin(const TokenTile& t, const float* x, ptrdiff_t stride) {
  for (size_t column = 0; column < t.columns; column += kLanes) {
    const float* rows[kLanes];
    for (size_t i = 0; i < kLanes; ++i) {
      rows[i] = x + ptrdiff_t(column + i < t.live ? column + i : t.live - 1) * stride;
    }
    float* x_t = static_cast<float*>(t.x) + column;
    for (size_t d = 0; d < t.in_dim; d += kLanes) {
      const size_t n = t.in_dim - d < kLanes ? t.in_dim - d : kLanes;
      VF lanes[kLanes];
      hn::LoadTransposed(rows, d, n, lanes);
      FOVEA_UNROLL(16)
      for (size_t i = 0; i < kLanes; ++i, x_t += t.columns) {
        if (i < n) hn::StoreU(lanes[i], kF, x_t);
      }
    }
  }
}

// How far ahead weights are asked for with few tokens: 8 rows of f32, and as many bytes of other formats.
template <fovea_dtype kType>
constexpr size_t kRowsAhead = 8 * BytesOf<FOVEA_F32>(kSuperBlock) / BytesOf<kType>(kSuperBlock);

template <int kVectors>
FOVEA_TEMPLATE void LinearVectors(const TokenTile& t, const WeightRows& w, uint32_t output, uint32_t input,
                                  size_t column) {
  static_assert(kLinearGrain % kBlockOf<kVectors> == 0, "blocks must tile the tile");
  const float* x = static_cast<const float*>(t.x) + size_t(input) * t.columns + column;
  float* sums = t.sums + size_t(output) * t.columns + column;
  const float* const weights = static_cast<const float*>(w.data);
  MultiplyRows<kVectors, kAsksAhead>(x, t.columns, w.inputs, weights, w.stride, w.outputs, input != 0, sums, w.ahead);
}

FOVEA_KERNEL void LinearMultiply(const TokenTile& t, const WeightRows& w, uint32_t output, uint32_t input) {
  ForColumns<kBlockVectors, false>(t.columns, [&](auto vectors, size_t column) __attribute__((always_inline)) {
    LinearVectors<vectors.kCount>(t, w, output, input, column);
  });
}

template <bool kRelu>
FOVEA_TEMPLATE void EndTile(const TokenTile& t, uint32_t outputs, const float* bias, float* y, ptrdiff_t stride) {
  for (size_t column = 0; column < t.live; column += kLanes) {
    const size_t live = t.live - column < kLanes ? t.live - column : kLanes;
    float* rows[kLanes];
    for (size_t i = 0; i < kLanes; ++i) rows[i] = y + ptrdiff_t(column + (i < live ? i : live - 1)) * stride;
    const float* sums = t.sums + column;
    for (size_t e = 0; e < outputs; e += kLanes) {
      const size_t n = outputs - e < kLanes ? outputs - e : kLanes;
      VF lanes[kLanes];
      FOVEA_UNROLL(16)
      for (size_t i = 0; i < kLanes; ++i, sums += t.columns) {
        lanes[i] = hn::Zero(kF);
        if (i >= n) continue;
        lanes[i] = hn::LoadU(kF, sums);
        if (bias) lanes[i] = hn::Add(lanes[i], hn::Set(kF, bias[e + i]));
        if (kRelu) lanes[i] = ClampLeast(lanes[i], 0.0f);
      }
      hn::StoreTransposed(lanes, rows, live, e, n);
    }
  }
}
FOVEA_KERNEL void LinearEnd(const TokenTile& t, uint32_t outputs, const float* bias, float* y, ptrdiff_t stride) {
  if constexpr (::fovea::kEndsWithRelu) {
    if (t.relu) return EndTile<true>(t, outputs, bias, y, stride);
  }
  EndTile<false>(t, outputs, bias, y, stride);
}

// The weights of an output, which may be past the end.
template <fovea_dtype kType>
FOVEA_INLINE FormatRow<kType> WeightsOf(const FewTokens& f, size_t output) {
  const size_t scale_bytes = ::fovea::dense_scale_stride(kType, f.in_dim) * ::fovea::scale_bytes(kType);
  const ptrdiff_t from = stride_bytes(f.weights.row_stride, unit_bytes(kType), ptrdiff_t(output));
  return FormatRow<kType>::Of(::fovea::advanced(f.weights.data, from),
                              ::fovea::advanced(f.weights.scales, ptrdiff_t(output * scale_bytes)));
}

// acc[r][k] += the products of token r and row k of the weights, for the first `whole` inputs.
template <int kTokens, uint32_t kRows, fovea_dtype kType>
FOVEA_INLINE void FewVectors(const float* const (&x)[kTokens], const FormatRow<kType> (&weights)[kRows], size_t whole,
                             Ahead ahead, VF (&acc)[kTokens][kRows]) {
  for (size_t d = 0; d < whole; d += kLanes) {
    ahead.Next<BytesOf<kType>(kRows * kLanes)>();
    VF v[kTokens];
    FOVEA_EACH(r, kTokens) v[r] = hn::LoadU(kF, x[r] + d);
    FOVEA_EACH(k, kRows) {
      const VF w = weights[k].Whole(d);
      FOVEA_EACH(r, kTokens) acc[r][k] = hn::MulAdd(v[r], w, acc[r][k]);
    }
  }
}

// The same products, by groups. With one token the scale multiplies a group's sum. With more tokens the scale
// multiplies the weights, and nibbles then need no subtraction of their own.
template <int kTokens, uint32_t kRows, fovea_dtype kType>
FOVEA_INLINE void FewGroups(const float* const (&x)[kTokens], const FormatRow<kType> (&weights)[kRows], size_t whole,
                            Ahead ahead, VF (&acc)[kTokens][kRows]) {
  constexpr size_t kVectors = kScaleStep<kType> / kLanes;
  constexpr bool kBiased = format_of(kType).code_bias != 0 && !kInSuper<kType>;
  RowScales<kType> scales[kRows];
  for (size_t d = 0; d < whole; d += kScaleStep<kType>) {
    ahead.Next<BytesOf<kType>(kRows * kScaleStep<kType>)>();
    if (d % kSuperBlock == 0) {
      for (uint32_t k = 0; k < kRows; ++k) scales[k].Enter(weights[k], d);
    }
    VF x_sum = hn::Zero(kF);
    FOVEA_UNROLL(8)
    for (size_t i = 0; kHasLeast<kType> && kTokens == 1 && i < kVectors; ++i) {
      x_sum = hn::Add(x_sum, hn::LoadU(kF, x[0] + d + i * kLanes));
    }
    FOVEA_EACH(k, kRows) {
      VF codes[kVectors];
      const VF scale = scales[k].Scale(weights[k], d);
      if constexpr (kTokens == 1) {
        weights[k].Group(d, codes);
        VF sum = hn::Mul(hn::LoadU(kF, x[0] + d), codes[0]);
        FOVEA_UNROLL(8)
        for (size_t i = 1; i < kVectors; ++i) {
          sum = hn::MulAdd(hn::LoadU(kF, x[0] + d + i * kLanes), codes[i], sum);
        }
        acc[0][k] = hn::MulAdd(sum, scale, acc[0][k]);
        if constexpr (kHasLeast<kType>) acc[0][k] = hn::MulAdd(x_sum, scales[k].Least(weights[k], d), acc[0][k]);
      } else {
        VF least = hn::Zero(kF);  // what a nibble of 0 stands for
        if constexpr (kBiased) {
          AllNibbles<0>(weights[k].Codes(d), codes);
          least = hn::Mul(scale, hn::Set(kF, -float(format_of(kType).code_bias)));
        } else {
          weights[k].Group(d, codes);
          if constexpr (kHasLeast<kType>) least = scales[k].Least(weights[k], d);
        }
        FOVEA_EACH(i, kVectors) {
          const VF w = kBiased || kHasLeast<kType> ? hn::MulAdd(codes[i], scale, least) : hn::Mul(codes[i], scale);
          FOVEA_EACH(r, kTokens) acc[r][k] = hn::MulAdd(hn::LoadU(kF, x[r] + d + i * kLanes), w, acc[r][k]);
        }
      }
    }
  }
}

// The sums of kTokens tokens and as many outputs as fill a vector with them: lane = token * kOutputs + output.
template <int kTokens, fovea_dtype kType>
FOVEA_INLINE VF FewSums(const float* const (&x)[kTokens], const FewTokens& f, uint32_t output) {
  constexpr uint32_t kOutputs = kLanes / kTokens, kMost = kTokens == 1 ? 8 : 4;
  constexpr uint32_t kGroup = kOutputs < kMost ? kOutputs : kMost;  // outputs multiplied at a time
  constexpr size_t kStep = kGrouped<kType> ? kScaleStep<kType> : kLanes;
  const size_t whole = f.in_dim / kStep * kStep;
  VF products[kLanes];
  FOVEA_UNROLL(4)
  for (uint32_t g = 0; g < kOutputs; g += kGroup) {
    FormatRow<kType> weights[kGroup];
    VF acc[kTokens][kGroup];
    FOVEA_EACH(k, kGroup) {  // outputs past the last repeat it
      const uint32_t row = output + g + k < f.out_dim ? output + g + k : f.out_dim - 1;
      weights[k] = WeightsOf<kType>(f, row);
      FOVEA_EACH(r, kTokens) acc[r][k] = hn::Zero(kF);
    }
    const Ahead ahead = Ahead::From(WeightsOf<kType>(f, output + g + kRowsAhead<kType>).data);
    if constexpr (kGrouped<kType>) {
      FewGroups(x, weights, whole, ahead, acc);
    } else {
      FewVectors(x, weights, whole, ahead, acc);
    }
    for (size_t d = whole; d < f.in_dim; d += kLanes) {
      const size_t n = f.in_dim - d < kLanes ? f.in_dim - d : kLanes;
      FOVEA_EACH(r, kTokens) {
        const VF v = hn::LoadN(kF, x[r] + d, n);
        FOVEA_EACH(k, kGroup) acc[r][k] = hn::MulAdd(v, LoadAsN(weights[k], d, n), acc[r][k]);
      }
    }
    FOVEA_EACH(r, kTokens) {
      FOVEA_EACH(k, kGroup) products[r * kOutputs + g + k] = acc[r][k];
    }
  }
  return hn::SumsOfLanes(products);
}

FOVEA_INLINE VF Ended(const FewTokens& f, VF y) {
  if constexpr (::fovea::kEndsWithRelu) {
    if (f.relu) return ClampLeast(y, 0.0f);
  }
  return y;
}

// A vector of outputs for each token at a time.
template <int kTokens, fovea_dtype kType>
FOVEA_TEMPLATE void FewTokensOf(const FewTokens& f) {
  constexpr uint32_t kOutputs = kLanes / kTokens;
  const float* x[kTokens];
  for (uint32_t r = 0; r < kTokens; ++r) x[r] = f.x + ptrdiff_t(r < f.tokens ? r : f.tokens - 1) * f.x_stride;
  for (uint32_t j = 0; j < f.out_dim; j += kLanes) {
    const uint32_t n = f.out_dim - j < kLanes ? f.out_dim - j : kLanes;
    float sums[kTokens][kLanes];
    for (uint32_t e = 0; e < n; e += kOutputs) {
      float lanes[kTokens][kOutputs];
      hn::StoreU(FewSums<kTokens, kType>(x, f, j + e), kF, lanes[0]);
      for (int r = 0; r < kTokens; ++r) __builtin_memcpy(sums[r] + e, lanes[r], sizeof lanes[r]);
    }
    for (uint32_t r = 0; r < f.tokens; ++r) {
      VF y = hn::LoadN(kF, sums[r], n);
      if constexpr (format_of(kType).scaled == Scaled::kRow) {
        y = hn::Mul(y, FiniteOrNaN(hn::LoadN(kF, static_cast<const float*>(f.weights.scales) + j, n)));
      }
      if (f.weights.bias) y = hn::Add(y, hn::LoadN(kF, f.weights.bias + j, n));
      hn::StoreN(Ended(f, y), kF, f.y + ptrdiff_t(r) * f.y_stride + j, n);
    }
  }
}

// Where size counts more than speed, rows of groups are widened a group at a time, by one text for all formats.
constexpr FormatSet kFewFormats = kSmallText ? kServedFormats & ~kGroupedFormats : kServedFormats;
constexpr FormatSet kWidenedFormats = kGroupedFormats ? kGroupedFormats : kOnlyF32;  // never empty

template <fovea_dtype kType>
FOVEA_INLINE void WidenGroupAs(const FormatRow<kType>& row, size_t d, float (&w)[kScaleGroup]) {
  for (size_t i = 0; i < kScaleGroup; i += kLanes) hn::StoreU(LoadAs(row, d + i), kF, w + i);
}
FOVEA_CALLED void WidenGroup(const FewTokens& f, uint32_t output, size_t d, float (&w)[kScaleGroup]) {
  FOVEA_WITH_FORMAT(kWidenedFormats, f.weights.dtype, WidenGroupAs(WeightsOf<kType>(f, output), d, w));
}
FOVEA_CALLED void FewTokensOfGroups(const FewTokens& f) {
  for (uint32_t output = 0; output < f.out_dim; ++output) {
    VF acc[kMostFewTokens];
    for (uint32_t r = 0; r < kMostFewTokens; ++r) acc[r] = hn::Zero(kF);
    for (size_t d = 0; d < f.in_dim; d += kScaleGroup) {
      float w[kScaleGroup];
      WidenGroup(f, output, d, w);
      for (size_t i = 0; i < kScaleGroup && d + i < f.in_dim; i += kLanes) {
        const size_t left = f.in_dim - d - i, n = left < kLanes ? left : kLanes;
        for (uint32_t r = 0; r < f.tokens; ++r) {
          const VF v = hn::LoadN(kF, f.x + ptrdiff_t(r) * f.x_stride + d + i, n);
          acc[r] = hn::MulAdd(v, hn::LoadU(kF, w + i), acc[r]);
        }
      }
    }
    for (uint32_t r = 0; r < f.tokens; ++r) {
      const VF bias = hn::Set(kF, f.weights.bias ? f.weights.bias[output] : 0.0f);
      const VF y = Ended(f, hn::Add(OverLanes<false>(acc[r]), bias));
      hn::StoreN(y, kF, f.y + ptrdiff_t(r) * f.y_stride + output, 1);
    }
  }
}

template <int kTokens>
FOVEA_INLINE void FewTokensAs(const FewTokens& f) {
  FOVEA_WITH_FORMAT(kFewFormats, f.weights.dtype, FewTokensOf<kTokens, kType>(f));
}

FOVEA_KERNEL void LinearFew(const FewTokens& f) {
  if constexpr (kLanes > 1) {
    if (kFewFormats != kServedFormats && !is_one_of<kFewFormats>(f.weights.dtype)) return FewTokensOfGroups(f);
    if (f.tokens == 1) return FewTokensAs<1>(f);
    if (f.tokens == 2) return FewTokensAs<2>(f);
    if constexpr (kLanes > 4) FewTokensAs<4>(f);  // with 4 lanes, 4 tokens fill the tile
  }
}

constexpr LinearKernels kLinearKernels = {LinearBegin, LinearMultiply, LinearEnd,
                                          kLanes > 1 && config::kFewRows ? LinearFew : nullptr};

#endif  // FOVEA_SRC_LINEAR_LINEAR_INL_
