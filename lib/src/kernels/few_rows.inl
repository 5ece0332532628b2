// SPDX-License-Identifier: Apache-2.0
//
// The few-rows kernel: one-token decode leaves most lanes of the tile kernel empty, so here the lanes run along
// head_dim, and one to four query rows read each key and value once. Scores stand kRows by kKeys in a vector: lane =
// row * kKeys + key. The values of a tile are asked for while its keys are multiplied, and the next keys while the
// values are.

// A block of keys for kRows rows: kRows * kKeys dot products, whose sums fill one vector.
template <int kRows>
struct FewBlock {
  static constexpr uint32_t kKeys = kLanes / kRows;
  static constexpr uint32_t kGroup = kKeys < 4 ? kKeys : 4;  // keys multiplied at a time
};

// Elements in a cache line.
constexpr size_t kLineElements = 16;

// Asks for the rows of a tile in the order of addresses, a few lines at a time: that is what the processor's own
// prefetcher goes by. They are asked into the second cache, which waits for more lines at once than the first and has
// room for a tile. Lines behind the end of a row may be asked for, which reads nothing.
struct LineCursor {
  const float* row;
  ptrdiff_t stride;
  size_t dim, element;

  // At `position` of the tile, counted in elements row by row.
  FOVEA_INLINE LineCursor At(const float* tile, ptrdiff_t stride, size_t dim, size_t position) {
    return {tile + ptrdiff_t(position / dim) * stride, stride, dim, position % dim};
  }
  inline __attribute__((always_inline)) void Ask(size_t elements) {
    FOVEA_UNROLL(8)
    for (size_t i = 0; i < elements; i += kLineElements) __builtin_prefetch(row + element + i, 0, 2);
    element += elements;
    const bool row_ends = element >= dim;
    row += row_ends ? stride : 0;
    element = row_ends ? 0 : element;
  }
};

// A single row does so little with a line that the processor's prefetcher keeps up by itself.
template <int kRows>
FOVEA_INLINE bool AsksAhead(const QueryTile& t) {
  return kRows > 1 && t.value_dim == t.head_dim;
}

// lane % kKeys, as floats.
template <int kRows>
FOVEA_INLINE VF KeyOffsets() {
  struct Table {
    float lanes[kLanes];
    constexpr Table() : lanes() {
      for (size_t i = 0; i < kLanes; ++i) lanes[i] = float(i % FewBlock<kRows>::kKeys);
    }
  };
  static constexpr Table table;
  return hn::LoadU(kF, table.lanes);
}

// Sum or maximum over the lanes of each row.
template <int kRows, bool kMax, int kStep = FewBlock<kRows>::kKeys / 2>
FOVEA_INLINE VF ReduceRows(VF v) {
  if constexpr (kStep == 0) {
    return v;
  } else {
    const VF other = hn::SwapLanes<kStep>(v);
    return ReduceRows<kRows, kMax, kStep / 2>(kMax ? hn::Max(v, other) : hn::Add(v, other));
  }
}

// Where the scores of the block that starts at key j stand.
template <int kRows>
FOVEA_INLINE float* BlockScores(const QueryTile& t, const KeyTile& keys, uint32_t j) {
  return t.s + size_t(j - keys.begin) / FewBlock<kRows>::kKeys * kLanes;
}

