// SPDX-License-Identifier: Apache-2.0
//
// tile_steps.inl for the few-rows kernels: kFewSteps.
#ifndef FOVEA_SRC_ATTENTION_STEPS_FEW_STEPS_INL_
#define FOVEA_SRC_ATTENTION_STEPS_FEW_STEPS_INL_

#include "core/attention/few_block.inl"
#include "core/attention/steps/tile_steps.inl"

// The numbers of a vector's keys, for each of its rows. `keys` is a power of two.
FOVEA_INLINE VF ForEachRow(const float* numbers, uint32_t keys) {
  if (keys == kLanes) return hn::LoadU(kF, numbers);
  float lanes[kLanes];
  for (uint32_t i = 0; i < kLanes; ++i) lanes[i] = numbers[i & (keys - 1)];
  return hn::LoadU(kF, lanes);
}
// The place of each lane's key among those of its vector. kKeys: as FewApply's.
template <uint32_t kKeys>
FOVEA_INLINE VF KeyOffsetsOf(uint32_t keys) {
  if constexpr (kKeys != 0) return KeyOffsets<int(kLanes / kKeys)>();
  float lanes[kLanes];
  hn::StoreU(hn::Iota(kF, 0.0f), kF, lanes);
  return ForEachRow(lanes, keys);
}

// Applies the steps [first, end) to all scores of the tile, like ApplySteps. Lanes past the last key stay hidden,
// whatever the steps do to them. kKeys: of a vector; 0 for what the tile says.
template <uint32_t kKeys>
FOVEA_TEMPLATE void FewApply(const QueryTile& t, const KeyTile& keys, const ScoreSteps& steps, fovea_scores_stage last,
                             int first, int end) {
  const uint32_t at_once = kKeys != 0 ? kKeys : uint32_t(t.row_lanes), rows = kLanes / at_once;
  StepLanes at = LanesOfRows<kScoreSteps>(FewRows{t, keys, rows}, keys, steps);
  [[maybe_unused]] const VF mask_factor = at.mask_factor;
  const uint32_t on = StepsOn(keys, steps, last, first, end);
  const VF past_end = hn::Set(kF, float(keys.end));
  float* s = t.s;
  at.key_pos = hn::Add(KeyOffsetsOf<kKeys>(at_once), hn::Set(kF, float(keys.begin)));
  for (uint32_t j = keys.begin; j < keys.end; j += at_once, s += kLanes) {
    if (on >> kShiftStep & 1) at.key_shift = ForEachRow(keys.numbers().key_shift + j, at_once);
    if (on >> kMaskStep & 1) {
      at.mask = FewMask(t, steps, keys, j, rows);
      const VF masked = hn::Set(kF, float(FirstMasked(keys, steps)));  // 0 times an infinite factor would be NaN
      if (config::kBlockMaps) at.mask_factor = hn::IfThenZeroElse(hn::Lt(at.key_pos, masked), mask_factor);
    }
    const VF x = AllSteps(hn::LoadU(kF, s), at, keys, steps, on);
    hn::StoreU(hn::IfThenElse(hn::Lt(at.key_pos, past_end), x, hn::Set(kF, -kInfinity)), kF, s);
    at.key_pos = hn::Add(at.key_pos, hn::Set(kF, float(at_once)));
  }
}

// Like ModifyScores. Several rows are passed as a matrix, which is stored after the scores: these take at most half of
// t.s.
FOVEA_KERNEL void FewModifyScores(const QueryTile& t, const KeyTile& keys, const ScoreSteps& steps) {
  const uint32_t at_once = t.row_lanes, count = keys.end - keys.begin, blocks = (count + at_once - 1) / at_once;
  const bool one = at_once == kLanes;
  float* const rows = one ? t.s : t.s + size_t{t.columns / at_once} * kKeyTile;
  const auto each_part = [&](auto copy) {
    for (uint32_t b = 0; b < blocks && !one; ++b) {
      for (uint32_t r = 0; r < t.live; ++r) copy(t.s + b * kLanes + r * at_once, rows + r * kKeyTile + b * at_once);
    }
  };
  const size_t part_bytes = at_once * sizeof *rows;
  ScaleVectors(t.s, kLanes, blocks, kLn2);
  each_part([&](const float* scores, float* row) { __builtin_memcpy(row, scores, part_bytes); });
  CallModifier(t, keys, steps, false, 0, rows, one ? ptrdiff_t(count) : ptrdiff_t{kKeyTile}, 1);
  each_part([&](float* scores, const float* row) { __builtin_memcpy(scores, row, part_bytes); });
  ScaleVectors(t.s, kLanes, blocks, kLog2E);
}

