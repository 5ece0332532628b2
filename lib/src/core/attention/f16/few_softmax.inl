// SPDX-License-Identifier: Apache-2.0
//
// What the few-rows kernels with halves share: scores, the softmax between the two products, and the arrays of these:
//   queries [row][head_dim rounded up to kProductLanes] halves, keys as they are stored -> scores
//   weights [row][kKeyTile] halves, after the scores, values as they are stored         -> sums of values
#ifndef FOVEA_SRC_ATTENTION_F16_FEW_SOFTMAX_INL_
#define FOVEA_SRC_ATTENTION_F16_FEW_SOFTMAX_INL_

#include "core/attention/f16/elements.inl"
#include "core/attention/few_block.inl"
#include "core/attention/few_kernel.inl"
#include "ground/math/half_lanes.inl"
#include "ground/math/math.inl"

template <class Half>
struct HalfFewSoftmax : HalfRows<Half> {
  using Element = typename Half::Element;
  using Rows = HalfRows<Half>;
  static constexpr size_t kProductLanes = Half::kLanes;
  static constexpr int kPieces = Half::kPieces;
  static constexpr uint32_t kMostFewRows = ::fovea::kFewHalfRows;
  static constexpr uint32_t kStrands = 4;  // of a sum of weights: see SoftmaxTile

  FOVEA_INLINE size_t PaddedQuery(const QueryTile& t) { return round_up(t.head_dim, kProductLanes); }
  template <int kRows>
  FOVEA_INLINE Element* FewWeightElements(const QueryTile& t) {
    return reinterpret_cast<Element*>(t.s + kRows * kKeyTile);
  }

  // Processors prefetch rows of halves fast enough.
  template <int kRows>
  FOVEA_INLINE bool PrefetchesAhead(const QueryTile&, const KeyTile&) {
    return false;
  }

  FOVEA_SECTION_OF(Half) FOVEA_KERNEL void FewBegin(const QueryTile& t, const TypedRows& q, float scale) {
    const size_t rows = t.columns / t.row_lanes;
    const RowArray<char> queries = BytesOf(q);
    for (size_t r = 0; r < rows; ++r) {
      char* const row = queries.data + RowOffset(t, r, queries.token_stride, queries.head_stride);
      VF largest[1], powers;
      FindLargest<1>({row}, q.dtype, t.head_dim, largest);
      float lanes[kLanes];
      hn::StoreU(largest[0], kF, lanes);
      for (size_t i = 1; i < kLanes; ++i) lanes[0] = lanes[i] > lanes[0] ? lanes[i] : lanes[0];
      const VF scales = FactorsOfQueries(hn::Set(kF, lanes[0]), scale, &powers);
      hn::StoreU(powers, kF, lanes);
      query_scales(t)[r * t.row_lanes] = lanes[0];
      Element* const to = Rows::QueryElements(t) + r * PaddedQuery(t);
      for (size_t d = 0; d < t.head_dim; d += kLanes) {
        Half::Store(hn::Mul(LoadPart(q.dtype, row, d, LanesBefore(d, t.head_dim)), scales), to + d);
      }
    }
    BeginSoftmax(t, 0);
    ZeroVectors(t.o, rows * (PaddedToLanes(t.value_dim) / kLanes));
  }

  // Stores the scores of kProductLanes keys from key j on.
  template <int kRows>
  FOVEA_INLINE void StoreScores(const QueryTile& t, const KeyTile& keys, uint32_t j,
                                const VF (&scores)[kRows][kPieces]) {
    constexpr uint32_t kKeys = FewBlock<kRows>::kKeys;
    float floats[kRows][kProductLanes];
    FOVEA_EACH(r, kRows) {
      FOVEA_EACH(i, kPieces) {
        hn::StoreU(hn::MulSet(scores[r][i], query_scales(t)[r * kKeys]), kF, floats[r] + i * kLanes);
      }
    }
    for (uint32_t k = 0; k < kProductLanes && j + k < keys.end; k += kKeys) {
      float lanes[kLanes];
      FOVEA_EACH(r, kRows) __builtin_memcpy(lanes + r * kKeys, floats[r] + k, kKeys * sizeof(float));
      StoreFewScores<kRows>(t, keys, j + k, hn::LoadU(kF, lanes));
    }
  }

