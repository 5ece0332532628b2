// SPDX-License-Identifier: Apache-2.0
//
// The entries of the attention table: what run/ calls. See design of the tile in tile.inl.

// Scores of a tile up to the stage `last`.
FOVEA_INLINE void StagedScores(const QueryTile& t, const KeyTile& keys, const ScoreStages& stages,
                               fovea_scores_stage last) {
  static_assert(kBlockVectors <= 4, "one case for each number of vectors");
  switch (t.columns / kLanes) {
    case 1: Scores<1>(t, keys); break;
    case 2: Scores<2>(t, keys); break;
    case 3: Scores<(kBlockVectors >= 3 ? 3 : 1)>(t, keys); break;
    default: Scores<(kBlockVectors >= 4 ? 4 : 1)>(t, keys); break;
  }
  if (AnyStage(keys, stages)) ApplyStages(t, keys, stages, last);
}

static void Begin(const QueryTile& t, const RowArray<const float>& q, float scale) {
  const VF scales = hn::Set(kF, scale);
  RowWalk<const float> walk = RowWalk<const float>::Of(t, q);
  for (size_t column = 0; column < t.columns; column += kLanes) {
    const LaneRows<const float> rows = walk.Next();
    for (size_t d = 0; d < t.head_dim; d += kLanes) {
      const size_t n = t.head_dim - d < kLanes ? t.head_dim - d : kLanes;
      VF lanes[kLanes];
      LoadTransposed(rows, d, n, lanes);
      for (size_t i = 0; i < n; ++i) hn::StoreU(hn::Mul(lanes[i], scales), kF, t.q + (d + i) * t.columns + column);
    }
    hn::StoreU(hn::Set(kF, -kInfinity), kF, t.row_max + column);
    hn::StoreU(hn::Zero(kF), kF, t.row_sum + column);
    for (size_t e = 0; e < t.value_dim; ++e) hn::StoreU(hn::Zero(kF), kF, t.o + e * t.columns + column);
  }
}

static void Attend(const QueryTile& t, const KeyTile& keys, const ScoreStages& stages) {
  StagedScores(t, keys, stages, FOVEA_SCORES_SOFTMAX);
  // Values that hidden keys bring must not be looked at. Vectors are taken two at a time where masks are vectors too and
  // three would not fit the registers.
  if (keys.edge || stages.mask_kind != FOVEA_MASK_NONE) {
    for (size_t column = 0; column < t.columns; column += kLanes) SoftmaxTile<true>(t, keys.begin, keys.end, column);
    size_t v = 0;
    for (; v + 2 <= t.columns / kLanes; v += 2) Values<true, 2>(t, keys, v * kLanes);
    if (v < t.columns / kLanes) Values<true, 1>(t, keys, v * kLanes);
    return;
  }
  for (size_t column = 0; column < t.columns; column += kLanes) SoftmaxTile<false>(t, keys.begin, keys.end, column);
  switch (t.columns / kLanes) {
    case 1: Values<false, 1>(t, keys, 0); break;
    case 2: Values<false, 2>(t, keys, 0); break;
    case 3: Values<false, (kBlockVectors >= 3 ? 3 : 1)>(t, keys, 0); break;
    default: Values<false, (kBlockVectors >= 4 ? 4 : 1)>(t, keys, 0); break;
  }
}

// Joins the sinks to one vector of rows, and returns what its output rows are multiplied by: 0 for rows that saw no key. Leaves
// in row_max and row_sum what ScoreAtStage needs, and the log of the sum of exponentials in lse, which may be null.
FOVEA_INLINE VF Normalise(const QueryTile& t, size_t column, bool sinks, float* lse) {
  const VF minus_infinity = hn::Set(kF, -kInfinity);
  VF max = hn::LoadU(kF, t.row_max + column), sum = hn::LoadU(kF, t.row_sum + column);
  VF rescale = hn::Set(kF, 1.0f);
  if (sinks) {
    const VF sink = hn::LoadU(kF, t.sink + column);
    const VF joint_max = hn::Max(max, sink);
    const VF shift = hn::IfThenZeroElse(hn::Eq(joint_max, minus_infinity), joint_max);
    rescale = Exp2(hn::Sub(max, shift));
    sum = hn::MulAdd(sum, rescale, Exp2(hn::Sub(sink, shift)));
    max = joint_max;
  }
  const MF empty = hn::Eq(sum, hn::Zero(kF));
  if (lse) hn::StoreU(hn::IfThenElse(empty, minus_infinity, hn::MulAdd(max, hn::Set(kF, kLn2), Log(sum))), kF, lse);
  hn::StoreU(hn::IfThenZeroElse(hn::Eq(max, minus_infinity), max), kF, t.row_max + column);
  hn::StoreU(hn::IfThenZeroElse(empty, hn::Div(hn::Set(kF, 1.0f), sum)), kF, t.row_sum + column);
  return hn::IfThenZeroElse(empty, hn::Div(rescale, sum));
}