template <uint32_t kKeys>
FOVEA_INLINE void FewApplyTo(const QueryTile& t, const KeyTile& keys, const ScoreSteps& steps,
                             fovea_scores_stage last) {
  if (!IsOn<kModifyStep>(keys, steps, last)) return FewApply<kKeys>(t, keys, steps, last, 0, kScoreSteps);
  FewApply<kKeys>(t, keys, steps, last, 0, kModifyStep);
  FewModifyScores(t, keys, steps);
  if (Hides(keys, steps)) FewApply<kKeys>(t, keys, steps, last, kModifyStep, kScoreSteps);
}

FOVEA_KERNEL void FewApplySteps(const QueryTile& t, const KeyTile& keys, const ScoreSteps& steps,
                                fovea_scores_stage last, size_t) {
  if constexpr (kSmallText) return FewApplyTo<0>(t, keys, steps, last);
  const uint32_t rows = t.columns / t.row_lanes;
  if (rows == 1) return FewApplyTo<kLanes>(t, keys, steps, last);
  if (rows == 2) return FewApplyTo<kLanes / 2>(t, keys, steps, last);
  if constexpr (kLanes > 4) FewApplyTo<kLanes / 4>(t, keys, steps, last);  // with 4 lanes, 4 rows fill the tile kernel
}

// Like StoreScores.
FOVEA_KERNEL void FewStoreScores(const QueryTile& t, const KeyTile& keys, const ScoreSteps& steps,
                                 fovea_scores_stage stage, const RowArray<float>& scores, size_t column) {
  if (AnyStep(keys, steps)) FewApplySteps(t, keys, steps, stage, column);
  const uint32_t at_once = t.row_lanes;  // keys of a vector
  const float* s = t.s;
  for (uint32_t j = keys.begin; j < keys.end; j += at_once, s += kLanes) {
    float lanes[kLanes];
    hn::StoreU(ScoreAtStage(t, 0, hn::LoadU(kF, s), stage, Hides(keys, steps)), kF, lanes);
    for (uint32_t r = 0; r < t.live; ++r) {
      float* row = scores.data + RowOffset(t, r, scores.token_stride, scores.head_stride) + keys.first + j;
      for (uint32_t k = 0; k < at_once && j + k < keys.end; ++k) row[k] = lanes[r * at_once + k];
    }
  }
}

FOVEA_KERNEL void FewEnd(const QueryTile& t, const RowOutputs& outputs) {
  float normalise[kLanes], lse[kLanes];
  const bool wants_lse = config::kLse && outputs.lse->data;
  hn::StoreU(Normalise(t, 0, outputs.sinks, wants_lse ? lse : nullptr), kF, normalise);
  const size_t padded = PaddedToLanes(t.value_dim);
  const RowArray<char> out = BytesOf(outputs.out);
  for (size_t r = 0; r < t.live; ++r) {
    char* const row = out.data + RowOffset(t, r, out.token_stride, out.head_stride);
    const VF factor = hn::Set(kF, normalise[r * t.row_lanes]);
    const MF empty = hn::Eq(hn::Set(kF, t.row_sum[r * t.row_lanes]), hn::Zero(kF));
    const float* const o = t.o + r * padded;
    if (!StoreTensorRow(outputs, o, t.value_dim, factor, empty, row)) {
      StoreScaledRow(outputs.out.dtype, o, kLanes, factor, empty, row, t.value_dim);
    }
    if (wants_lse) {
      outputs.lse->data[RowOffset(t, r, outputs.lse->token_stride, outputs.lse->head_stride)] = lse[r * t.row_lanes];
    }
  }
}

