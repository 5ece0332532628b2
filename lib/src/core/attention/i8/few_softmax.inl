// SPDX-License-Identifier: Apache-2.0
//
// The softmax of the few-rows kernel with integer codes: the same numbers as those of softmax.inl, and the same bits.
#ifndef FOVEA_SRC_ATTENTION_I8_FEW_SOFTMAX_INL_
#define FOVEA_SRC_ATTENTION_I8_FEW_SOFTMAX_INL_

#include "core/attention/few_block.inl"
#include "core/attention/i8/softmax.inl"

// Where a tile of few rows has codes:
//   queries [step][row][reads], a step of a key repeated for each row; weights [row][kKeyTile], after the scores
template <class Dot>
struct I8FewCodes {
  using FewCode = typename Dot::FewCode;
  using FewWeight = typename Dot::FewWeight;
  FOVEA_INLINE FewCode* FewQueryCodes(const QueryTile& t) { return static_cast<FewCode*>(t.q); }
  template <int kRows>
  FOVEA_INLINE FewWeight* FewWeightCodes(const QueryTile& t) {
    return reinterpret_cast<FewWeight*>(t.s + kRows * kKeyTile);
  }
};

template <class Dot>
struct I8FewSoftmax {
  using Few = I8FewCodes<Dot>;
  using FewWeight = typename Dot::FewWeight;
  static constexpr uint32_t kStrands = 16;  // of a sum of weights, see SoftmaxTile
  // Whether an instruction has words for the softmax of a single row.
  template <int kRows>
  static constexpr bool kWeighsRow = kRows == 1 && Dot::kWeighsRow && !kSmallText;

  // NaN for the rows that see a value whose scale is not finite, else 0. Keys past the end may have been brought for
  // other tiles.
  template <int kRows>
  FOVEA_CALLED_TEMPLATE VF NanOfRows(const QueryTile& t, const KeyTile& keys, bool hides) {
    VF nan = hn::Zero(kF);
    for (uint32_t j = keys.begin; j < keys.end; j += FewBlock<kRows>::kKeys) {
      const VF x = hn::LoadU(kF, BlockScores<kRows>(t, keys, j)),
               each = Dot::template LoadForEachRow<kRows>(keys.numbers().value_nan + j);
      const MF hidden =
          hides ? hn::Eq(x, hn::Set(kF, -kInfinity)) : hn::Le(hn::Set(kF, float(keys.end - j)), KeyOffsets<kRows>());
      nan = hn::Add(nan, hn::IfThenZeroElse(hidden, each));
    }
    return ReduceRows<kRows, false>(nan);
  }

  // The weights from t.s up to s_end, times the scales of their values, become codes. `top` is the largest of them.
  template <int kRows>
  FOVEA_INLINE void FewPackWeights(const QueryTile& t, const KeyTile& keys, const float* s_end, VF top) {
    constexpr uint32_t kKeys = FewBlock<kRows>::kKeys;
    const VF inverse = hn::Div(hn::Set(kF, 255.0f), top), bias = hn::Set(kF, kRoundingBias);
    FewWeight* codes = Few::template FewWeightCodes<kRows>(t);
    VF sum = hn::Zero(kF);
    for (const float* s = t.s; s != s_end; s += kLanes, codes += kKeys) {
      const VF biased = hn::Add(hn::Mul(hn::LoadU(kF, s), inverse), bias);
      sum = hn::Add(sum, hn::Sub(biased, bias));
      if constexpr (kRows == 1) {
        Dot::StoreFewWeights(biased, codes);
        continue;
      }
      FewWeight lanes[kLanes];
      Dot::StoreFewWeights(biased, lanes);
      FOVEA_EACH(r, kRows) __builtin_memcpy(codes + r * kKeyTile, lanes + r * kKeys, kKeys * sizeof *codes);
    }
    if (!HasZero(keys)) return;
    hn::StoreU(hn::MulSet(ReduceRows<kRows, false>(sum), keys.numbers().value_zero_point), kF, zero_sums(t));
  }

