// SPDX-License-Identifier: Apache-2.0
//
// Few tokens with integer products: lanes run along the inputs and the weights, which are read once.
#ifndef FOVEA_SRC_LINEAR_I8_FEW_INL_
#define FOVEA_SRC_LINEAR_I8_FEW_INL_

#include "layers/linear/i8/outputs.inl"

// Weights are prefetched this many rows before they are needed, in the order of addresses. With 8 rows 28 MB of weights
// take 1.2 times as long (AVX-512).
constexpr size_t kFewRowsAhead = 32;
// If there are more tokens than MultiplyFew takes at a time, it takes only this many outputs at a time, so that their
// weights stay in a cache.
constexpr uint32_t kFewOutputsAtOnce = 32;

template <class Dot>
struct FewProducts {
  using FewCode = typename Dot::FewCode;
  using Sum = typename Dot::Sum;
  using Inputs = decltype(Dot::LoadFewX(nullptr));
  static constexpr size_t kStep = Dot::FewReads(1);
  static_assert(::fovea::kFewReads % kStep == 0, "rows of codes have room for whole steps");
  // A sum over all lanes is exact for at most this many inputs: sums that are floats have a limit, integers have none.
  static constexpr size_t kMostInputs = sizeof(FewCode) == 4 ? 1024 : SIZE_MAX / 2;

  FOVEA_INLINE FewCode* CodesOf(const I8TokenTile& t, size_t token) {
    return static_cast<FewCode*>(t.x) + token * ::fovea::round_up(t.in_dim, ::fovea::kFewReads);
  }

  // Codes of 0 follow the codes of a row, up to `padded` codes.
  template <class Row, class Fit>
  FOVEA_INLINE void PutCodes(const Row& row, const Fit& fit, size_t dim, size_t padded, FewCode* to) {
    for (size_t d = 0; d < padded; d += kLanes) {
      const size_t n = d >= dim ? 0 : dim - d < kLanes ? dim - d : kLanes;
      Dot::StoreFewQueries(fit.Biased(row(d, n)), to + d);
    }
  }

  // One step of kRows outputs: kStep inputs, or n of them.
  template <bool kPart, int kTokens, uint32_t kRows>
  FOVEA_INLINE void AddInputs(const FewCode* const (&x)[kTokens], const int8_t* const (&at)[kRows], size_t d, size_t n,
                              Sum (&sums)[kTokens][kRows]) {
    Inputs w[kRows];
    FOVEA_EACH(k, kRows) {
      w[k] = kPart ? Dot::template LoadFewPart<1>(at[k] + d, n) : Dot::template LoadFew<1>(at[k] + d);
    }
    FOVEA_EACH(r, kTokens) {
      const Inputs v = Dot::LoadFewX(x[r] + d);
      FOVEA_EACH(k, kRows) sums[r][k] = Dot::FewScoreDot(v, w[k], sums[r][k]);
    }
  }

  // totals[token] += the products of the inputs [begin, end) with kLanes outputs. Outputs past the last repeat it.
  template <int kTokens>
  FOVEA_INLINE void AddOutputs(const FewCode* const (&x)[kTokens], const I8Rows& w, uint32_t output, size_t begin,
                               size_t end, VI (&totals)[kTokens]) {
    constexpr uint32_t kHalf = hn::kRegisters / 2 / kTokens, kMost = kHalf < 8 ? kHalf : 8;
    constexpr uint32_t kRows = kMost < kLanes ? kMost : kLanes;
    const size_t whole = begin + (end - begin) / kStep * kStep;
    const int8_t* const weights = static_cast<const int8_t*>(w.weights.data);
    const ptrdiff_t stride = w.weights.row_stride;
    Sum starts[kTokens], products[kTokens][kLanes];
    FOVEA_EACH(r, kTokens) {
      starts[r] = Dot::FewStart(x[r] + begin, (end - begin + kStep - 1) / kStep);
    }
    FOVEA_UNROLL(8)
    for (uint32_t g = 0; g < kLanes; g += kRows) {
      const int8_t* at[kRows];
      Sum sums[kTokens][kRows];
      FOVEA_EACH(k, kRows) {
        const uint32_t row = output + g + k < w.outputs ? output + g + k : w.outputs - 1;
        at[k] = weights + ptrdiff_t(row) * stride;
        FOVEA_EACH(r, kTokens) sums[r][k] = starts[r];
      }
      Ahead ahead = Ahead::From(weights, begin * kRows + (output + g + kFewRowsAhead) * uintptr_t(stride));
      for (size_t d = begin; d < whole; d += kStep) {
        ahead.Next<kRows * kStep>();
        AddInputs<false>(x, at, d, kStep, sums);
      }
      if (whole < end) AddInputs<true>(x, at, whole, end - whole, sums);
      FOVEA_EACH(r, kTokens) {
        FOVEA_EACH(k, kRows) products[r][g + k] = sums[r][k];
      }
    }
    FOVEA_EACH(r, kTokens) totals[r] = hn::Add(totals[r], Dot::template IntsOfRows<1>(products[r]));
  }

  // Outputs [begin, end) of kTokens tokens. If fewer are left, the last token is computed again, but not stored.
  template <int kTokens>
  FOVEA_TEMPLATE void Outputs(const I8TokenTile& t, const I8Rows& w, size_t token, uint32_t begin, uint32_t end) {
    const uint32_t live = t.live - token < kTokens ? uint32_t(t.live - token) : kTokens;
    const FewCode* x[kTokens];
    for (uint32_t r = 0; r < kTokens; ++r) x[r] = CodesOf(t, token + (r < live ? r : live - 1));
    for (uint32_t j = begin; j < end; j += kLanes) {
      const uint32_t n = end - j < kLanes ? end - j : kLanes;
      float starts[kLanes] = {};
      for (uint32_t i = 0; i < n; ++i) {
        const int8_t* const row = static_cast<const int8_t*>(w.weights.data) + ptrdiff_t(j + i) * w.weights.row_stride;
        const int32_t start = StartOf(w, j + i, w.x_zero_point, w.x_zero_point == 0 ? 0 : Dot::SumOfRow(row, t.in_dim));
        __builtin_memcpy(starts + i, &start, sizeof start);
      }
      VI totals[kTokens];
      SetAll(totals, LoadInts(starts));
      for (size_t d = 0; d < t.in_dim; d += kMostInputs) {
        AddOutputs(x, w, j, d, t.in_dim - d < kMostInputs ? t.in_dim : d + kMostInputs, totals);
      }
      const VF scale = FiniteOrNaN(hn::LoadN(kF, RowScalesOf(w) + j, n));
      FOVEA_EACH(r, uint32_t{kTokens}) {
        if (r >= live) continue;
        VF y = hn::Mul(hn::Mul(hn::ConvertTo(kF, totals[r]), hn::Set(kF, t.scales[token + r])), scale);
        if (w.weights.bias) y = hn::Add(y, hn::LoadN(kF, w.weights.bias + j, n));
        StoreOutputs(w, y, token + r, j, n);
      }
    }
  }
};

#endif  // FOVEA_SRC_LINEAR_I8_FEW_INL_
