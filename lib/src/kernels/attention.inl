// SPDX-License-Identifier: Apache-2.0
//
// The entries of the attention table: what run/ calls. See design of the tile in tile.inl.

// Scores of a tile up to the stage `last`.
FOVEA_INLINE void StagedScores(const QueryTile& t, const KeyTile& keys, const ScoreStages& stages,
                               fovea_scores_stage last) {
  static_assert(kBlockVectors <= 4, "one case for each number of vectors");
  switch (t.vectors) {
    case 1: Scores<1>(t, keys); break;
    case 2: Scores<2>(t, keys); break;
    case 3: Scores<(kBlockVectors >= 3 ? 3 : 1)>(t, keys); break;
    default: Scores<(kBlockVectors >= 4 ? 4 : 1)>(t, keys); break;
  }
  if (stages.softcap > 0.0f || stages.alibi || stages.mask_kind != FOVEA_MASK_NONE || keys.edge) {
    ApplyStages(t, keys, stages, last);
  }
}

static void Begin(const QueryTile& t, const RowArray<const float>& q, float scale) {
  const VF scales = hn::Set(kF, scale);
  RowWalk<const float> walk = RowWalk<const float>::Of(t, q);
  for (size_t column = 0; column < t.rows; column += kLanes) {
    const LaneRows<const float> rows = walk.Next();
    for (size_t d = 0; d < t.head_dim; d += kLanes) {
      const size_t n = t.head_dim - d < kLanes ? t.head_dim - d : kLanes;
      VF lanes[kLanes];
      LoadTransposed(rows, d, n, lanes);
      for (size_t i = 0; i < n; ++i) hn::StoreU(hn::Mul(lanes[i], scales), kF, t.q_t + (d + i) * t.rows + column);
    }
    hn::StoreU(hn::Set(kF, -kInfinity), kF, t.row_max + column);
    hn::StoreU(hn::Zero(kF), kF, t.row_sum + column);
    for (size_t e = 0; e < t.value_dim; ++e) hn::StoreU(hn::Zero(kF), kF, t.o_t + e * t.rows + column);
  }
}

static void Attend(const QueryTile& t, const KeyTile& keys, const ScoreStages& stages) {
  StagedScores(t, keys, stages, FOVEA_SCORES_SOFTMAX);
  // Values that hidden keys bring must not be looked at. Vectors are taken two at a time where masks are vectors too and
  // three would not fit the registers.
  if (keys.edge || stages.mask_kind != FOVEA_MASK_NONE) {
    for (size_t column = 0; column < t.rows; column += kLanes) SoftmaxTile<true>(t, keys.begin, keys.end, column);
    size_t v = 0;
    for (; v + 2 <= t.vectors; v += 2) Values<true, 2>(t, keys, v * kLanes);
    if (v < t.vectors) Values<true, 1>(t, keys, v * kLanes);
    return;
  }
  for (size_t column = 0; column < t.rows; column += kLanes) SoftmaxTile<false>(t, keys.begin, keys.end, column);
  switch (t.vectors) {
    case 1: Values<false, 1>(t, keys, 0); break;
    case 2: Values<false, 2>(t, keys, 0); break;
    case 3: Values<false, (kBlockVectors >= 3 ? 3 : 1)>(t, keys, 0); break;
    default: Values<false, (kBlockVectors >= 4 ? 4 : 1)>(t, keys, 0); break;
  }
}