template <int kRows, bool kPrefetch>
FOVEA_TEMPLATE void FewScores(const QueryTile& t, const KeyTile& keys) {
  constexpr uint32_t kKeys = FewBlock<kRows>::kKeys, kGroup = FewBlock<kRows>::kGroup;
  const size_t head_dim = t.head_dim, whole = head_dim / kLanes * kLanes, padded = PaddedToLanes(head_dim);
  const float* next_key = keys.keys + ptrdiff_t(keys.begin) * keys.key_stride;
  const float* values = keys.values + ptrdiff_t(keys.begin) * keys.value_stride;
  LineCursor ahead = {values, keys.value_stride, t.value_dim, 0};
  for (uint32_t j = keys.begin; j < keys.end; j += kKeys) {
    VF products[kLanes];
    FOVEA_UNROLL(4)
    for (uint32_t g = 0; g < kKeys; g += kGroup) {
      const float* key[kGroup];
      VF acc[kRows][kGroup];
      FOVEA_UNROLL(4)
      for (uint32_t k = 0; k < kGroup; ++k) {
        key[k] = next_key;
        if (j + g + k + 1 < keys.end) next_key += keys.key_stride;  // keys behind the end repeat the last one
        FOVEA_UNROLL(4)
        for (int r = 0; r < kRows; ++r) acc[r][k] = hn::Zero(kF);
      }
      for (size_t d = 0; d < whole; d += kLanes) {
        VF x[kGroup];
        FOVEA_UNROLL(4)
        for (uint32_t k = 0; k < kGroup; ++k) x[k] = hn::LoadU(kF, key[k] + d);
        if constexpr (kPrefetch) ahead.Ask(kGroup * kLanes);
        FOVEA_UNROLL(4)
        for (int r = 0; r < kRows; ++r) {
          const VF q = hn::LoadU(kF, t.q + r * padded + d);
          FOVEA_UNROLL(4)
          for (uint32_t k = 0; k < kGroup; ++k) acc[r][k] = hn::MulAdd(q, x[k], acc[r][k]);
        }
      }
      if (whole < head_dim) {
        FOVEA_UNROLL(4)
        for (uint32_t k = 0; k < kGroup; ++k) {
          const VF x = hn::LoadN(kF, key[k] + whole, head_dim - whole);
          FOVEA_UNROLL(4)
          for (int r = 0; r < kRows; ++r) acc[r][k] = hn::MulAdd(hn::LoadU(kF, t.q + r * padded + whole), x, acc[r][k]);
        }
      }
      FOVEA_UNROLL(4)
      for (int r = 0; r < kRows; ++r) {
        FOVEA_UNROLL(4)
        for (uint32_t k = 0; k < kGroup; ++k) products[r * kKeys + g + k] = acc[r][k];
      }
    }
    VF sums = hn::SumsOfLanes(products);
    if (j + kKeys > keys.end) {
      const VF past_end = hn::Set(kF, float(keys.end - j));
      sums = hn::IfThenElse(hn::Lt(KeyOffsets<kRows>(), past_end), sums, hn::Set(kF, -kInfinity));
    }
    hn::StoreU(sums, kF, BlockScores<kRows>(t, keys, j));
  }
}

// mask elements of the block at key j, as floats.
template <int kRows, class T>
FOVEA_TEMPLATE VF FewMask(const QueryTile& t, const RowArray<const T>& mask, const KeyTile& keys, uint32_t j) {
  constexpr uint32_t kKeys = FewBlock<kRows>::kKeys;
  float lanes[kLanes];
  const T* row = mask.data + ptrdiff_t(t.first_token) * mask.token_stride;
  uint32_t head = t.first_head;
  for (uint32_t r = 0; r < kRows; ++r) {
    const T* at = row + ptrdiff_t(head) * mask.head_stride + keys.first + j;
    for (uint32_t k = 0; k < kKeys; ++k) lanes[r * kKeys + k] = j + k < keys.end ? float(at[k]) : 0.0f;
    if (r + 1 < t.live && ++head == t.group) {
      head = 0;
      row += mask.token_stride;
    }
  }
  return hn::LoadU(kF, lanes);
}

// The stages of ApplyStages, over blocks of rows by keys.
template <int kRows>
FOVEA_TEMPLATE void FewStages(const QueryTile& t, const KeyTile& keys, const ScoreStages& stages,
                              fovea_scores_stage last) {
  const VF key_offsets = KeyOffsets<kRows>();
  const bool masked = last >= FOVEA_SCORES_MASKED;
  for (uint32_t j = keys.begin; j < keys.end; j += FewBlock<kRows>::kKeys) {
    float* s = BlockScores<kRows>(t, keys, j);
    const VF key_pos = hn::Add(key_offsets, hn::Set(kF, float(j)));
    VF x = hn::LoadU(kF, s);
    if (Capped(stages) && last >= FOVEA_SCORES_CAPPED) x = Softcap(x, stages);
    if (Biased(stages) && masked) {
      const VF pos = hn::Add(RelativePositions(t.pos, keys.first), hn::LoadU(kF, t.far_pos));
      x = Alibi(x, hn::LoadU(kF, t.slope), pos, key_pos);
    }
    if (MaskedBy(stages, FOVEA_MASK_F32) && masked) x = AddMask(x, FewMask<kRows>(t, stages.mask_f32, keys, j));
    if (MaskedBy(stages, FOVEA_MASK_BYTE) && masked) x = HideZeros(x, FewMask<kRows>(t, stages.mask_byte, keys, j));
    if (AtEdge(keys) && masked) {
      if (!Masked(stages)) x = Visible(x);
      x = HideOutside(x, RelativePositions(t.lo, keys.first), RelativePositions(t.hi, keys.first), key_pos);
    }
    // Lanes behind the end stay hidden whatever the stages made of them.
    const VF past_end = hn::Set(kF, float(keys.end));
    hn::StoreU(hn::IfThenElse(hn::Lt(key_pos, past_end), x, hn::Set(kF, -kInfinity)), kF, s);
  }
}

