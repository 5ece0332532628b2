// SPDX-License-Identifier: Apache-2.0
//
// The few-rows kernel of f32 with its function for small calls.
#ifndef FOVEA_SRC_ATTENTION_FEW_WHOLE_INL_
#define FOVEA_SRC_ATTENTION_FEW_WHOLE_INL_

#include "core/attention/few_kernel.inl"
#include "core/attention/few_rows.inl"

// The whole of a small call's head in one function, which keeps no state of a running softmax: one row of queries, and
// keys that fit one key tile. Its bits are those of FewBegin, FewAttend and FewEnd: the sums that these rescale are 0.
struct F32FewWhole : F32FewRows {
  // Whether arrays are plain rows of f32, and nothing but the products and the softmax is asked for.
  FOVEA_INLINE bool IsBareRow(const QueryTile& t, const KeyTile& keys, const ScoreSteps& steps, const TypedRows& q,
                              const RowOutputs& outputs) {
    return t.columns == t.row_lanes && is_f32<kUnscaledFormats>(q.dtype) && keys.keys.dtype == FOVEA_F32 &&
           keys.values.dtype == FOVEA_F32 && is_f32<kUnscaledFormats>(outputs.out.dtype) &&
           !(config::kLse && outputs.lse->data) && !AnyStep(keys, steps);
  }

  // Where the sums of values go: normalised to the output, which is 0 if `empty`. A sum of -0 becomes 0, as FewAttend's
  // sums, which begin with 0.
  struct OutputRow {
    float* out;
    VF normalise;
    MF empty;

    FOVEA_MEMBER VF Factor(int) const { return normalise; }
    FOVEA_MEMBER void Put(VF sum, int, size_t element, size_t part, VF factor) const {
      const VF y = hn::IfThenZeroElse(empty, hn::Mul(hn::Add(sum, hn::Zero(kF)), factor));
      if (part == kLanes) {
        hn::StoreU(y, kF, out + element);
      } else {
        hn::StoreN(y, kF, out + element, part);
      }
    }
  };

  // The tile begins at the first row of its head. No caller has sinks, or tensors of int8.
  FOVEA_KERNEL void FewWhole(const QueryTile& t, KeyTile& keys, const ScoreSteps& steps, const TypedRows& q,
                             float scale, const RowOutputs& outputs) {
    // Expected: else g++ compiles what follows these many tests for size.
    if (__builtin_expect(!IsBareRow(t, keys, steps, q, outputs), 0)) {
      FewBegin(t, q, scale);
      FewRowsKernel<F32FewRows>::FewAttend(t, keys, steps);
      return kFewSteps.end(t, outputs);
    }
    LoadScaledRowOf<FOVEA_F32>(q.data, t.head_dim, hn::Set(kF, scale), FloatQueries(t), kLanes);
    FewScoresOf<1, false, FOVEA_F32>(t, keys);
    const size_t count = CountFewScores<1>(keys);
    const VF max = FewLargest(t.s, count, kLanes, hn::Set(kF, -kInfinity));
    const VF sum = FewAllWeights(t.s, count, kLanes, ShiftOf(max), hn::Zero(kF));
    const MF empty = hn::Eq(sum, hn::Zero(kF));
    const VF normalise = hn::IfThenZeroElse(empty, hn::Div(hn::Set(kF, 1.0f), sum));
    FewValuesTo<1, false, FOVEA_F32>(t, keys, OutputRow{static_cast<float*>(outputs.out.data), normalise, empty});
  }

  // Where some vectors are taken at once, FewAttend adds in another order.
  static constexpr AttentionKernel Kernel() {
    AttentionKernel kernel = FewRowsKernel<F32FewRows>::Kernel(kFewRowsFormats, nullptr, nullptr);
    if (kHasFewRows && kHasLoneTiles && !kVectorsAtOnce) kernel.whole = FewWhole;
    return kernel;
  }
};

#endif  // FOVEA_SRC_ATTENTION_FEW_WHOLE_INL_
