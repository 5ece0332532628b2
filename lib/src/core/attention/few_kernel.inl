// SPDX-License-Identifier: Apache-2.0
//
// A few-rows kernel: what surrounds its products, which are Parts of it.
#ifndef FOVEA_SRC_ATTENTION_FEW_KERNEL_INL_
#define FOVEA_SRC_ATTENTION_FEW_KERNEL_INL_

#include "core/attention/few_block.inl"
#include "core/attention/tile_kernel.inl"

// Parts has these, for kRows rows where they are templates:
//   kMostFewRows                 the most rows in a tile
//   FewBegin                     the queries; the running softmax starts
//   FewScores<kRows, kPrefetch>  the first product. With kPrefetch it prefetches the values, if PrefetchesAhead<kRows>
//   FewSoftmax<kRows>            scores become weights, of which those that are kept are at WeightsToKeep
//   FewValues<kRows>             the second product
template <class Parts>
struct FewRowsKernel {
  static constexpr uint32_t kMostFewRows = Parts::kMostFewRows;

  // Called where size counts, as the next function is: FewAttendRows then has little stack below the score steps, and
  // FewScoresOut has the same code.
  template <int kRows>
  FOVEA_SHARED_TEMPLATE void FewProducts(const QueryTile& t, const KeyTile& keys) {
    // No prefetch where all keys fit one tile: in such a short call it costs more than it saves.
    const bool prefetch = Parts::template PrefetchesAhead<kRows>(t, keys) && (keys.next_keys || keys.first > 0);
    if (!kSmallText && prefetch) {
      Parts::template FewScores<kRows, true>(t, keys);
    } else {
      Parts::template FewScores<kRows, false>(t, keys);
    }
  }

  template <int kRows>
  FOVEA_SHARED_TEMPLATE void FewWeigh(const QueryTile& t, const KeyTile& keys, bool hides) {
    Parts::template FewSoftmax<kRows>(t, keys, hides);
    if (Keeps(keys)) (*kFewSteps.keep_weights)(t, keys, Parts::WeightsToKeep(t, keys), 0);
    Parts::template FewValues<kRows>(t, keys, hides);
  }

  template <int kRows>
  FOVEA_TEMPLATE void FewAttendRows(const QueryTile& t, const KeyTile& keys, const ScoreSteps& steps) {
    FewProducts<kRows>(t, keys);
    if (AnyStep(keys, steps)) kFewSteps.apply(t, keys, steps, FOVEA_SCORES_SOFTMAX, 0);
    FewWeigh<kRows>(t, keys, Hides(keys, steps));
  }

  FOVEA_SECTION_OF(Parts) FOVEA_KERNEL void FewAttend(const QueryTile& t, KeyTile& keys, const ScoreSteps& steps) {
    const uint32_t rows = t.columns / t.row_lanes;
    if (kMostFewRows == 1 || rows == 1) return FewAttendRows<1>(t, keys, steps);
    if constexpr (kMostFewRows > 1) {
      if (rows == 2) return FewAttendRows<2>(t, keys, steps);
    }
    if constexpr (kMostFewRows > 2) FewAttendRows<4>(t, keys, steps);
  }

  FOVEA_SECTION_OF(Parts)
  FOVEA_KERNEL void FewScoresOut(const QueryTile& t, const KeyTile& keys, const ScoreSteps& steps,
                                 fovea_scores_stage stage, const RowArray<float>& scores) {
    const uint32_t rows = t.columns / t.row_lanes;
    if (kMostFewRows == 1 || rows == 1) FewProducts<1>(t, keys);
    if constexpr (kMostFewRows > 1) {
      if (rows == 2) FewProducts<2>(t, keys);
    }
    if constexpr (kMostFewRows > 2) {
      if (rows == 4) FewProducts<4>(t, keys);
    }
    kFewSteps.store_scores(t, keys, steps, stage, scores, 0);
  }

  static constexpr AttentionKernel Kernel(FormatSet formats, BringRows* bring_keys, BringRows* bring_values) {
    if constexpr (!kHasFewRows) return {};
    return {formats,    &kFewSteps,   Parts::FewBegin,      FewAttend, config::kScores ? FewScoresOut : nullptr,
            bring_keys, bring_values, bring_keys != nullptr};
  }
};

#endif  // FOVEA_SRC_ATTENTION_FEW_KERNEL_INL_