template <int kRows>
FOVEA_INLINE void FewStagedScores(const QueryTile& t, const KeyTile& keys, const ScoreStages& stages,
                                  fovea_scores_stage last) {
  // Nothing is asked for where all keys fit one tile: next to the rest of such a call it costs more than it brings.
  const bool prefetch = AsksAhead<kRows>(t) && (keys.more || keys.first > 0);
  if (!kPreferSize && prefetch) {
    FewScores<kRows, true>(t, keys);
  } else {
    FewScores<kRows, false>(t, keys);
  }
  if (AnyStage(keys, stages)) FewStages<kRows>(t, keys, stages, last);
}

// Weights of n vectors of scores, in place: -0 for hidden ones. Returns their sum.
template <int n>
FOVEA_INLINE VF FewWeights(float* s, VF shift) {
  MF hidden[n];
  VF p[n];
  FOVEA_UNROLL(4)
  for (int i = 0; i < n; ++i) {
    const VF x = hn::LoadU(kF, s + i * kLanes);
    hidden[i] = hn::Eq(x, hn::Set(kF, -kInfinity));
    p[i] = hn::Sub(x, shift);
  }
  Exp2(p);
  VF sum = hn::Zero(kF);
  FOVEA_UNROLL(4)
  for (int i = 0; i < n; ++i) {
    p[i] = hn::IfThenElse(hidden[i], hn::Set(kF, -0.0f), p[i]);
    hn::StoreU(p[i], kF, s + i * kLanes);
    sum = hn::Add(sum, p[i]);
  }
  return sum;
}

// As SoftmaxTile; row_max, row_sum and rescale hold the same number in all lanes of a row.
template <int kRows>
FOVEA_TEMPLATE void FewSoftmax(const QueryTile& t, const KeyTile& keys) {
  const VF minus_infinity = hn::Set(kF, -kInfinity);
  const size_t count = (keys.end - keys.begin + FewBlock<kRows>::kKeys - 1) / FewBlock<kRows>::kKeys * kLanes;
  const VF old_max = hn::LoadU(kF, t.row_max);
  VF max = old_max;
  for (size_t i = 0; i < count; i += kLanes) max = hn::Max(max, hn::LoadU(kF, t.s + i));
  max = MinusInfinityIfLowest(ReduceRows<kRows, true>(max));
  const VF shift = hn::IfThenZeroElse(hn::Eq(max, minus_infinity), max);
  VF sum = hn::Zero(kF);
  size_t i = 0;
  for (; i + 4 * kLanes <= count; i += 4 * kLanes) sum = hn::Add(sum, FewWeights<4>(t.s + i, shift));
  for (; i < count; i += kLanes) sum = hn::Add(sum, FewWeights<1>(t.s + i, shift));
  const VF rescale = Exp2(hn::Sub(old_max, shift));
  hn::StoreU(max, kF, t.row_max);
  hn::StoreU(hn::MulAdd(hn::LoadU(kF, t.row_sum), rescale, ReduceRows<kRows, false>(sum)), kF, t.row_sum);
  hn::StoreU(rescale, kF, t.rescale);
}

// sums += the weights of one key (that of row 0 stands at p) times its value, of `part` elements where it is not whole.
template <int kRows, bool kHides, int kVectors>
FOVEA_INLINE void FewValueStep(const float* p, const float* value, size_t part, VF (&sums)[kRows][kVectors]) {
  VF weight[kRows];
  FOVEA_UNROLL(4)
  for (int r = 0; r < kRows; ++r) weight[r] = hn::Set(kF, p[r * FewBlock<kRows>::kKeys]);
  FOVEA_UNROLL(8)
  for (int v = 0; v < kVectors; ++v) {
    const float* at = value + v * kLanes;
    const VF x = part == kLanes ? hn::LoadU(kF, at) : hn::LoadN(kF, at, part);
    FOVEA_UNROLL(4)
    for (int r = 0; r < kRows; ++r) {
      VF& sum = sums[r][v];
      sum = kHides ? hn::MulAddUnless(hn::SignMask(weight[r]), weight[r], x, sum) : hn::MulAdd(weight[r], x, sum);
    }
  }
}

// Independent sums that keep the multiply-adds busy, as far as there are registers for them.
constexpr int kFewSums = hn::kRegisters / 2 < 8 ? hn::kRegisters / 2 : 8;

