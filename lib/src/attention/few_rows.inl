// SPDX-License-Identifier: Apache-2.0
//
// The few-rows kernel: one-token decode leaves most lanes of the tile kernel empty, so here the lanes run along
// head_dim, and one to four query rows read each key and value once. Scores stand kRows by kKeys in a vector: lane =
// row * kKeys + key. The values of a tile are asked for while its keys are multiplied, and the next keys while the
// values are.

// Keys and values in these formats are taken as they lie.
constexpr FormatSet kFewRowsFormats = kPreferSize ? kOnlyF32 : kServedFormats;

// A block of keys for kRows rows: kRows * kKeys dot products, whose sums fill one vector.
template <int kRows>
struct FewBlock {
  static constexpr uint32_t kKeys = kLanes / kRows;
  static constexpr uint32_t kGroup = kKeys < 4 ? kKeys : 4;  // keys multiplied at a time
};

// Asks for the rows of a tile in the order of addresses, a few lines at a time: that is what the processor's own
// prefetcher goes by. They are asked into the second cache, which waits for more lines at once than the first and has
// room for a tile. Lines behind the end of a row may be asked for, which reads nothing.
template <fovea_dtype kType>
struct LineCursor {
  static constexpr size_t kBits = format_of(kType).bits;  // an element
  uintptr_t row;                                          // an address at which there need be nothing
  ptrdiff_t stride;
  size_t row_bytes, byte;

  // At element `index` of the rows, counted row by row.
  FOVEA_INLINE LineCursor At(const void* rows, ptrdiff_t stride, size_t dim, size_t index) {
    const ptrdiff_t row_stride = stride_bytes(stride, unit_bytes(kType));
    return {reinterpret_cast<uintptr_t>(rows) + index / dim * uintptr_t(row_stride), row_stride, dim * kBits / 8,
            index % dim * kBits / 8};
  }
  template <size_t kElements>
  inline __attribute__((always_inline)) void Ask() {
    constexpr size_t kBytes = kElements * kBits / 8;
    FOVEA_UNROLL(8)
    for (size_t i = 0; i < kBytes; i += kCacheLine) {
      __builtin_prefetch(reinterpret_cast<const char*>(row + byte + i), 0, 2);
    }
    byte += kBytes;
    const bool row_ends = byte >= row_bytes;
    row += row_ends ? uintptr_t(stride) : 0;
    byte = row_ends ? 0 : byte;
  }
};

