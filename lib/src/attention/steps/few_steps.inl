// SPDX-License-Identifier: Apache-2.0
//
// tile_steps.inl for the few-rows kernels.

// Applies the steps [first, end) to all scores of the tile, like ApplySteps. Lanes past the last key stay hidden,
// whatever the steps do to them.
template <int kRows>
FOVEA_TEMPLATE void FewApply(const QueryTile& t, const KeyTile& keys, const ScoreSteps& steps,
                             fovea_scores_stage last, int first, int end) {
  StepLanes at = LanesOfRows<kScoreSteps>(FewRows{t, keys, kRows}, keys, steps);
  [[maybe_unused]] const VF mask_factor = at.mask_factor;
  const uint32_t on = StepsOn(keys, steps, last, first, end);
  const VF key_offsets = KeyOffsets<kRows>(), past_end = hn::Set(kF, float(keys.end));
  for (uint32_t j = keys.begin; j < keys.end; j += FewBlock<kRows>::kKeys) {
    float* s = BlockScores<kRows>(t, keys, j);
    at.key_pos = hn::Add(key_offsets, hn::Set(kF, float(j)));
    if (on >> kShiftStep & 1) at.key_shift = ForEachRow<kRows>(keys.numbers().key_shift + j);
    if (on >> kMaskStep & 1) {
      at.mask = FewMask(t, steps, keys, j, kRows);
      const VF masked = hn::Set(kF, float(FirstMasked(keys, steps)));  // 0 times an infinite factor would be NaN
      if (config::kBlockMaps) at.mask_factor = hn::IfThenZeroElse(hn::Lt(at.key_pos, masked), mask_factor);
    }
    const VF x = AllSteps(hn::LoadU(kF, s), at, keys, steps, on);
    hn::StoreU(hn::IfThenElse(hn::Lt(at.key_pos, past_end), x, hn::Set(kF, -kInfinity)), kF, s);
  }
}

// Like ModifyScores. Several rows are passed as a matrix, which is stored after the scores: these take at most half of
// t.s.
template <int kRows>
FOVEA_TEMPLATE void FewModifyScores(const QueryTile& t, const KeyTile& keys, const ScoreSteps& steps) {
  constexpr uint32_t kKeys = FewBlock<kRows>::kKeys;
  const uint32_t count = keys.end - keys.begin, blocks = (count + kKeys - 1) / kKeys;
  float* const rows = kRows == 1 ? t.s : t.s + size_t{kRows} * kKeyTile;
  const auto each_part = [&](auto copy) {
    for (uint32_t b = 0; b < blocks && kRows > 1; ++b) {
      for (uint32_t r = 0; r < t.live; ++r) copy(t.s + b * kLanes + r * kKeys, rows + r * kKeyTile + b * kKeys);
    }
  };
  ScaleVectors(t.s, kLanes, blocks, kLn2);
  each_part([](const float* scores, float* row) { __builtin_memcpy(row, scores, kKeys * sizeof *row); });
  CallModifier(t, keys, steps, false, 0, rows, kRows == 1 ? ptrdiff_t(count) : ptrdiff_t{kKeyTile}, 1);
  each_part([](float* scores, const float* row) { __builtin_memcpy(scores, row, kKeys * sizeof *row); });
  ScaleVectors(t.s, kLanes, blocks, kLog2E);
}

template <int kRows>
FOVEA_TEMPLATE void FewApplyTo(const QueryTile& t, const KeyTile& keys, const ScoreSteps& steps,
                               fovea_scores_stage last) {
  if (!IsOn<kModifyStep>(keys, steps, last)) return FewApply<kRows>(t, keys, steps, last, 0, kScoreSteps);
  FewApply<kRows>(t, keys, steps, last, 0, kModifyStep);
  FewModifyScores<kRows>(t, keys, steps);
  if (Hides(keys, steps)) FewApply<kRows>(t, keys, steps, last, kModifyStep, kScoreSteps);
}

FOVEA_KERNEL void FewApplySteps(const QueryTile& t, const KeyTile& keys, const ScoreSteps& steps,
                                fovea_scores_stage last, size_t) {
  const uint32_t rows = t.columns / t.row_lanes;
  if (rows == 1) return FewApplyTo<1>(t, keys, steps, last);
  if (rows == 2) return FewApplyTo<2>(t, keys, steps, last);
  if constexpr (kLanes > 4) FewApplyTo<4>(t, keys, steps, last);  // with 4 lanes, 4 rows fill the tile kernel
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

constexpr StepKernels kFewSteps = {If(config::kFewRows && kAnyStepServed, FewApplySteps),
                                   nullptr,
                                   nullptr,
                                   If(config::kFewRows && config::kScores, FewStoreScores),
                                   If(config::kFewRows && config::kScores, StoreHiddenScores),
                                   If(config::kFewRows, FewEnd),
                                   If(config::kFewRows && config::kStates, FewResume),
                                   If(config::kFewRows && config::kStates, FewSuspend),
                                   If(config::kFewRows && config::kKeyMass, FewKeepWeights),
                                   If(config::kFewRows && config::kKeyMass, FewAddMass)};