// After Normalise: the rows that saw no key.
FOVEA_INLINE MF EmptyRows(const QueryTile& t, size_t column) {
  return hn::Eq(hn::LoadU(kF, t.row_sum + column), hn::Zero(kF));
}

static void End(const QueryTile& t, const RowOutputs& outputs) {
  RowWalk<float> out_walk = RowWalk<float>::Of(t, outputs.out);
  RowWalk<float> lse_walk = RowWalk<float>::Of(t, outputs.lse);
  size_t left = t.live;
  for (size_t column = 0; column < t.columns; column += kLanes) {
    const size_t live = left < kLanes ? left : kLanes;
    left -= live;
    float lse[kLanes];
    const VF normalise = Normalise(t, column, outputs.sinks, outputs.lse.data ? lse : nullptr);
    const MF empty = EmptyRows(t, column);
    if (outputs.lse.data) {
      const LaneRows<float> rows = lse_walk.Next();
      for (size_t i = 0; i < live; ++i) *rows.at[i] = lse[i];
    }
    const LaneRows<float> rows = out_walk.Next();
    for (size_t e = 0; e < t.value_dim; e += kLanes) {
      const size_t n = t.value_dim - e < kLanes ? t.value_dim - e : kLanes;
      VF lanes[kLanes];
      for (size_t i = 0; i < n; ++i) {
        const VF o = hn::Mul(hn::LoadU(kF, t.o + (e + i) * t.columns + column), normalise);
        lanes[i] = hn::IfThenZeroElse(empty, o);
      }
      for (size_t i = n; i < kLanes; ++i) lanes[i] = hn::Zero(kF);
      StoreTransposed(lanes, rows, live, e, n);
    }
  }
}

// A score in base 2 as the caller wants it.
FOVEA_INLINE VF ScoreAtStage(const QueryTile& t, size_t column, VF x, fovea_scores_stage stage) {
  if (stage != FOVEA_SCORES_SOFTMAX) return hn::Mul(x, hn::Set(kF, kLn2));
  const VF weight = Exp2(hn::Sub(x, hn::LoadU(kF, t.row_max + column)));
  return hn::Mul(weight, hn::LoadU(kF, t.row_sum + column));
}

static void ScoresOut(const QueryTile& t, const KeyTile& keys, const ScoreStages& stages, fovea_scores_stage stage,
                      const RowArray<float>& scores) {
  StagedScores(t, keys, stages, stage);
  RowWalk<float> walk = RowWalk<float>::Of(t, scores);
  size_t left = t.live;
  for (size_t column = 0; column < t.columns; column += kLanes) {
    const size_t live = left < kLanes ? left : kLanes;
    left -= live;
    const LaneRows<float> rows = walk.Next();
    for (uint32_t j = keys.begin; j < keys.end; j += kLanes) {
      const size_t n = keys.end - j < kLanes ? keys.end - j : kLanes;
      VF lanes[kLanes];
      for (size_t i = 0; i < kLanes; ++i) {
        if (i >= n) {
          lanes[i] = hn::Zero(kF);
          continue;
        }
        lanes[i] = ScoreAtStage(t, column, hn::LoadU(kF, t.s + (j + i) * t.columns + column), stage);
      }
      StoreTransposed(lanes, rows, live, size_t(keys.first) + j, n);
    }
  }
}

static void ScoresHidden(const QueryTile& t, uint32_t first, uint32_t count, fovea_scores_stage stage,
                         const RowArray<float>& scores) {
  const VF x = stage == FOVEA_SCORES_SOFTMAX ? hn::Zero(kF) : hn::Set(kF, -kInfinity);
  for (uint32_t r = 0; r < t.live; ++r) {
    float* row = scores.data + RowOffset(t, r, scores.token_stride, scores.head_stride) + first;
    for (uint32_t j = 0; j < count; j += kLanes) {
      hn::StoreN(x, kF, row + j, count - j < kLanes ? count - j : kLanes);
    }
  }
}

constexpr TileKernels kTileKernels = {Begin, Attend, End, ScoresOut, ScoresHidden};