// o[r][element + ..] for kVectors vectors, the last of which has `part` elements (kLanes = a whole one). Keys go round
// kStrands accumulators, so that there are enough independent sums where rows and vectors are few.
template <int kRows, bool kHides, int kVectors, int kStrands>
FOVEA_INLINE void FewValueBlock(const QueryTile& t, const KeyTile& keys, size_t element, size_t part) {
  constexpr uint32_t kKeys = FewBlock<kRows>::kKeys;
  const size_t padded = PaddedToLanes(t.value_dim);
  VF acc[kStrands][kRows][kVectors];
  FOVEA_UNROLL(4)
  for (int r = 0; r < kRows; ++r) {
    const VF rescale = hn::Set(kF, t.rescale[r * kKeys]);
    FOVEA_UNROLL(8)
    for (int v = 0; v < kVectors; ++v) {
      acc[0][r][v] = hn::Mul(hn::LoadU(kF, t.o + r * padded + element + v * kLanes), rescale);
      FOVEA_UNROLL(8)
      for (int strand = 1; strand < kStrands; ++strand) acc[strand][r][v] = hn::Zero(kF);
    }
  }
  const float* value = keys.values + ptrdiff_t(keys.begin) * keys.value_stride + element;
  // Each block asks for its share of the keys that come next.
  const bool ask = AsksAhead<kRows>(t) && keys.more;
  LineCursor ahead = LineCursor::At(keys.keys + ptrdiff_t(ask ? kKeyTile : 0) * keys.key_stride, keys.key_stride,
                                    t.head_dim, element * kKeyTile);
  const uint32_t count = keys.end - keys.begin;
  uint32_t j = 0;
  for (; j + kStrands <= count; j += kStrands) {
    FOVEA_UNROLL(8)
    for (uint32_t strand = 0; strand < kStrands; ++strand) {
      FewValueStep<kRows, kHides>(t.s + (j + strand) / kKeys * kLanes + (j + strand) % kKeys, value, part, acc[strand]);
      if (ask) ahead.Ask(kVectors * kLanes);
      value += keys.value_stride;
    }
  }
  for (; kStrands > 1 && j < count; ++j, value += keys.value_stride) {
    FewValueStep<kRows, kHides>(t.s + j / kKeys * kLanes + j % kKeys, value, part, acc[0]);
  }
  FOVEA_UNROLL(4)
  for (int r = 0; r < kRows; ++r) {
    FOVEA_UNROLL(8)
    for (int v = 0; v < kVectors; ++v) {
      VF sum = acc[0][r][v];
      FOVEA_UNROLL(8)
      for (int strand = 1; strand < kStrands; ++strand) sum = hn::Add(sum, acc[strand][r][v]);
      hn::StoreU(sum, kF, t.o + r * padded + element + v * kLanes);
    }
  }
}

// Blocks of kVectors vectors while they fit, then of half as many.
template <int kRows, bool kHides, int kVectors>
FOVEA_INLINE void FewValueBlocks(const QueryTile& t, const KeyTile& keys, size_t element) {
  constexpr int kStrands = kRows * kVectors >= kFewSums ? 1 : kFewSums / (kRows * kVectors);
  for (; element + kVectors * kLanes <= t.value_dim; element += kVectors * kLanes) {
    FewValueBlock<kRows, kHides, kVectors, kStrands>(t, keys, element, kLanes);
  }
  if constexpr (kVectors > 1) {
    FewValueBlocks<kRows, kHides, kPreferSize ? 1 : kVectors / 2>(t, keys, element);
  } else if (element < t.value_dim) {
    FewValueBlock<kRows, kHides, 1, kStrands>(t, keys, element, t.value_dim - element);
  }
}

template <int kRows, bool kHides>
FOVEA_TEMPLATE void FewValues(const QueryTile& t, const KeyTile& keys) {
  constexpr int kAccumulators = hn::kRegisters / 2;
  FewValueBlocks<kRows, kHides, (kAccumulators / kRows < 8 ? kAccumulators / kRows : 8)>(t, keys, 0);
}

template <int kRows>
FOVEA_TEMPLATE void FewAttendRows(const QueryTile& t, const KeyTile& keys, const ScoreStages& stages) {
  FewStagedScores<kRows>(t, keys, stages, FOVEA_SCORES_SOFTMAX);
  FewSoftmax<kRows>(t, keys);
  if (Hides(keys, stages)) {
    FewValues<kRows, true>(t, keys);
  } else {
    FewValues<kRows, false>(t, keys);
  }
}