  // Where FewSoftmax leaves the weights that are kept: those in t.s are multiplied by the scales of their values.
  FOVEA_INLINE float* WeightsToKeep(const QueryTile&, const KeyTile& keys) { return *keys.kept + kKeptKeysFloats; }

  // Adds a vector of weights to its strand, and stores them times the scales of their values in the place of the
  // scores. Lanes past the end have no scales, but they are hidden.
  template <int kRows, bool kHides>
  FOVEA_INLINE void TakeWeights(const QueryTile& t, const KeyTile& keys, VF p, float* at, const float* scale,
                                VF& strand, VF& top) {
    const MF hidden = hn::Eq(hn::LoadU(kF, at), hn::Set(kF, -kInfinity));
    const VF seen = kHides ? hn::IfThenZeroElse(hidden, p) : p;
    strand = hn::Add(strand, seen);
    if (kHides && Keeps(keys)) hn::StoreU(seen, kF, WeightsToKeep(t, keys) + (at - t.s));
    const VF scaled = hn::Mul(p, Dot::template LoadForEachRow<kRows>(scale)),
             weight = kHides ? hn::IfThenZeroElse(hidden, scaled) : scaled;
    top = hn::Max(top, weight);
    hn::StoreU(weight, kF, at);
  }

  // The softmax of a row alone by words for that. False if the key tile has hidden keys, weights that are kept, or a
  // rest of a strand: it is left to FewSoftmax.
  FOVEA_SECTION_OF(Dot) FOVEA_CALLED bool WeighRow(const QueryTile& t, const KeyTile& keys, bool hides) {
    const uint32_t count = keys.end - keys.begin;
    if (hides || count % kStrands != 0 || Keeps(keys) || HasZero(keys) || keys.numbers().any_nan) return false;
    const VF old_max = hn::LoadU(kF, t.row_max);
    const VF max = hn::Set(kF, Dot::LargestOf(t.s, count / kStrands, Dot::FirstLane(old_max))), shift = ShiftOf(max);
    float top = kLeastTop;
    const float* const scale = keys.numbers().value_scale + keys.begin;
    const float total = Dot::WeighRow(t.s, count / kStrands, scale, Dot::FirstLane(shift), top);
    const VF rescale = Rescale(hn::Sub(old_max, shift));
    hn::StoreU(max, kF, t.row_max);
    hn::StoreU(hn::MulAdd(hn::LoadU(kF, t.row_sum), rescale, hn::Set(kF, total)), kF, t.row_sum);
    hn::StoreU(rescale, kF, t.rescale);
    hn::StoreU(hn::Set(kF, top * (1.0f / 255)), kF, value_factors(t));
    Dot::StoreRowWeights(t.s, count / kStrands, 255.0f / top, Few::template FewWeightCodes<1>(t));
    return true;
  }

  // With few registers one strand after the other is summed. Without kHides no score is hidden, and none is kept.
  static constexpr bool kStrandsApart = hn::kRegisters < 16 && !kSmallText;
  template <int kRows, bool kHides>
  FOVEA_INLINE VF FewWeighStrand(const QueryTile& t, const KeyTile& keys, float* s, const float* s_end,
                                 const float* scale, VF shift, VF& top) {
    VF strand = hn::Zero(kF);
    for (; s < s_end; s += kStrands * kRows, scale += kStrands) {
      VF p[1] = {hn::Sub(hn::LoadU(kF, s), shift)};
      ShortExp2(p);
      TakeWeights<kRows, kHides>(t, keys, p[0], s, scale, strand, top);
    }
    return strand;
  }

