// SPDX-License-Identifier: Apache-2.0
//
// Few tokens with integer products: lanes run along the inputs and the weights, which are read once.

using FewInputs = decltype(dot::LoadFewX(nullptr));
constexpr size_t kFewStep = dot::FewReads(1);
static_assert(::fovea::kFewReads % kFewStep == 0, "rows of codes have room for whole steps");
// A sum over all lanes is exact for at most this many inputs: sums that are floats have a limit, integers have none.
constexpr size_t kMostFewInputs = sizeof(dot::FewCode) == 4 ? 1024 : SIZE_MAX / 2;
// Weights are prefetched this many rows before they are needed, in the order of addresses. With 8 rows 28 MB of weights
// take 1.2 times as long (AVX-512).
constexpr size_t kFewRowsAhead = 32;
// If there are more tokens than MultiplyFew takes at a time, it takes only this many outputs at a time, so that their
// weights stay in a cache.
constexpr uint32_t kFewOutputsAtOnce = 32;

FOVEA_INLINE dot::FewCode* FewCodesOf(const I8TokenTile& t, size_t token) {
  return static_cast<dot::FewCode*>(t.x) + token * ::fovea::round_up(t.in_dim, ::fovea::kFewReads);
}

// Codes of 0 follow the codes of a row, up to `padded` codes.
template <class Row, class Fit>
FOVEA_INLINE void PutFewCodes(const Row& row, const Fit& fit, size_t dim, size_t padded, dot::FewCode* to) {
  for (size_t d = 0; d < padded; d += kLanes) {
    const size_t n = d >= dim ? 0 : dim - d < kLanes ? dim - d : kLanes;
    dot::StoreFewQueries(fit.Biased(row(d, n)), to + d);
  }
}

// One step of kRows outputs: kFewStep inputs, or n of them.
template <bool kPart, int kTokens, uint32_t kRows>
FOVEA_INLINE void AddFewInputs(const dot::FewCode* const (&x)[kTokens], const int8_t* const (&at)[kRows], size_t d,
                               size_t n, dot::Sum (&sums)[kTokens][kRows]) {
  FewInputs w[kRows];
  FOVEA_UNROLL(8)
  for (uint32_t k = 0; k < kRows; ++k) {
    w[k] = kPart ? dot::LoadFewPart<1>(at[k] + d, n) : dot::LoadFew<1>(at[k] + d);
  }
  FOVEA_UNROLL(4)
  for (int r = 0; r < kTokens; ++r) {
    const FewInputs v = dot::LoadFewX(x[r] + d);
    FOVEA_UNROLL(8)
    for (uint32_t k = 0; k < kRows; ++k) sums[r][k] = dot::FewScoreDot(v, w[k], sums[r][k]);
  }
}

// totals[token] += the products of the inputs [begin, end) with kLanes outputs. Outputs past the last repeat it.
template <int kTokens>
FOVEA_INLINE void AddFewOutputs(const dot::FewCode* const (&x)[kTokens], const I8Rows& w, uint32_t output, size_t begin,
                                size_t end, VI (&totals)[kTokens]) {
  constexpr uint32_t kHalf = hn::kRegisters / 2 / kTokens, kMost = kHalf < 8 ? kHalf : 8;
  constexpr uint32_t kRows = kMost < kLanes ? kMost : kLanes;
  constexpr size_t kBytes = kRows * kFewStep;  // of weights, a step
  const size_t whole = begin + (end - begin) / kFewStep * kFewStep;
  const int8_t* const weights = static_cast<const int8_t*>(w.weights.data);
  const ptrdiff_t stride = w.weights.row_stride;
  dot::Sum starts[kTokens], products[kTokens][kLanes];
  FOVEA_UNROLL(4)
  for (int r = 0; r < kTokens; ++r) {
    starts[r] = dot::FewStart(x[r] + begin, (end - begin + kFewStep - 1) / kFewStep);
  }
  FOVEA_UNROLL(8)
  for (uint32_t g = 0; g < kLanes; g += kRows) {
    const int8_t* at[kRows];
    dot::Sum sums[kTokens][kRows];
    FOVEA_UNROLL(8)
    for (uint32_t k = 0; k < kRows; ++k) {
      const uint32_t row = output + g + k < w.outputs ? output + g + k : w.outputs - 1;
      at[k] = weights + ptrdiff_t(row) * stride;
      FOVEA_UNROLL(4)
      for (int r = 0; r < kTokens; ++r) sums[r][k] = starts[r];
    }
    uintptr_t ahead = reinterpret_cast<uintptr_t>(weights) + begin * kRows +
                      (output + g + kFewRowsAhead) * uintptr_t(stride);  // may be past the end
    for (size_t d = begin; d < whole; d += kFewStep, ahead += kBytes) {
      FOVEA_UNROLL(8)
      for (size_t i = 0; kLanes > 4 && i < kBytes; i += kCacheLine) {
        __builtin_prefetch(reinterpret_cast<const void*>(ahead + i), 0, 2);
      }
      AddFewInputs<false>(x, at, d, kFewStep, sums);
    }
    if (whole < end) AddFewInputs<true>(x, at, whole, end - whole, sums);
    FOVEA_UNROLL(4)
    for (int r = 0; r < kTokens; ++r) {
      FOVEA_UNROLL(8)
      for (uint32_t k = 0; k < kRows; ++k) products[r][g + k] = sums[r][k];
    }
  }
  FOVEA_UNROLL(4)
  for (int r = 0; r < kTokens; ++r) totals[r] = hn::Add(totals[r], dot::IntsOfRows<1>(products[r]));
}