  template <bool kNear, int kRows>
  FOVEA_INLINE void FewScoresOfKeys(const QueryTile& t, const KeyTile& keys) {
    using Lanes = HalfLanes<Half>;
    for (uint32_t j = keys.begin; j < keys.end; j += kProductLanes) {
      VF scores[kRows][kPieces];
      const auto rows = Lanes::template Rows<kNear>::Of(Rows::RowOf(keys.keys, j), keys.keys.stride, keys.end - j - 1);
      Lanes::template Multiply<kRows>(rows, Rows::QueryElements(t), PaddedQuery(t), t.head_dim, scores);
      StoreScores<kRows>(t, keys, j, scores);
    }
  }
  template <int kRows, bool>
  FOVEA_TEMPLATE void FewScores(const QueryTile& t, const KeyTile& keys) {
    if (HalfLanes<Half>::AreNear(keys.keys.stride)) {
      FewScoresOfKeys<true, kRows>(t, keys);
    } else if constexpr (HalfLanes<Half>::kMayBeFar) {
      FewScoresOfKeys<false, kRows>(t, keys);
    }
  }

  // Where FewSoftmax leaves the weights that are kept.
  FOVEA_INLINE const float* WeightsToKeep(const QueryTile& t, const KeyTile&) { return t.s; }

  // n vectors of scores from s on become weights as halves, and with `keeps` as floats in their place, too. Their sums
  // are added to the strands.
  template <int kRows, int n, int kVectors>
  FOVEA_INLINE void FewWeights(float* s, VF shift, VF hidden_weight, bool keeps, Element* weights,
                               VF (&strands)[kVectors]) {
    constexpr uint32_t kKeys = FewBlock<kRows>::kKeys;
    MF hidden[n];
    VF p[n];
    FOVEA_EACH(i, n) {
      const VF x = hn::LoadU(kF, s + i * kLanes);
      hidden[i] = hn::Eq(x, hn::Set(kF, -kInfinity));
      p[i] = hn::Sub(x, shift);
    }
    ShortExp2(p);
    FOVEA_UNROLL(4)
    for (int i = 0; i < n; ++i, weights += kKeys) {
      p[i] = hn::IfThenElse(hidden[i], hidden_weight, p[i]);
      strands[i % kVectors] = hn::Add(strands[i % kVectors], p[i]);
      if (keeps) hn::StoreU(p[i], kF, s + i * kLanes);
      if constexpr (kRows == 1) {
        Half::Store(p[i], weights);
      } else {
        Element lanes[kLanes];
        Half::Store(p[i], lanes);
        for (int r = 0; r < kRows; ++r)
          __builtin_memcpy(weights + r * kKeyTile, lanes + r * kKeys, kKeys * sizeof *lanes);
      }
    }
  }

  // Like SoftmaxTile and PackWeights, but row_max, row_sum and rescale hold the same number in all lanes of a row.
  template <int kRows>
  FOVEA_TEMPLATE void FewSoftmax(const QueryTile& t, const KeyTile& keys, bool hides) {
    constexpr uint32_t kKeys = FewBlock<kRows>::kKeys;
    constexpr int kVectors = kStrands / kKeys, kAtOnce = kSmallText ? kVectors : hn::kRegisters > 8 ? 4 : 2;
    float* const s_end = FewPadScores<kRows, kAtOnce * kKeys>(t, keys);
    const VF old_max = hn::LoadU(kF, t.row_max);
    VF max = old_max;
    for (const float* s = t.s; s != s_end; s += kLanes) max = hn::Max(max, hn::LoadU(kF, s));
    max = ReduceRows<kRows, true>(max);
    if (hides) max = MinusInfinityIfLowest(max);
    const VF shift = ShiftOf(max), hidden_weight = hn::Set(kF, hides ? -0.0f : 0.0f);
    VF strands[kVectors];
    SetAll(strands, hn::Zero(kF));
    Element* weights = FewWeightElements<kRows>(t);
    for (float* s = t.s; s != s_end; s += kAtOnce * kLanes, weights += kAtOnce * kKeys) {
      FewWeights<kRows, kAtOnce>(s, shift, hidden_weight, Keeps(keys), weights, strands);
    }
    FOVEA_UNROLL(2)
    for (VF& strand : strands) strand = SumOfNeighbours<kKeys>(strand);
    const VF rescale = Exp2(hn::Sub(old_max, shift));
    hn::StoreU(max, kF, t.row_max);
    hn::StoreU(hn::MulAdd(hn::LoadU(kF, t.row_sum), rescale, SumOfStrands(strands)), kF, t.row_sum);
    hn::StoreU(rescale, kF, t.rescale);
  }
};

#endif  // FOVEA_SRC_ATTENTION_F16_FEW_SOFTMAX_INL_