  // All strands: turns the scores from t.s up to s_end into weights.
  template <int kRows, int kVectors>
  FOVEA_INLINE void FewWeighScores(const QueryTile& t, const KeyTile& keys, const float* s_end, VF shift, bool hides,
                                   VF (&strands)[kVectors], VF& top) {
    constexpr uint32_t kKeys = FewBlock<kRows>::kKeys;
    constexpr int kAtOnce = hn::kRegisters < 16 ? 1 : kVectors;
    const float* scale = keys.numbers().value_scale + keys.begin;
    if constexpr (kStrandsApart && kWeighsRow<kRows>) {  // WeighRow takes tiles in which nothing is hidden or kept
      for (int v = 0; v < kVectors; ++v, scale += kKeys) {
        strands[v] = FewWeighStrand<kRows, true>(t, keys, t.s + v * kLanes, s_end, scale, shift, top);
      }
    } else if constexpr (kStrandsApart) {
      const bool hidden = hides || (keys.end - keys.begin) % kStrands != 0 || Keeps(keys);
      FOVEA_EACH(v, kVectors) {
        float* const s = t.s + v * kLanes;
        strands[v] = hidden ? FewWeighStrand<kRows, true>(t, keys, s, s_end, scale + v * kKeys, shift, top)
                            : FewWeighStrand<kRows, false>(t, keys, s, s_end, scale + v * kKeys, shift, top);
      }
    } else {
      SetAll(strands, hn::Zero(kF));
      for (float* s = t.s; s != s_end; s += kVectors * kLanes, scale += kStrands) {
        FOVEA_UNROLL_FOR_SPEED(8)
        for (int first = 0; first < kVectors; first += kAtOnce) {
          float* const at = s + first * kLanes;
          VF p[kAtOnce];
          FOVEA_EACH(v, kAtOnce) p[v] = hn::Sub(hn::LoadU(kF, at + v * kLanes), shift);
          ShortExp2(p);
          FOVEA_EACH(v, kAtOnce) {
            TakeWeights<kRows, true>(t, keys, p[v], at + v * kLanes, scale + (first + v) * kKeys, strands[first + v],
                                     top);
          }
        }
      }
    }
  }

  // Like SoftmaxTile and PackWeights, but row_max, row_sum, rescale and value_factors hold the same number in all lanes
  // of a row.
  template <int kRows>
  FOVEA_TEMPLATE void FewSoftmax(const QueryTile& t, const KeyTile& keys, bool hides) {
    if constexpr (kWeighsRow<kRows>) {
      if (WeighRow(t, keys, hides)) return;
    }
    constexpr uint32_t kKeys = FewBlock<kRows>::kKeys;
    constexpr int kVectors = kStrands / kKeys;  // of scores of kStrands keys
    const VF nan = keys.numbers().any_nan ? NanOfRows<kRows>(t, keys, hides) : hn::Zero(kF);

    float* const s_end = FewPadScores<kRows, kStrands>(t, keys);
    const VF old_max = hn::LoadU(kF, t.row_max);
    VF max = old_max;
    for (const float* s = t.s; s != s_end; s += kLanes) max = hn::Max(max, hn::LoadU(kF, s));
    max = ReduceRows<kRows, true>(max);
    if (hides) max = MinusInfinityIfLowest(max);
    const VF shift = ShiftOf(max);

    VF strands[kVectors], top = hn::Set(kF, kLeastTop);
    FewWeighScores<kRows>(t, keys, s_end, shift, hides, strands, top);
    FOVEA_UNROLL(8)
    for (VF& strand : strands) strand = SumOfNeighbours<kKeys>(strand);
    top = ReduceRows<kRows, true>(top);
    const VF rescale = Rescale(hn::Sub(old_max, shift));
    hn::StoreU(max, kF, t.row_max);
    hn::StoreU(hn::MulAdd(hn::LoadU(kF, t.row_sum), rescale, SumOfStrands(strands)), kF, t.row_sum);
    hn::StoreU(rescale, kF, t.rescale);
    hn::StoreU(hn::Add(hn::Mul(top, hn::Set(kF, 1.0f / 255)), nan), kF, value_factors(t));
    FewPackWeights<kRows>(t, keys, s_end, top);
  }
};

#endif  // FOVEA_SRC_ATTENTION_I8_FEW_SOFTMAX_INL_