// Outputs [begin, end) of kTokens tokens. If fewer are left, the last token is computed again, but not stored.
template <int kTokens>
FOVEA_TEMPLATE void FewOutputs(const I8TokenTile& t, const I8Rows& w, size_t token, uint32_t begin, uint32_t end) {
  const uint32_t live = t.live - token < kTokens ? uint32_t(t.live - token) : kTokens;
  const dot::FewCode* x[kTokens];
  for (uint32_t r = 0; r < kTokens; ++r) x[r] = FewCodesOf(t, token + (r < live ? r : live - 1));
  for (uint32_t j = begin; j < end; j += kLanes) {
    const uint32_t n = end - j < kLanes ? end - j : kLanes;
    float starts[kLanes] = {};
    for (uint32_t i = 0; i < n; ++i) {
      const int8_t* const row = static_cast<const int8_t*>(w.weights.data) + ptrdiff_t(j + i) * w.weights.row_stride;
      const int32_t start = StartOf(w, j + i, w.x_zero, w.x_zero == 0 ? 0 : dot::SumOfRow(row, t.in_dim));
      __builtin_memcpy(starts + i, &start, sizeof start);
    }
    VI totals[kTokens];
    FOVEA_UNROLL(4)
    for (VI& total : totals) total = LoadInts(starts);
    for (size_t d = 0; d < t.in_dim; d += kMostFewInputs) {
      AddFewOutputs(x, w, j, d, t.in_dim - d < kMostFewInputs ? t.in_dim : d + kMostFewInputs, totals);
    }
    const VF scale = FiniteOrNaN(hn::LoadN(kF, RowScales(w) + j, n));
    FOVEA_UNROLL(4)
    for (uint32_t r = 0; r < kTokens; ++r) {
      if (r >= live) continue;
      VF y = hn::Mul(hn::Mul(hn::ConvertTo(kF, totals[r]), hn::Set(kF, t.scales[token + r])), scale);
      if (w.weights.bias) y = hn::Add(y, hn::LoadN(kF, w.weights.bias + j, n));
      StoreOutputs(w, y, token + r, j, n);
    }
  }
}

#if defined(FOVEA_DOT_FEW_GROUPS)
#include "linear/i8_few_groups.inl"
#endif

#if defined(FOVEA_DOT_FEW_GROUPS)
FOVEA_INLINE bool FewHaveGroupScales(const I8TokenTile& t) { return HasGroupScales(t); }
#else
FOVEA_INLINE bool FewHaveGroupScales(const I8TokenTile&) { return false; }
#endif

FOVEA_KERNEL void I8FewBegin(const I8TokenTile& t, const I8Tokens& tokens) {
  const size_t padded = ::fovea::round_up(t.in_dim, ::fovea::kFewReads);
  const bool in_groups = FewHaveGroupScales(t);
  for (size_t token = 0; token < t.live; ++token) {
    if (tokens.in.dtype == FOVEA_I8) {
      const CodeRow row = CodeRow::Of(RowOf(tokens, token));
      t.scales[token] = GivenScale(tokens, token);
      if (in_groups) t.group_scales[token] = 1.0f;
      PutFewCodes(row, CodesAsTheyAre{}, t.in_dim, padded, FewCodesOf(t, token));
    } else {
      const float* const row = reinterpret_cast<const float*>(RowOf(tokens, token));
      const size_t step = in_groups ? kScaleGroup : size_t(t.in_dim);
      float* scale = in_groups ? t.group_scales + token * t.scaled_groups : t.scales + token;
      if (in_groups) t.scales[token] = 1.0f;
      for (size_t d = 0; d < t.in_dim; d += step, ++scale) {
        const size_t left = t.in_dim - d, n = left < step ? left : step;
        const FloatRow part = {row + d};
        const ScaleI8 fit = ScaleI8::Of(part, n);
        hn::StoreN(fit.scale, kF, scale, 1);
        PutFewCodes(part, fit, n, left <= step ? padded - d : n, FewCodesOf(t, token) + d);
      }
    }
#if defined(FOVEA_DOT_FEW_GROUPS)
    if (t.group_sums) PutGroupSums(t, token, tokens.in.zero);
#endif
  }
}

template <bool kGroups, int kTokens>
FOVEA_INLINE void FewOutputsAs(const I8TokenTile& t, const I8Rows& w, size_t token, uint32_t begin, uint32_t end) {
#if defined(FOVEA_DOT_FEW_GROUPS)
  if constexpr (kGroups) FewOutputsOfGroups<kTokens>(t, w, token, begin, end);
#endif
  if constexpr (!kGroups) FewOutputs<kTokens>(t, w, token, begin, end);
}

template <bool kGroups>
FOVEA_INLINE void MultiplyFew(const I8TokenTile& t, const I8Rows& w) {
  constexpr uint32_t kMost = kLanes > 4 ? 4 : 2;
  const uint32_t step = t.live > kMost ? kFewOutputsAtOnce : w.outputs;
  for (uint32_t j = 0; j < w.outputs; j += step) {
    const uint32_t end = w.outputs - j < step ? w.outputs : j + step;
    for (uint32_t token = 0; token < t.live; token += kMost) {
      const uint32_t left = t.live - token;
      if (left == 1) {
        FewOutputsAs<kGroups, 1>(t, w, token, j, end);
      } else if (left == 2 || kMost == 2) {
        FewOutputsAs<kGroups, 2>(t, w, token, j, end);
      } else {
        FewOutputsAs<kGroups, int(kMost)>(t, w, token, j, end);
      }
    }
  }
}

FOVEA_KERNEL void I8FewMultiply(const I8TokenTile& t, const I8Rows& w) { MultiplyFew<false>(t, w); }
#if defined(FOVEA_DOT_FEW_GROUPS)
FOVEA_KERNEL void I8FewMultiplyGroups(const I8TokenTile& t, const I8Rows& w) { MultiplyFew<true>(t, w); }
#endif
