// SPDX-License-Identifier: Apache-2.0
//
// A kernel whose lanes are rows: what surrounds its products, which are Parts of it.
#ifndef FOVEA_SRC_ATTENTION_TILE_KERNEL_INL_
#define FOVEA_SRC_ATTENTION_TILE_KERNEL_INL_

#include "core/attention/steps/called.inl"

using BringRows = void(const RowsToBring&);

// Parts has these, for kVectors vectors of rows from `column` on where they are templates:
//   kProductLanes, kBlockVectors  rows in a vector of the products: kLanes, or with vectors of halves twice as many;
//                                 and the most vectors in a tile
//   Begin                         the queries; the running softmax starts
//   Scores<kVectors>              the first product
//   WeighBlock<kVectors>          turns scores into weights at once, where no step needs them. Whether it did; else
//   ScaleScores<kVectors>         multiplies scores to those in base 2
//   SoftmaxTile, PackWeights      for one vector of rows: scores become weights, and these what the second product reads
//   Values<kHides, kVectors>      the second product
//   TakeOutZeros<kVectors>        subtracts from outputs what a zero point of values added
template <class Parts>
struct TileKernel {
  static constexpr size_t kProductLanes = Parts::kProductLanes;
  static constexpr int kBlockVectors = Parts::kBlockVectors;

  FOVEA_INLINE bool Does(const KeyTile& keys, AttendPart part) {
    return !config::kStaged || kLanes > 1 || (keys.parts & part) != 0;
  }

  // Turns scores into weights, for kVectors vectors of rows from `column` on.
  template <int kVectors>
  FOVEA_INLINE void Weigh(const QueryTile& t, const QueryTile& own, const KeyTile& keys, const ScoreSteps& steps,
                          size_t column, bool hides) {
    const size_t end = column + kVectors * kProductLanes;
    const bool any = AnyStep(keys, steps);
    const bool changes = Drops(steps) || InWeighingPass(steps);
    if (!any && !changes && !Keeps(keys) && Parts::template WeighBlock<kVectors>(own, keys, column, hides)) return;
    Parts::template ScaleScores<kVectors>(own, keys, column);
    for (size_t c = column; c < end; c += kLanes) {
      if (any) kTileSteps.apply(t, keys, steps, FOVEA_SCORES_SOFTMAX, c);
      if (InWeighingPass(steps)) {
        kTileSteps.modify_weights(t, keys, steps, c, hides);
      } else {
        Parts::SoftmaxTile(own, keys, c, hides);
      }
      if (InMeasuringPass(steps)) continue;
      if (Keeps(keys)) (*kTileSteps.keep_weights)(t, keys, t.s, c);
      if (Drops(steps)) kTileSteps.drop_weights(t, keys, steps, c);
      Parts::PackWeights(own, keys, c, changes);
    }
  }

  // One step of the running softmax for kVectors vectors of rows from `column` on (Milakov and Gimelshein, arXiv
  // 1805.02867). `own` is t with constant columns, where these are known. kWhole: the tile has no other vectors.
  template <int kVectors, bool kWhole = false>
  FOVEA_INLINE void AttendStep(const QueryTile& t, const QueryTile& own, const KeyTile& keys, const ScoreSteps& steps,
                               size_t column, bool hides) {
    if (Does(keys, kScorePart)) Parts::template Scores<kVectors>(own, keys, column);
    if (Does(keys, kWeightPart)) Weigh<kVectors>(t, own, keys, steps, column, hides);
    if (!Does(keys, kValuePart) || InMeasuringPass(steps)) return;
    // After calls the compiler may not know it.
    if (kWhole && own.columns != kVectors * kProductLanes) __builtin_unreachable();
    // If nothing is hidden, no weight is -0.
    if (hides) {
      Parts::template Values<true, kVectors>(own, keys, column);
    } else {
      Parts::template Values<false, kVectors>(own, keys, column);
    }
    Parts::template TakeOutZeros<kVectors>(own, keys, column);
  }

  FOVEA_SECTION_OF(Parts)
  FOVEA_SHARED
      void AttendVector(const QueryTile& t, const KeyTile& keys, const ScoreSteps& steps, size_t column, bool hides) {
    AttendStep<1>(t, t, keys, steps, column, kMayHide && hides);
  }

