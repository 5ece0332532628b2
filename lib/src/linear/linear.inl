// SPDX-License-Identifier: Apache-2.0
//
// A linear layer. Many tokens: a lane is a token, and weights multiply it as keys do queries (block.inl). Few: lanes
// run along the inputs, and one to four tokens read each weight once.

FOVEA_KERNEL void LinearBegin(const TokenTile& t, const float* x, ptrdiff_t stride) {
  for (size_t column = 0; column < t.columns; column += kLanes) {
    const float* rows[kLanes];
    for (size_t i = 0; i < kLanes; ++i) {
      rows[i] = x + ptrdiff_t(column + i < t.live ? column + i : t.live - 1) * stride;
    }
    float* x_t = t.x + column;
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

// Weights are asked for from memory before they are needed, in the order of addresses, by which the processor's own
// prefetcher goes; behind the last ones that reads nothing. With 4 lanes arithmetic takes longer than memory does.
constexpr bool kAsksAhead = kLanes > 4;
constexpr size_t kRowsAhead = 8;  // with few tokens

template <int kVectors>
FOVEA_TEMPLATE void LinearVectors(const TokenTile& t, const WeightRows& w, uint32_t output, uint32_t input,
                                  size_t column) {
  static_assert(kLinearGrain % kBlockOf<kVectors> == 0, "blocks must tile the tile");
  const float* x = t.x + size_t(input) * t.columns + column;
  float* sums = t.sums + size_t(output) * t.columns + column;
  MultiplyRows<kVectors, kAsksAhead>(x, t.columns, w.inputs, w.data, w.stride, w.outputs, input != 0, sums, w.ahead);
}

template <int kMost>
FOVEA_INLINE void LinearColumns(const TokenTile& t, const WeightRows& w, uint32_t output, uint32_t input,
                                size_t column) {
  for (; column + kMost * kLanes <= t.columns; column += kMost * kLanes) {
    LinearVectors<kMost>(t, w, output, input, column);
  }
  if constexpr (kMost > 1) LinearColumns<kPreferSize ? 1 : kMost - 1>(t, w, output, input, column);
}

FOVEA_KERNEL void LinearMultiply(const TokenTile& t, const WeightRows& w, uint32_t output, uint32_t input) {
  LinearColumns<kBlockVectors>(t, w, output, input, 0);
}

FOVEA_KERNEL void LinearEnd(const TokenTile& t, uint32_t outputs, const float* bias, float* y, ptrdiff_t stride) {
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
      }
      hn::StoreTransposed(lanes, rows, live, e, n);
    }
  }
}

// acc[r][k] += the products of token r and row k of the weights from element d on: a vector of them, or a group where
// groups have scales. The sum of one token is multiplied by the scale; for more tokens the weights are.
template <int kTokens, uint32_t kRows, fovea_dtype kType>
FOVEA_INLINE void FewStep(const float* const (&x)[kTokens], const FormatRow<kType> (&weights)[kRows], size_t d,
                          VF (&acc)[kTokens][kRows]) {
  constexpr bool kGroups = format_of(kType).scaled == Scaled::kGroup;
  if constexpr (kGroups && kTokens == 1) {
    FOVEA_UNROLL(8)
    for (uint32_t k = 0; k < kRows; ++k) {
      VF sum = hn::Mul(hn::LoadU(kF, x[0] + d), weights[k].Whole(d));
      FOVEA_UNROLL(8)
      for (size_t i = kLanes; i < kScaleGroup; i += kLanes) {
        sum = hn::MulAdd(hn::LoadU(kF, x[0] + d + i), weights[k].Whole(d + i), sum);
      }
      acc[0][k] = hn::MulAdd(sum, weights[k].Scale(d), acc[0][k]);
    }
  } else if constexpr (kGroups) {
    FOVEA_UNROLL(8)
    for (uint32_t k = 0; k < kRows; ++k) {
      const VF scale = weights[k].Scale(d);
      FOVEA_UNROLL(8)
      for (size_t i = 0; i < kScaleGroup; i += kLanes) {
        const VF w = hn::Mul(weights[k].Whole(d + i), scale);
        FOVEA_UNROLL(4)
        for (int r = 0; r < kTokens; ++r) acc[r][k] = hn::MulAdd(hn::LoadU(kF, x[r] + d + i), w, acc[r][k]);
      }
    }
  } else {
    VF w[kRows];
    FOVEA_UNROLL(8)
    for (uint32_t k = 0; k < kRows; ++k) w[k] = weights[k].Whole(d);
    FOVEA_UNROLL(4)
    for (int r = 0; r < kTokens; ++r) {
      const VF v = hn::LoadU(kF, x[r] + d);
      FOVEA_UNROLL(8)
      for (uint32_t k = 0; k < kRows; ++k) acc[r][k] = hn::MulAdd(v, w[k], acc[r][k]);
    }
  }
}