// A single row does so little with a line that the processor's prefetcher keeps up by itself.
template <int kRows>
FOVEA_INLINE bool AsksAhead(const QueryTile& t, const KeyTile& keys) {
  return kRows > 1 && t.value_dim == t.head_dim && keys.keys.dtype == keys.values.dtype;
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

// Rows of a format, one after the other.
template <fovea_dtype kType>
struct RowCursor {
  const char* data;
  const char* scales;
  ptrdiff_t stride, scale_stride;  // bytes

  FOVEA_INLINE RowCursor At(const KeyRows& rows, ptrdiff_t first) {
    const ptrdiff_t stride = stride_bytes(rows.stride, unit_bytes(kType));
    const ptrdiff_t scale_stride = stride_bytes(rows.scale_stride, scale_bytes(kType));
    return {static_cast<const char*>(rows.data) + first * stride,
            static_cast<const char*>(rows.scales) + first * scale_stride, stride, scale_stride};
  }
  inline __attribute__((always_inline)) FormatRow<kType> Row() const { return FormatRow<kType>::Of(data, scales); }
  inline __attribute__((always_inline)) void Next() {
    data += stride;
    scales += scale_stride;
  }
};

// The block at key j: sums of products, and -inf in the lanes behind the end.
template <int kRows>
FOVEA_INLINE void StoreFewScores(const QueryTile& t, const KeyTile& keys, uint32_t j, VF sums) {
  if (j + FewBlock<kRows>::kKeys > keys.end) {
    const VF past_end = hn::Set(kF, float(keys.end - j));
    sums = hn::IfThenElse(hn::Lt(KeyOffsets<kRows>(), past_end), sums, hn::Set(kF, -kInfinity));
  }
  hn::StoreU(sums, kF, BlockScores<kRows>(t, keys, j));
}

template <int kRows, bool kPrefetch, fovea_dtype kType>
FOVEA_TEMPLATE void FewScoresOf(const QueryTile& t, const KeyTile& keys) {
  constexpr uint32_t kKeys = FewBlock<kRows>::kKeys, kGroup = FewBlock<kRows>::kGroup;
  constexpr bool kRowScales = format_of(kType).scaled == Scaled::kRow;
  const size_t head_dim = t.head_dim, whole = head_dim / kLanes * kLanes, padded = PaddedToLanes(head_dim);
  auto next_key = RowCursor<kType>::At(keys.keys, ptrdiff_t(keys.begin));
  const auto first_value = RowCursor<kType>::At(keys.values, ptrdiff_t(keys.begin));
  auto ahead = LineCursor<kType>::At(first_value.data, keys.values.stride, t.value_dim, 0);
  for (uint32_t j = keys.begin; j < keys.end; j += kKeys) {
    VF products[kLanes];
    float scales[kLanes];
    FOVEA_UNROLL(4)
    for (uint32_t g = 0; g < kKeys; g += kGroup) {
      FormatRow<kType> key[kGroup];
      VF acc[kRows][kGroup];
      FOVEA_UNROLL(4)
      for (uint32_t k = 0; k < kGroup; ++k) {
        key[k] = next_key.Row();
        if constexpr (kRowScales) {
          FOVEA_UNROLL(4)
          for (int r = 0; r < kRows; ++r) scales[r * kKeys + g + k] = *key[k].scale;
        }
        if (j + g + k + 1 < keys.end) next_key.Next();  // keys behind the end repeat the last one
        FOVEA_UNROLL(4)
        for (int r = 0; r < kRows; ++r) acc[r][k] = hn::Zero(kF);
      }
      for (size_t d = 0; d < whole; d += kLanes) {
        VF x[kGroup];
        FOVEA_UNROLL(4)
        for (uint32_t k = 0; k < kGroup; ++k) x[k] = LoadAs(key[k], d);
        if constexpr (kPrefetch) ahead.template Ask<kGroup * kLanes>();
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
          const VF x = LoadAsN(key[k], whole, head_dim - whole);
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
    if constexpr (kRowScales) sums = hn::Mul(sums, FiniteOrNaN(hn::LoadU(kF, scales)));
    StoreFewScores<kRows>(t, keys, j, sums);
  }
}

template <int kRows>
FOVEA_TEMPLATE void FewAdditiveScores(const QueryTile& t, const KeyTile& keys) {
  constexpr uint32_t kKeys = FewBlock<kRows>::kKeys;
  for (uint32_t j = keys.begin; j < keys.end; j += kKeys) {
    VF products[kLanes];
    for (uint32_t i = 0; i < kLanes; ++i) {  // keys behind the end repeat the last one
      const uint32_t row = i / kKeys, key = j + i % kKeys < keys.end ? j + i % kKeys : keys.end - 1;
      products[i] = AdditiveSum(t, t.q + row * PaddedToLanes(t.head_dim), keys.keys.f32(ptrdiff_t(key)));
    }
    StoreFewScores<kRows>(t, keys, j, hn::Mul(hn::SumsOfLanes(products), hn::Set(kF, t.score_factor)));
  }
}

template <int kRows, bool kPrefetch>
FOVEA_INLINE void FewScores(const QueryTile& t, const KeyTile& keys) {
  if (config::kAdditive && t.score_vector) return FewAdditiveScores<kRows>(t, keys);
  constexpr bool kAsk = kRows > 1 && !kPreferSize;  // for f32 alone it is worth two versions
  FOVEA_WITH_FORMAT(kFewRowsFormats, keys.keys.dtype, FewScoresOf < kRows, kType == FOVEA_F32 ? kPrefetch : kAsk,
                    kType > (t, keys));
}

// All scores of the tile, as ApplySteps has them. Lanes behind the end stay hidden whatever the steps make of them.
template <int kRows>
FOVEA_TEMPLATE void FewSteps(const QueryTile& t, const KeyTile& keys, const ScoreSteps& steps,
                             fovea_scores_stage last) {
  StepLanes at = LanesOfRows<kScoreSteps>(FewRows{t, keys, kRows}, keys, steps);
  const VF key_offsets = KeyOffsets<kRows>(), past_end = hn::Set(kF, float(keys.end));
  for (uint32_t j = keys.begin; j < keys.end; j += FewBlock<kRows>::kKeys) {
    float* s = BlockScores<kRows>(t, keys, j);
    at.key_pos = hn::Add(key_offsets, hn::Set(kF, float(j)));
    if (Masked(steps) && last >= FOVEA_SCORES_MASKED) at.mask = FewMask(t, steps, keys, j, kRows);
    const VF x = AllSteps(hn::LoadU(kF, s), at, keys, steps, last);
    hn::StoreU(hn::IfThenElse(hn::Lt(at.key_pos, past_end), x, hn::Set(kF, -kInfinity)), kF, s);
  }
}

template <int kRows>
FOVEA_INLINE void FewSteppedScores(const QueryTile& t, const KeyTile& keys, const ScoreSteps& steps,
                                   fovea_scores_stage last) {
  // Nothing is asked for where all keys fit one tile: next to the rest of such a call it costs more than it brings.
  const bool prefetch = AsksAhead<kRows>(t, keys) && (keys.next_keys || keys.first > 0);
  if (!kPreferSize && prefetch) {
    FewScores<kRows, true>(t, keys);
  } else {
    FewScores<kRows, false>(t, keys);
  }
  if (AnyStep(keys, steps)) FewSteps<kRows>(t, keys, steps, last);
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
  const size_t count = (keys.end - keys.begin + FewBlock<kRows>::kKeys - 1) / FewBlock<kRows>::kKeys * kLanes;
  const VF old_max = hn::LoadU(kF, t.row_max);
  VF max = old_max;
  for (size_t i = 0; i < count; i += kLanes) max = hn::Max(max, hn::LoadU(kF, t.s + i));
  max = MinusInfinityIfLowest(ReduceRows<kRows, true>(max));
  const VF shift = ShiftOf(max);
  VF sum = hn::Zero(kF);
  size_t i = 0;
  for (; i + 4 * kLanes <= count; i += 4 * kLanes) sum = hn::Add(sum, FewWeights<4>(t.s + i, shift));
  for (; i < count; i += kLanes) sum = hn::Add(sum, FewWeights<1>(t.s + i, shift));
  const VF rescale = Exp2(hn::Sub(old_max, shift));
  hn::StoreU(max, kF, t.row_max);
  hn::StoreU(hn::MulAdd(hn::LoadU(kF, t.row_sum), rescale, ReduceRows<kRows, false>(sum)), kF, t.row_sum);
  hn::StoreU(rescale, kF, t.rescale);
}

// sums += the weights of one key (that of row 0 stands at p) times its value from `element` on, of `part` elements
// where it is not whole.
template <int kRows, bool kHides, int kVectors, fovea_dtype kType>
FOVEA_INLINE void FewValueStep(const float* p, const FormatRow<kType>& value, size_t element, size_t part,
                               VF (&sums)[kRows][kVectors]) {
  VF weight[kRows];
  MF hidden[kRows];
  FOVEA_UNROLL(4)
  for (int r = 0; r < kRows; ++r) {
    weight[r] = hn::Set(kF, p[r * FewBlock<kRows>::kKeys]);
    if constexpr (kHides) hidden[r] = hn::SignMask(weight[r]);
    if constexpr (format_of(kType).scaled == Scaled::kRow) {
      const VF scaled = hn::Mul(weight[r], value.Scale(0));
      weight[r] = kHides ? hn::IfThenElse(hidden[r], weight[r], scaled) : scaled;  // a hidden scale may be NaN
    }
  }
  FOVEA_UNROLL(8)
  for (int v = 0; v < kVectors; ++v) {
    const size_t e = element + v * kLanes;
    const VF x = part == kLanes ? LoadAs(value, e) : LoadAsN(value, e, part);
    FOVEA_UNROLL(4)
    for (int r = 0; r < kRows; ++r) {
      VF& sum = sums[r][v];
      sum = kHides ? hn::MulAddUnless(hidden[r], weight[r], x, sum) : hn::MulAdd(weight[r], x, sum);
    }
  }
}

// Independent sums that keep the multiply-adds busy, as far as there are registers for them.
constexpr int kFewSums = hn::kRegisters / 2 < 8 ? hn::kRegisters / 2 : 8;

// o[r][element + ..] for kVectors vectors, the last of which has `part` elements (kLanes = a whole one). Keys go round
// kStrands accumulators, so that there are enough independent sums where rows and vectors are few.
template <int kRows, bool kHides, int kVectors, int kStrands, fovea_dtype kType>
FOVEA_INLINE void FewValueBlock(const QueryTile& t, const KeyTile& keys, size_t element, size_t part) {
  constexpr uint32_t kKeys = FewBlock<kRows>::kKeys;
  const size_t padded = PaddedToLanes(t.value_dim);
  VF acc[kStrands][kRows][kVectors];
  FOVEA_UNROLL(4)
  for (int r = 0; r < kRows; ++r) {
    FOVEA_UNROLL(8)
    for (int v = 0; v < kVectors; ++v) {
      FOVEA_UNROLL(8)
      for (int strand = 0; strand < kStrands; ++strand) acc[strand][r][v] = hn::Zero(kF);
    }
  }
  auto value = RowCursor<kType>::At(keys.values, ptrdiff_t(keys.begin));
  // Each block asks for its share of the keys that come next.
  const bool ask = AsksAhead<kRows>(t, keys) && keys.next_keys;
  auto ahead = LineCursor<kType>::At(keys.next_keys, keys.keys.stride, t.head_dim, element * kKeyTile);
  const uint32_t count = keys.end - keys.begin;
  uint32_t j = 0;
  for (; j + kStrands <= count; j += kStrands) {
    FOVEA_UNROLL(8)
    for (uint32_t strand = 0; strand < kStrands; ++strand) {
      FewValueStep<kRows, kHides>(t.s + (j + strand) / kKeys * kLanes + (j + strand) % kKeys, value.Row(), element,
                                  part, acc[strand]);
      if (ask) ahead.template Ask<kVectors * kLanes>();
      value.Next();
    }
  }
  for (; kStrands > 1 && j < count; ++j, value.Next()) {
    FewValueStep<kRows, kHides>(t.s + j / kKeys * kLanes + j % kKeys, value.Row(), element, part, acc[0]);
  }
  FOVEA_UNROLL(4)
  for (int r = 0; r < kRows; ++r) {
    const VF rescale = hn::Set(kF, t.rescale[r * kKeys]);
    FOVEA_UNROLL(8)
    for (int v = 0; v < kVectors; ++v) {
      VF sum = acc[0][r][v];
      FOVEA_UNROLL(8)
      for (int strand = 1; strand < kStrands; ++strand) sum = hn::Add(sum, acc[strand][r][v]);
      float* const o = t.o + r * padded + element + v * kLanes;
      hn::StoreU(hn::MulAdd(hn::LoadU(kF, o), rescale, sum), kF, o);
    }
  }
}

// Blocks of kVectors vectors while they fit, then of half as many; of formats other than f32 one at a time.
template <int kRows, bool kHides, fovea_dtype kType, int kVectors>
FOVEA_INLINE void FewValueBlocks(const QueryTile& t, const KeyTile& keys, size_t element) {
  constexpr int kStrands = kRows * kVectors >= kFewSums ? 1 : kFewSums / (kRows * kVectors);
  for (; element + kVectors * kLanes <= t.value_dim; element += kVectors * kLanes) {
    FewValueBlock<kRows, kHides, kVectors, kStrands, kType>(t, keys, element, kLanes);
  }
  if constexpr (kVectors > 1) {
    FewValueBlocks<kRows, kHides, kType, kPreferSize || kType != FOVEA_F32 ? 1 : kVectors / 2>(t, keys, element);
  } else if (element < t.value_dim) {
    FewValueBlock<kRows, kHides, 1, kStrands, kType>(t, keys, element, t.value_dim - element);
  }
}

template <int kRows, bool kHides, fovea_dtype kType>
FOVEA_TEMPLATE void FewValuesOf(const QueryTile& t, const KeyTile& keys) {
  constexpr int kAccumulators = hn::kRegisters / 2;
  FewValueBlocks<kRows, kHides, kType, (kAccumulators / kRows < 8 ? kAccumulators / kRows : 8)>(t, keys, 0);
}

template <int kRows, bool kHides>
FOVEA_INLINE void FewValues(const QueryTile& t, const KeyTile& keys) {
  FOVEA_WITH_FORMAT(kFewRowsFormats, keys.values.dtype, FewValuesOf<kRows, kHides, kType>(t, keys));
}

template <int kRows>
FOVEA_TEMPLATE void FewAttendRows(const QueryTile& t, const KeyTile& keys, const ScoreSteps& steps) {
  FewSteppedScores<kRows>(t, keys, steps, FOVEA_SCORES_SOFTMAX);
  FewSoftmax<kRows>(t, keys);
  if (Hides(keys, steps)) {
    FewValues<kRows, true>(t, keys);
  } else {
    FewValues<kRows, false>(t, keys);
  }
}

FOVEA_KERNEL void FewBegin(const QueryTile& t, const TypedRows& q, float scale) {
  const size_t padded = PaddedToLanes(t.head_dim), rows = t.columns / t.row_lanes;
  const VF scales = hn::Set(kF, scale);
  const RowArray<char> queries = BytesOf(q);
  for (size_t r = 0; r < rows; ++r) {
    const char* const row = queries.data + RowOffset(t, r, queries.token_stride, queries.head_stride);
    for (size_t d = 0; d < t.head_dim; d += kLanes) {
      const size_t n = t.head_dim - d < kLanes ? t.head_dim - d : kLanes;
      hn::StoreU(hn::Mul(LoadPart(q.dtype, row, d, n), scales), kF, t.q + r * padded + d);
    }
  }
  hn::StoreU(hn::Set(kF, -kInfinity), kF, t.row_max);
  hn::StoreU(hn::Zero(kF), kF, t.row_sum);
  for (size_t i = 0; i < rows * PaddedToLanes(t.value_dim); i += kLanes) hn::StoreU(hn::Zero(kF), kF, t.o + i);
}

FOVEA_KERNEL void FewAttend(const QueryTile& t, const KeyTile& keys, const ScoreSteps& steps) {
  const uint32_t rows = t.columns / t.row_lanes;
  if (rows == 1) return FewAttendRows<1>(t, keys, steps);
  if (rows == 2) return FewAttendRows<2>(t, keys, steps);
  if constexpr (kLanes > 4) FewAttendRows<4>(t, keys, steps);  // with 4 lanes, 4 rows fill the tile kernel
}

FOVEA_KERNEL void FewEnd(const QueryTile& t, const RowOutputs& outputs) {
  float normalise[kLanes], lse[kLanes];
  const bool wants_lse = config::kLse && outputs.lse.data;
  hn::StoreU(Normalise(t, 0, outputs.sinks, wants_lse ? lse : nullptr), kF, normalise);
  const size_t padded = PaddedToLanes(t.value_dim);
  const RowArray<char> out = BytesOf(outputs.out);
  for (size_t r = 0; r < t.live; ++r) {
    char* const row = out.data + RowOffset(t, r, out.token_stride, out.head_stride);
    const VF factor = hn::Set(kF, normalise[r * t.row_lanes]);
    const MF empty = hn::Eq(hn::Set(kF, t.row_sum[r * t.row_lanes]), hn::Zero(kF));
    for (size_t e = 0; e < t.value_dim; e += kLanes) {
      const size_t n = t.value_dim - e < kLanes ? t.value_dim - e : kLanes;
      const VF o = hn::IfThenZeroElse(empty, hn::Mul(hn::LoadU(kF, t.o + r * padded + e), factor));
      StorePart(outputs.out.dtype, o, row, e, n);
    }
    if (wants_lse) {
      outputs.lse.data[RowOffset(t, r, outputs.lse.token_stride, outputs.lse.head_stride)] = lse[r * t.row_lanes];
    }
  }
}

template <int kRows>
FOVEA_TEMPLATE void FewScoresOutRows(const QueryTile& t, const KeyTile& keys, const ScoreSteps& steps,
                                     fovea_scores_stage stage, const RowArray<float>& scores) {
  constexpr uint32_t kKeys = FewBlock<kRows>::kKeys;
  FewSteppedScores<kRows>(t, keys, steps, stage);
  for (uint32_t j = keys.begin; j < keys.end; j += kKeys) {
    float lanes[kLanes];
    hn::StoreU(ScoreAtStage(t, 0, hn::LoadU(kF, BlockScores<kRows>(t, keys, j)), stage, Hides(keys, steps)), kF, lanes);
    for (uint32_t r = 0; r < t.live; ++r) {
      float* row = scores.data + RowOffset(t, r, scores.token_stride, scores.head_stride) + keys.first + j;
      for (uint32_t k = 0; k < kKeys && j + k < keys.end; ++k) row[k] = lanes[r * kKeys + k];
    }
  }
}

FOVEA_KERNEL void FewScoresOut(const QueryTile& t, const KeyTile& keys, const ScoreSteps& steps,
                               fovea_scores_stage stage, const RowArray<float>& scores) {
  const uint32_t rows = t.columns / t.row_lanes;
  if (rows == 1) return FewScoresOutRows<1>(t, keys, steps, stage, scores);
  if (rows == 2) return FewScoresOutRows<2>(t, keys, steps, stage, scores);
  if constexpr (kLanes > 4) FewScoresOutRows<4>(t, keys, steps, stage, scores);
}

constexpr AttentionKernel kFewRowsOfTarget =
    config::kFewRows ? AttentionKernel{kFewRowsFormats, FewBegin, FewAttend, FewEnd, IfScores(FewScoresOut),
                                       IfScores(ScoresHidden), IfStates(FewResume), IfStates(FewSuspend)}
                     : AttentionKernel{};