  template <bool kHides, int kVectors>
  FOVEA_TEMPLATE void AttendVectors(const QueryTile& t, const KeyTile& keys, const ScoreSteps& steps, size_t column) {
    if constexpr (kVectors == 1) {
      AttendVector(t, keys, steps, column, kHides);
    } else {
      AttendStep<kVectors>(t, t, keys, steps, column, kHides);
    }
  }

  // A tile of kVectors vectors at once: the distance between its rows is a constant.
  template <int kVectors>
  FOVEA_TEMPLATE void AttendTile(const QueryTile& t, const KeyTile& keys, const ScoreSteps& steps) {
    QueryTile own = t;
    own.columns = kVectors * kProductLanes;
    AttendStep<kVectors, true>(t, own, keys, steps, 0, false);
  }

  // The same for a tile of up to kMost vectors.
  template <int kMost>
  FOVEA_INLINE void AttendWhole(const QueryTile& t, const KeyTile& keys, const ScoreSteps& steps) {
    if constexpr (kMost == 1) {
      AttendVectors<false, 1>(t, keys, steps, 0);
    } else if (t.columns == kMost * kProductLanes) {
      AttendTile<kMost>(t, keys, steps);
    } else {
      AttendWhole<kMost - 1>(t, keys, steps);
    }
  }

  // AttendVectors over all of a tile, at most kMost vectors at a time.
  template <bool kHides, int kMost>
  FOVEA_INLINE void AttendColumns(const QueryTile& t, const KeyTile& keys, const ScoreSteps& steps, size_t column) {
    for (; column + kMost * kProductLanes <= t.columns; column += kMost * kProductLanes) {
      AttendVectors<kHides, kMost>(t, keys, steps, column);
    }
    if constexpr (kMost > 1) AttendColumns<kHides, kSizeCounts ? 1 : kMost - 1>(t, keys, steps, column);
  }

  FOVEA_SECTION_OF(Parts) FOVEA_KERNEL void Attend(const QueryTile& t, KeyTile& keys, const ScoreSteps& steps) {
    const bool masked = Masked(keys, steps);
    if (keys.edge) {  // one vector of rows at a time wastes least work on hidden keys
      const uint32_t begin = keys.begin, end = keys.end;
      for (size_t column = 0; column < t.columns; column += kProductLanes) {
        if (ClipToRows(t, column, column + kProductLanes - 1, &keys)) {
          if (masked || Drops(steps) || InWeighingPass(steps)) keys.seen = 0;
          if (keys.edge || masked) {
            AttendVectors<true, 1>(t, keys, steps, column);
          } else {
            AttendVectors<false, 1>(t, keys, steps, column);
          }
        }
        keys.begin = begin;
        keys.end = end;
        keys.edge = true;
        keys.seen = 0;
      }
    } else if (masked) {
      AttendColumns<true, kSizeCounts || kBlockVectors == 1 ? 1 : hn::kMaskedVectors>(t, keys, steps, 0);
    } else if constexpr (kSizeCounts || kBlockVectors == 1) {
      AttendColumns<false, kBlockVectors>(t, keys, steps, 0);
    } else {
      AttendWhole<kBlockVectors>(t, keys, steps);
    }
  }

  FOVEA_SECTION_OF(Parts)
  FOVEA_KERNEL void ScoresOut(const QueryTile& t, const KeyTile& keys, const ScoreSteps& steps,
                              fovea_scores_stage stage, const RowArray<float>& scores) {
    for (size_t column = 0; column < t.columns; column += kProductLanes) {
      Parts::template Scores<1>(t, keys, column);
      Parts::template ScaleScores<1>(t, keys, column);
      for (size_t c = column; c < column + kProductLanes; c += kLanes) {
        kTileSteps.store_scores(t, keys, steps, stage, scores, c);
      }
    }
  }

  static constexpr AttentionKernel Kernel(FormatSet formats, BringRows* bring_keys, BringRows* bring_values) {
    return {formats,    &kTileSteps,  Parts::Begin, Attend, config::kScores ? ScoresOut : nullptr,
            bring_keys, bring_values, false};
  }
};

#endif  // FOVEA_SRC_ATTENTION_TILE_KERNEL_INL_