// The sums of kTokens tokens and as many outputs as fill a vector with them: lane = token * kOutputs + output.
template <int kTokens, fovea_dtype kType>
FOVEA_INLINE VF FewSums(const float* const (&x)[kTokens], const FewTokens& f, uint32_t output) {
  constexpr uint32_t kOutputs = kLanes / kTokens, kMost = kTokens == 1 ? 8 : 4;
  constexpr uint32_t kGroup = kOutputs < kMost ? kOutputs : kMost;  // outputs multiplied at a time
  constexpr size_t kStep = format_of(kType).scaled == Scaled::kGroup ? kScaleGroup : kLanes;
  const size_t whole = f.in_dim / kStep * kStep;
  const size_t row_scales = ::fovea::dense_scale_stride(kType, f.in_dim) * scale_bytes(kType);
  VF products[kLanes];
  FOVEA_UNROLL(4)
  for (uint32_t g = 0; g < kOutputs; g += kGroup) {
    FormatRow<kType> weights[kGroup];
    VF acc[kTokens][kGroup];
    FOVEA_UNROLL(8)
    for (uint32_t k = 0; k < kGroup; ++k) {  // outputs behind the last repeat it
      const uint32_t row = output + g + k < f.out_dim ? output + g + k : f.out_dim - 1;
      const ptrdiff_t bytes = stride_bytes(f.weights.row_stride, unit_bytes(kType), ptrdiff_t(row));
      weights[k] = FormatRow<kType>::Of(static_cast<const char*>(f.weights.data) + bytes,
                                        static_cast<const char*>(f.weights.scales) + row * row_scales);
      FOVEA_UNROLL(4)
      for (int r = 0; r < kTokens; ++r) acc[r][k] = hn::Zero(kF);
    }
    constexpr size_t kBytes = kGroup * kStep * format_of(kType).bits / 8;  // of weights, a step
    const ptrdiff_t next = ptrdiff_t(output + g + kRowsAhead);
    const char* ahead =
        static_cast<const char*>(f.weights.data) + stride_bytes(f.weights.row_stride, unit_bytes(kType), next);
    for (size_t d = 0; d < whole; d += kStep, ahead += kBytes) {
      FOVEA_UNROLL(8)
      for (size_t i = 0; kAsksAhead && i < kBytes; i += kCacheLine) __builtin_prefetch(ahead + i, 0, 2);
      FewStep(x, weights, d, acc);
    }
    for (size_t d = whole; d < f.in_dim; d += kLanes) {
      const size_t n = f.in_dim - d < kLanes ? f.in_dim - d : kLanes;
      FOVEA_UNROLL(4)
      for (int r = 0; r < kTokens; ++r) {
        const VF v = hn::LoadN(kF, x[r] + d, n);
        FOVEA_UNROLL(8)
        for (uint32_t k = 0; k < kGroup; ++k) acc[r][k] = hn::MulAdd(v, LoadAsN(weights[k], d, n), acc[r][k]);
      }
    }
    FOVEA_UNROLL(4)
    for (int r = 0; r < kTokens; ++r) {
      FOVEA_UNROLL(8)
      for (uint32_t k = 0; k < kGroup; ++k) products[r * kOutputs + g + k] = acc[r][k];
    }
  }
  return hn::SumsOfLanes(products);
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
      hn::StoreN(y, kF, f.y + ptrdiff_t(r) * f.y_stride + j, n);
    }
  }
}

template <int kTokens>
FOVEA_INLINE void FewTokensAs(const FewTokens& f) {
  FOVEA_WITH_FORMAT(kServedFormats, f.weights.dtype, FewTokensOf<kTokens, kType>(f));
}

FOVEA_KERNEL void LinearFew(const FewTokens& f) {
  if constexpr (kLanes > 1) {
    if (f.tokens == 1) return FewTokensAs<1>(f);
    if (f.tokens == 2) return FewTokensAs<2>(f);
    if constexpr (kLanes > 4) FewTokensAs<4>(f);  // with 4 lanes, 4 tokens fill the tile
  }
}

constexpr LinearKernels kLinearKernels = {LinearBegin, LinearMultiply, LinearEnd,
                                          kLanes > 1 && config::kFewRows ? LinearFew : nullptr};