// Like Resume and Suspend. Rows that repeat the last one are not restored: their results are not used.
FOVEA_KERNEL void FewResume(const QueryTile& t, const StateRows& state) {
  const size_t padded = PaddedToLanes(t.value_dim);
  for (size_t r = 0; r < t.live; ++r) {
    hn::StoreN(hn::Set(kF, state.max[r]), kF, t.row_max + r * t.row_lanes, t.row_lanes);
    hn::StoreN(hn::Set(kF, state.sum[r]), kF, t.row_sum + r * t.row_lanes, t.row_lanes);
    for (size_t e = 0; e < t.value_dim; e += kLanes) {
      const size_t n = t.value_dim - e < kLanes ? t.value_dim - e : kLanes;
      hn::StoreU(hn::LoadN(kF, state.o + r * t.value_dim + e, n), kF, t.o + r * padded + e);
    }
  }
}

FOVEA_KERNEL void FewSuspend(const QueryTile& t, const StateRows& state) {
  const size_t padded = PaddedToLanes(t.value_dim);
  for (size_t r = 0; r < t.live; ++r) {
    state.max[r] = t.row_max[r * t.row_lanes];
    state.sum[r] = t.row_sum[r * t.row_lanes];
    for (size_t e = 0; e < t.value_dim; e += kLanes) {
      const size_t n = t.value_dim - e < kLanes ? t.value_dim - e : kLanes;
      hn::StoreN(hn::LoadU(kF, t.o + r * padded + e), kF, state.o + r * t.value_dim + e, n);
    }
  }
}

// Like KeepWeights and AddMass: a vector has adjacent keys of each row.
FOVEA_KERNEL void FewKeepWeights(const QueryTile& t, const KeyTile& keys, const float* weights, size_t column) {
  const uint32_t at_once = t.row_lanes;  // keys of a vector
  KeepVectors(t, keys, weights, 0, (keys.end - keys.begin + at_once - 1) / at_once, column);
}

// The sum over the rows of each key.
template <int kKeys, int kStep = kLanes / 2>
FOVEA_INLINE VF SumOfRows(VF v) {
  if constexpr (kStep < kKeys) {
    return v;
  } else {
    return SumOfRows<kKeys, kStep / 2>(hn::Add(v, hn::SwapLanes<kStep>(v)));
  }
}

template <int kRows>
FOVEA_TEMPLATE void FewAddMassOf(const QueryTile& t, float* mass) {
  constexpr uint32_t kKeys = FewBlock<kRows>::kKeys;
  ForEachSlot(t, [&](const KeptKeys& keys, const float* weights, const float* factors) {
    const VF factor = hn::LoadU(kF, factors), lane = hn::Iota(kF, 0.0f);
    for (uint32_t j = keys.begin; j < keys.end; j += kLanes) {
      const uint32_t n = keys.end - j < kLanes ? keys.end - j : kLanes;
      VF sums = hn::Zero(kF);
      FOVEA_UNROLL(4)
      for (uint32_t done = 0; done < kLanes; done += kKeys) {  // each vector has the sums of kKeys keys
        if (done >= n) continue;
        const VF some = SumOfRows<kKeys>(hn::Mul(hn::LoadU(kF, weights), factor));
        sums = kKeys == kLanes ? some : hn::IfThenElse(hn::Lt(lane, hn::Set(kF, float(done))), sums, some);
        weights += kLanes;
      }
      AddToMass(mass + keys.first + j, n, sums);
    }
  });
}

FOVEA_KERNEL void FewAddMass(const QueryTile& t, float* mass) {
  const uint32_t rows = t.columns / t.row_lanes;
  if (rows == 1) return FewAddMassOf<1>(t, mass);
  if constexpr (kLanes > 1) {
    if (rows == 2) return FewAddMassOf<2>(t, mass);
  }
  if constexpr (kLanes > 4) FewAddMassOf<4>(t, mass);  // with 4 lanes, 4 rows fill the tile kernel
}

constexpr StepKernels kFewSteps = {If(kHasFewRows && kAnyStepServed, FewApplySteps),
                                   nullptr,
                                   nullptr,
                                   If(kHasFewRows&& config::kScores, FewStoreScores),
                                   If(kHasFewRows&& config::kScores, StoreHiddenScores),
                                   If(kHasFewRows, FewEnd),
                                   If(kHasFewRows&& config::kStates, FewResume),
                                   If(kHasFewRows&& config::kStates, FewSuspend),
                                   If(kHasFewRows&& config::kKeyMass, FewKeepWeights),
                                   If(kHasFewRows&& config::kKeyMass, FewAddMass)};

#endif  // FOVEA_SRC_ATTENTION_STEPS_FEW_STEPS_INL_