FOVEA_KERNEL void FewBegin(const QueryTile& t, const RowArray<const float>& q, float scale) {
  const size_t padded = PaddedToLanes(t.head_dim), rows = t.columns / t.row_lanes;
  const VF scales = hn::Set(kF, scale);
  for (size_t r = 0; r < rows; ++r) {
    const float* row = q.data + RowOffset(t, r, q.token_stride, q.head_stride);
    for (size_t d = 0; d < t.head_dim; d += kLanes) {
      const size_t n = t.head_dim - d < kLanes ? t.head_dim - d : kLanes;
      hn::StoreU(hn::Mul(hn::LoadN(kF, row + d, n), scales), kF, t.q + r * padded + d);
    }
  }
  hn::StoreU(hn::Set(kF, -kInfinity), kF, t.row_max);
  hn::StoreU(hn::Zero(kF), kF, t.row_sum);
  for (size_t i = 0; i < rows * PaddedToLanes(t.value_dim); i += kLanes) hn::StoreU(hn::Zero(kF), kF, t.o + i);
}

FOVEA_KERNEL void FewAttend(const QueryTile& t, const KeyTile& keys, const ScoreStages& stages) {
  const uint32_t rows = t.columns / t.row_lanes;
  if (rows == 1) return FewAttendRows<1>(t, keys, stages);
  if (rows == 2) return FewAttendRows<2>(t, keys, stages);
  if constexpr (kLanes > 4) FewAttendRows<4>(t, keys, stages);  // with 4 lanes, 4 rows fill the tile kernel
}

FOVEA_KERNEL void FewEnd(const QueryTile& t, const RowOutputs& outputs) {
  float normalise[kLanes], lse[kLanes];
  const bool wants_lse = config::kLse && outputs.lse.data;
  hn::StoreU(Normalise(t, 0, outputs.sinks, wants_lse ? lse : nullptr), kF, normalise);
  const size_t padded = PaddedToLanes(t.value_dim);
  for (size_t r = 0; r < t.live; ++r) {
    float* out = outputs.out.data + RowOffset(t, r, outputs.out.token_stride, outputs.out.head_stride);
    const VF factor = hn::Set(kF, normalise[r * t.row_lanes]);
    const MF empty = hn::Eq(hn::Set(kF, t.row_sum[r * t.row_lanes]), hn::Zero(kF));
    for (size_t e = 0; e < t.value_dim; e += kLanes) {
      const size_t n = t.value_dim - e < kLanes ? t.value_dim - e : kLanes;
      const VF o = hn::Mul(hn::LoadU(kF, t.o + r * padded + e), factor);
      hn::StoreN(hn::IfThenZeroElse(empty, o), kF, out + e, n);
    }
    if (wants_lse) {
      outputs.lse.data[RowOffset(t, r, outputs.lse.token_stride, outputs.lse.head_stride)] = lse[r * t.row_lanes];
    }
  }
}

template <int kRows>
FOVEA_TEMPLATE void FewScoresOutRows(const QueryTile& t, const KeyTile& keys, const ScoreStages& stages,
                                     fovea_scores_stage stage, const RowArray<float>& scores) {
  constexpr uint32_t kKeys = FewBlock<kRows>::kKeys;
  FewStagedScores<kRows>(t, keys, stages, stage);
  for (uint32_t j = keys.begin; j < keys.end; j += kKeys) {
    float lanes[kLanes];
    hn::StoreU(ScoreAtStage(t, 0, hn::LoadU(kF, BlockScores<kRows>(t, keys, j)), stage, Hides(keys, stages)), kF,
               lanes);
    for (uint32_t r = 0; r < t.live; ++r) {
      float* row = scores.data + RowOffset(t, r, scores.token_stride, scores.head_stride) + keys.first + j;
      for (uint32_t k = 0; k < kKeys && j + k < keys.end; ++k) row[k] = lanes[r * kKeys + k];
    }
  }
}

FOVEA_KERNEL void FewScoresOut(const QueryTile& t, const KeyTile& keys, const ScoreStages& stages,
                               fovea_scores_stage stage, const RowArray<float>& scores) {
  const uint32_t rows = t.columns / t.row_lanes;
  if (rows == 1) return FewScoresOutRows<1>(t, keys, stages, stage, scores);
  if (rows == 2) return FewScoresOutRows<2>(t, keys, stages, stage, scores);
  if constexpr (kLanes > 4) FewScoresOutRows<4>(t, keys, stages, stage, scores);
}

constexpr TileKernels kFewRowsKernels =
    config::kFewRows ? TileKernels{FewBegin, FewAttend, FewEnd, config::kScores ? FewScoresOut : nullptr,
                                   config::kScores ? ScoresHidden : nullptr}
                     : TileKernels{};