static void End(const QueryTile& t, const RowOutputs& outputs) {
  RowWalk<float> out_walk = RowWalk<float>::Of(t, outputs.out);
  RowWalk<float> lse_walk = RowWalk<float>::Of(t, outputs.lse);
  const VF minus_infinity = hn::Set(kF, -kInfinity);
  size_t left = t.live;
  for (size_t column = 0; column < t.rows; column += kLanes) {
    const size_t live = left < kLanes ? left : kLanes;
    left -= live;

    VF max = hn::LoadU(kF, t.row_max + column), sum = hn::LoadU(kF, t.row_sum + column);
    VF rescale = hn::Set(kF, 1.0f);
    if (outputs.sinks) {
      const VF sink = hn::LoadU(kF, t.sink + column);
      const VF joint_max = hn::Max(max, sink);
      const VF shift = hn::IfThenZeroElse(hn::Eq(joint_max, minus_infinity), joint_max);
      rescale = Exp2(hn::Sub(max, shift));
      sum = hn::MulAdd(sum, rescale, Exp2(hn::Sub(sink, shift)));
      max = joint_max;
    }
    const MF empty = hn::Eq(sum, hn::Zero(kF));
    const VF normalise = hn::IfThenZeroElse(empty, hn::Div(rescale, sum));

    if (outputs.lse.data) {
      const VF lse = hn::IfThenElse(empty, minus_infinity, hn::MulAdd(max, hn::Set(kF, kLn2), Log(sum)));
      float lanes[kLanes];
      hn::StoreU(lse, kF, lanes);
      const LaneRows<float> rows = lse_walk.Next();
      for (size_t i = 0; i < live; ++i) *rows.at[i] = lanes[i];
    }
    hn::StoreU(hn::IfThenZeroElse(hn::Eq(max, minus_infinity), max), kF, t.row_max + column);
    hn::StoreU(hn::IfThenZeroElse(empty, hn::Div(hn::Set(kF, 1.0f), sum)), kF, t.row_sum + column);

    const LaneRows<float> rows = out_walk.Next();
    for (size_t e = 0; e < t.value_dim; e += kLanes) {
      const size_t n = t.value_dim - e < kLanes ? t.value_dim - e : kLanes;
      VF lanes[kLanes];
      for (size_t i = 0; i < n; ++i) {
        const VF o = hn::Mul(hn::LoadU(kF, t.o_t + (e + i) * t.rows + column), normalise);
        lanes[i] = hn::IfThenZeroElse(empty, o);
      }
      for (size_t i = n; i < kLanes; ++i) lanes[i] = hn::Zero(kF);
      StoreTransposed(lanes, rows, live, e, n);
    }
  }
}

static void ScoresOut(const QueryTile& t, const KeyTile& keys, const ScoreStages& stages, fovea_scores_stage stage,
                      const RowArray<float>& scores) {
  StagedScores(t, keys, stages, stage);
  RowWalk<float> walk = RowWalk<float>::Of(t, scores);
  size_t left = t.live;
  for (size_t column = 0; column < t.rows; column += kLanes) {
    const size_t live = left < kLanes ? left : kLanes;
    left -= live;
    const LaneRows<float> rows = walk.Next();
    const VF shift = hn::LoadU(kF, t.row_max + column), inverse_sum = hn::LoadU(kF, t.row_sum + column);
    for (uint32_t j = keys.begin; j < keys.end; j += kLanes) {
      const size_t n = keys.end - j < kLanes ? keys.end - j : kLanes;
      VF lanes[kLanes];
      for (size_t i = 0; i < kLanes; ++i) {
        if (i >= n) {
          lanes[i] = hn::Zero(kF);
          continue;
        }
        const VF x = hn::LoadU(kF, t.s + (j + i) * t.rows + column);
        lanes[i] = stage == FOVEA_SCORES_SOFTMAX ? hn::Mul(Exp2(hn::Sub(x, shift)), inverse_sum)
                                                 : hn::Mul(x, hn::Set(kF, kLn2));
      }
      StoreTransposed(lanes, rows, live, size_t(keys.first) + j, n);
    }
  }
}

static void ScoresHidden(const QueryTile& t, uint32_t first, uint32_t count, fovea_scores_stage stage,
                         const RowArray<float>& scores) {
  const VF x = stage == FOVEA_SCORES_SOFTMAX ? hn::Zero(kF) : hn::Set(kF, -kInfinity);
  RowWalk<float> walk = RowWalk<float>::Of(t, scores);
  size_t left = t.live;
  for (size_t column = 0; column < t.rows; column += kLanes) {
    const size_t live = left < kLanes ? left : kLanes;
    left -= live;
    const LaneRows<float> rows = walk.Next();
    for (size_t i = 0; i < live; ++i) {
      for (uint32_t j = 0; j < count; j += kLanes) {
        hn::StoreN(x, kF, rows.at[i] + first + j, count - j < kLanes ? count - j : kLanes);
      }
    }
  }
}

constexpr AttentionKernels kAttentionKernels = {kLanes, kBlockVectors, Begin, Attend, End, ScoresOut, ScoresHidden};
