// SPDX-License-Identifier: Apache-2.0
//
// The two products of the few-rows kernel with integer codes, and the softmax between them: the same numbers as in
// i8/tile.inl, and the same bits. Lanes run along head_dim. Rows of keys and values are read as they are stored:
//   x = query codes [step][row][reads], a step of a key repeated for each row -> scores
//   weight codes [row][key], a group of keys at a time, whose values are interleaved in registers -> sums of values

using FewQuery = decltype(dot::LoadFewX(nullptr));  // codes of queries and keys in a vector
using FewValueSum = decltype(dot::FewZero());
constexpr uint32_t kStrands = 16;  // of a sum of weights, see SoftmaxTile

FOVEA_INLINE dot::FewCode* FewQueryCodes(const QueryTile& t) { return reinterpret_cast<dot::FewCode*>(t.q); }
// [row][kKeyTile], after the scores.
template <int kRows>
FOVEA_INLINE dot::FewWeight* FewWeightCodes(const QueryTile& t) {
  return reinterpret_cast<dot::FewWeight*>(t.s + kRows * kKeyTile);
}

FOVEA_INLINE const int8_t* CodesOfRow(const KeyRows& rows, uint32_t row) {
  return static_cast<const int8_t*>(rows.data) + ptrdiff_t(row) * rows.stride;
}

// Whether the values of a key tile are prefetched while its keys are multiplied, and the next keys while its values
// are. Values that were brought are in the caches already; they have no scales of their own. Processors with few
// registers have no second-level cache.
template <int kRows>
FOVEA_INLINE bool PrefetchesAhead(const QueryTile& t, const KeyTile& keys) {
  return hn::kRegisters > 8 && t.value_dim == t.head_dim && keys.values.scales;
}

// Adjacent rows are prefetched as one long row.
FOVEA_INLINE LineCursor<FOVEA_I8> AskFrom(const void* rows, ptrdiff_t stride, size_t dim, size_t index) {
  auto ahead = LineCursor<FOVEA_I8>::At(rows, stride, dim, index);
  if (stride != ptrdiff_t(dim)) return ahead;
  return {ahead.row + ahead.byte, 0, SIZE_MAX, 0};
}
template <size_t kBytes>
FOVEA_INLINE void AskLines(LineCursor<FOVEA_I8>& ahead) {
  if (kBytes <= kCacheLine || ahead.row_bytes >= kBytes) return ahead.template Prefetch<kBytes>();
  for (size_t i = 0; i < kBytes; i += kCacheLine) ahead.template Prefetch<kCacheLine>();
}

template <class Row, class Fit>
FOVEA_INLINE void FewPutRow(const QueryTile& t, const Row& row, const Fit& fit, size_t r) {
  const size_t rows = t.columns / t.row_lanes, reads = dot::FewReads(rows), padded = round_up(t.head_dim, reads);
  for (size_t d = 0; d < padded; d += kLanes) {
    const size_t n = d >= t.head_dim ? 0 : t.head_dim - d < kLanes ? t.head_dim - d : kLanes;
    dot::StoreFewQueries(fit.Biased(row(d, n)), FewQueryCodes(t) + (d / reads * rows + r) * reads + d % reads);
  }
}

template <fovea_dtype kType>
FOVEA_INLINE void FewBeginRow(const QueryTile& t, const ScaledRow<kType>& row, size_t r) {
  const ScaleI8 fit = ScaleI8::Of(row, t.head_dim);
  hn::StoreN(fit.scale, kF, QueryScales(t) + r * t.row_lanes, t.row_lanes);
  FewPutRow(t, row, fit, r);
}

FOVEA_KERNEL void FewBegin(const QueryTile& t, const TypedRows& q, float scale) {
  const size_t rows = t.columns / t.row_lanes;
  const RowArray<char> queries = BytesOf(q);
  const auto begin_row = [&](size_t r) {
    const char* const query = queries.data + RowOffset(t, r, queries.token_stride, queries.head_stride);
    if (kHasI8Tensors && q.dtype == FOVEA_I8) return FewPutRow(t, CodeRow::Of(query), CodesAsTheyAre{}, r);
    FOVEA_WITH_FORMAT(kQueryTexts, q.dtype, FewBeginRow<kType>(t, {query, q.dtype, hn::Set(kF, scale)}, r));
  };
  for (size_t r = 0; r < rows; ++r) begin_row(r);
  hn::StoreU(hn::Set(kF, -kInfinity), kF, t.row_max);
  hn::StoreU(hn::Zero(kF), kF, t.row_sum);
  for (size_t i = 0; i < rows * PaddedToLanes(t.value_dim); i += kLanes) hn::StoreU(hn::Zero(kF), kF, t.o + i);
}

#if defined(FOVEA_DOT_FEW_SCORES)
#include FOVEA_DOT_FEW_SCORES
#else

// Adds one step of each key to its sums: as many elements as a vector reads, or n.
template <int kRows, bool kPart, int kVectors, int kBlocks, size_t kKeys>
FOVEA_INLINE void AddFewScores(const dot::FewCode* x, const int8_t* const (&at)[kBlocks * kKeys], size_t d, size_t n,
                               dot::Sum (&sums)[kBlocks][kVectors * kKeys]) {
  FewQuery q[kVectors];
  FOVEA_UNROLL(4)
  for (int v = 0; v < kVectors; ++v) q[v] = dot::LoadFewX(x + v * dot::kFewXCodes);
  FOVEA_UNROLL(8)
  for (int b = 0; b < kBlocks; ++b) {
    FOVEA_UNROLL(16)
    for (size_t k = 0; k < kKeys; ++k) {
      const int8_t* const key = at[b * kKeys + k] + d;
      const FewQuery e = kPart ? dot::LoadFewPart<kRows>(key, n) : dot::LoadFew<kRows>(key);
      FOVEA_UNROLL(4)
      for (int v = 0; v < kVectors; ++v) sums[b][v * kKeys + k] = dot::FewScoreDot(q[v], e, sums[b][v * kKeys + k]);
    }
  }
}

template <int kRows, bool kPrefetch>
FOVEA_TEMPLATE void FewScores(const QueryTile& t, const KeyTile& keys) {
  constexpr uint32_t kKeys = FewBlock<kRows>::kKeys;
  constexpr int kVectors = dot::kFewVectors<kRows>, kSums = kVectors * int(kKeys);
  constexpr int kBlocks = hn::kRegisters / 2 > kSums ? hn::kRegisters / 2 / kSums : 1;
  constexpr size_t kStep = dot::FewReads(kRows);
  const dot::FewCode* const queries = FewQueryCodes(t);
  const size_t dim = t.head_dim, whole = dim / kStep * kStep;
  const dot::Sum start = dot::FewStart(queries, round_up(dim, kStep) / kStep);
  const VF query_scales = hn::LoadU(kF, QueryScales(t));
  auto ahead = AskFrom(CodesOfRow(keys.values, keys.begin), keys.values.stride, t.value_dim, 0);
  for (uint32_t j = keys.begin; j < keys.end; j += kBlocks * kKeys) {
    const int8_t* at[kBlocks * kKeys];
    dot::Sum sums[kBlocks][kSums];
    const int8_t* key = CodesOfRow(keys.keys, j);
    if (keys.end - j >= kBlocks * kKeys) {
      FOVEA_UNROLL(16)
      for (uint32_t k = 0; k < kBlocks * kKeys; ++k, key += keys.keys.stride) at[k] = key;
    } else {
      FOVEA_UNROLL(16)
      for (uint32_t k = 0; k < kBlocks * kKeys; ++k) {  // keys past the end repeat the last one
        at[k] = key;
        if (j + k + 1 < keys.end) key += keys.keys.stride;
      }
    }
    FOVEA_UNROLL(8)
    for (int b = 0; b < kBlocks; ++b) {
      FOVEA_UNROLL(16)
      for (int i = 0; i < kSums; ++i) sums[b][i] = start;
    }
    const dot::FewCode* x = queries;
    for (size_t d = 0; d < whole; d += kStep, x += kRows * kStep) {
      if constexpr (kPrefetch) AskLines<kBlocks * kKeys * kStep>(ahead);
      AddFewScores<kRows, false, kVectors, kBlocks, kKeys>(x, at, d, kStep, sums);
    }
    if (whole < dim) AddFewScores<kRows, true, kVectors, kBlocks, kKeys>(x, at, whole, dim - whole, sums);
    FOVEA_UNROLL(8)
    for (int b = 0; b < kBlocks; ++b) {
      const uint32_t first = j + b * kKeys;
      if (first >= keys.end) continue;
      const VF key_scales = dot::LoadForEachRow<kRows>(keys.numbers().key_scale + first);
      const VF products = hn::Mul(dot::SumsOfRows<kRows>(sums[b]), key_scales);
      StoreFewScores<kRows>(t, keys, first, hn::Mul(products, query_scales));
    }
  }
}

#endif

// NaN for the rows that see a value whose scale is not finite, else 0. Keys past the end may have been brought for
// other tiles.
template <int kRows>
FOVEA_CALLED_TEMPLATE VF NanOfRows(const QueryTile& t, const KeyTile& keys, bool hides) {
  VF nan = hn::Zero(kF);
  for (uint32_t j = keys.begin; j < keys.end; j += FewBlock<kRows>::kKeys) {
    const VF x = hn::LoadU(kF, BlockScores<kRows>(t, keys, j)),
             each = dot::LoadForEachRow<kRows>(keys.numbers().value_nan + j);
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
  dot::FewWeight* codes = FewWeightCodes<kRows>(t);
  VF sum = hn::Zero(kF);
  for (const float* s = t.s; s != s_end; s += kLanes, codes += kKeys) {
    const VF biased = hn::Add(hn::Mul(hn::LoadU(kF, s), inverse), bias);
    sum = hn::Add(sum, hn::Sub(biased, bias));
    if constexpr (kRows == 1) {
      dot::StoreFewWeights(biased, codes);
      continue;
    }
    dot::FewWeight lanes[kLanes];
    dot::StoreFewWeights(biased, lanes);
    FOVEA_UNROLL(4)
    for (int r = 0; r < kRows; ++r) __builtin_memcpy(codes + r * kKeyTile, lanes + r * kKeys, kKeys * sizeof *codes);
  }
  if (!HasZero(keys)) return;
  hn::StoreU(hn::MulSet(ReduceRows<kRows, false>(sum), keys.numbers().value_zero), kF, ZeroSums(t));
}

// Where FewSoftmax leaves the weights that are kept: those in t.s are multiplied by the scales of their values.
FOVEA_INLINE float* WeightsToKeep(const QueryTile&, const KeyTile& keys) { return *keys.kept + kKeptKeysFloats; }

// Adds a vector of weights to its strand, and stores them times the scales of their values in the place of the scores.
// Lanes past the end have no scales, but they are hidden.
template <int kRows, bool kHides>
FOVEA_INLINE void TakeWeights(const QueryTile& t, const KeyTile& keys, VF p, float* at, const float* scale, VF& strand,
                              VF& top) {
  const MF hidden = hn::Eq(hn::LoadU(kF, at), hn::Set(kF, -kInfinity));
  const VF seen = kHides ? hn::IfThenZeroElse(hidden, p) : p;
  strand = hn::Add(strand, seen);
  if (kHides && Keeps(keys)) hn::StoreU(seen, kF, WeightsToKeep(t, keys) + (at - t.s));
  const VF scaled = hn::Mul(p, dot::LoadForEachRow<kRows>(scale)),
           weight = kHides ? hn::IfThenZeroElse(hidden, scaled) : scaled;
  top = hn::Max(top, weight);
  hn::StoreU(weight, kF, at);
}

#include "attention/i8/few_row.inl"

// With few registers one strand after the other is summed. Without kHides no score is hidden, and none is kept.
constexpr bool kStrandsApart = hn::kRegisters < 16 && !kPreferSize;
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
  if constexpr (kStrandsApart && !kMayHideNone<kRows>) {
    for (int v = 0; v < kVectors; ++v, scale += kKeys) {
      strands[v] = FewWeighStrand<kRows, true>(t, keys, t.s + v * kLanes, s_end, scale, shift, top);
    }
  } else if constexpr (kStrandsApart) {
    const bool hidden = hides || (keys.end - keys.begin) % kStrands != 0 || Keeps(keys);
    FOVEA_UNROLL(8)
    for (int v = 0; v < kVectors; ++v) {
      float* const s = t.s + v * kLanes;
      strands[v] = hidden ? FewWeighStrand<kRows, true>(t, keys, s, s_end, scale + v * kKeys, shift, top)
                          : FewWeighStrand<kRows, false>(t, keys, s, s_end, scale + v * kKeys, shift, top);
    }
  } else {
    FOVEA_UNROLL(8)
    for (VF& strand : strands) strand = hn::Zero(kF);
    for (float* s = t.s; s != s_end; s += kVectors * kLanes, scale += kStrands) {
      FOVEA_UNROLL_FOR_SPEED(8)
      for (int first = 0; first < kVectors; first += kAtOnce) {
        float* const at = s + first * kLanes;
        VF p[kAtOnce];
        FOVEA_UNROLL(8)
        for (int v = 0; v < kAtOnce; ++v) p[v] = hn::Sub(hn::LoadU(kF, at + v * kLanes), shift);
        ShortExp2(p);
        FOVEA_UNROLL(8)
        for (int v = 0; v < kAtOnce; ++v) {
          TakeWeights<kRows, true>(t, keys, p[v], at + v * kLanes, scale + (first + v) * kKeys, strands[first + v],
                                   top);
        }
      }
    }
  }
}

// Like SoftmaxTile and PackWeights, but row_max, row_sum, rescale and ValueFactors hold the same number in all lanes of
// a row.
template <int kRows>
FOVEA_TEMPLATE void FewSoftmax(const QueryTile& t, const KeyTile& keys, bool hides) {
  if (FewWeighRow<kRows>(t, keys, hides)) return;
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
  hn::StoreU(hn::Add(hn::Mul(top, hn::Set(kF, 1.0f / 255)), nan), kF, ValueFactors(t));
  FewPackWeights<kRows>(t, keys, s_end, top);
}

// Like TakeOutZero.
template <int kRows>
FOVEA_CALLED_TEMPLATE void FewTakeOutZero(const QueryTile& t) {
  constexpr uint32_t kKeys = FewBlock<kRows>::kKeys;
  const size_t padded = PaddedToLanes(t.value_dim);
  for (size_t r = 0; r < kRows; ++r) {
    const VF zero = hn::Mul(hn::Set(kF, ZeroSums(t)[r * kKeys]), hn::Set(kF, ValueFactors(t)[r * kKeys]));
    float* const o = t.o + r * padded;
    for (size_t e = 0; e < padded; e += kLanes) hn::StoreU(hn::Sub(hn::LoadU(kF, o + e), zero), kF, o + e);
  }
}

// sums[row][..] += the weights of a group of keys times their values, which begin at `value`; n elements of them, if
// these do not fill the vectors. If fewer keys than a group are left, the last one is read for the others, whose
// weights are 0.
template <int kRows, bool kPart, int kVectors>
FOVEA_INLINE void AddFewValues(const dot::FewWeight* codes, const int8_t* value, ptrdiff_t stride, uint32_t count,
                               size_t n, FewValueSum (&sums)[kRows][kVectors]) {
  const int8_t* at[dot::kFewGroup];
  FOVEA_UNROLL(4)
  for (uint32_t k = 0; k < dot::kFewGroup; ++k) at[k] = value + ptrdiff_t(k < count ? k : count - 1) * stride;
  dot::FewX values[kVectors];
  if constexpr (kPart) {
    dot::LoadFewValuesPart(at, n, values);
  } else {
    dot::LoadFewValues(at, values);
  }
  FOVEA_UNROLL(4)
  for (int r = 0; r < kRows; ++r) {
    const auto weights = dot::SetFewWeights(codes + r * kKeyTile);
    FOVEA_UNROLL(4)
    for (int v = 0; v < kVectors; ++v) sums[r][v] = dot::FewValueDot(weights, values[v], sums[r][v]);
  }
}

// o[r][element + ..] for kVectors vectors, or for n elements.
template <int kRows, bool kPart, int kVectors>
FOVEA_INLINE void FewValueBlock(const QueryTile& t, const KeyTile& keys, const FewValueSum (&starts)[kRows],
                                size_t element, size_t n) {
  constexpr uint32_t kKeys = FewBlock<kRows>::kKeys, kGroupKeys = dot::kFewGroup;
  constexpr int kSums = kRows * kVectors, kTurns = hn::kRegisters / 4 > kSums ? hn::kRegisters / 4 / kSums : 1;
  constexpr int kGroups = kTurns > 1 || kPreferSize || hn::kRegisters > 8 ? kTurns : 4;  // in a round of the loop
  const size_t padded = PaddedToLanes(t.value_dim);
  FewValueSum sums[kTurns][kRows][kVectors];
  FOVEA_UNROLL(8)
  for (int i = 0; i < kTurns; ++i) {
    FOVEA_UNROLL(4)
    for (int r = 0; r < kRows; ++r) {
      FOVEA_UNROLL(4)
      for (int v = 0; v < kVectors; ++v) sums[i][r][v] = i == 0 ? starts[r] : dot::FewZero();
    }
  }
  const bool ask = PrefetchesAhead<kRows>(t, keys) && keys.next_keys;
  auto ahead = AskFrom(keys.next_keys, keys.keys.stride, t.head_dim, element * kKeyTile);
  const dot::FewWeight* codes = FewWeightCodes<kRows>(t);
  const ptrdiff_t stride = keys.values.stride;
  // An integer, because it moves past the last row.
  uintptr_t value = reinterpret_cast<uintptr_t>(CodesOfRow(keys.values, keys.begin) + element);
  const uintptr_t step = kGroupKeys * uintptr_t(stride);
  uint32_t left = keys.end - keys.begin;
  for (; left >= kGroups * kGroupKeys; left -= kGroups * kGroupKeys) {
    FOVEA_UNROLL(8)
    for (int i = 0; i < kGroups; ++i, codes += kGroupKeys, value += step) {
      if (ask) AskLines<kGroupKeys * kVectors * kLanes>(ahead);
      AddFewValues<kRows, kPart>(codes, reinterpret_cast<const int8_t*>(value), stride, kGroupKeys, n,
                                 sums[i % kTurns]);
    }
  }
  for (uint32_t count; left > 0; left -= count, codes += kGroupKeys, value += step) {
    count = left < kGroupKeys ? left : kGroupKeys;
    AddFewValues<kRows, kPart>(codes, reinterpret_cast<const int8_t*>(value), stride, count, n, sums[0]);
  }
  FOVEA_UNROLL(4)
  for (int r = 0; r < kRows; ++r) {
    const VF rescale = hn::Set(kF, t.rescale[r * kKeys]), factor = hn::Set(kF, ValueFactors(t)[r * kKeys]);
    FOVEA_UNROLL(8)
    for (int i = 1; i < kTurns; ++i) {
      FOVEA_UNROLL(4)
      for (int v = 0; v < kVectors; ++v) sums[0][r][v] = dot::FewAdd(sums[0][r][v], sums[i][r][v]);
    }
    VF floats[kVectors];
    dot::InOrder(sums[0][r], floats);
    float* o = t.o + r * padded + element;
    FOVEA_UNROLL(4)
    for (int v = 0; v < kVectors; ++v, o += kLanes) {
      if (kPart && size_t(v) * kLanes >= n) break;
      hn::StoreU(hn::Add(hn::Mul(hn::LoadU(kF, o), rescale), hn::Mul(floats[v], factor)), kF, o);
    }
  }
}

// Whether keys are hidden does not matter: their weights are codes of 0, and no value is NaN.
template <int kRows>
FOVEA_TEMPLATE void FewValues(const QueryTile& t, const KeyTile& keys, bool) {
  constexpr int kVectors = dot::kFewValueVectors<kRows>;
  FewValueSum starts[kRows];
  FOVEA_UNROLL(4)
  for (int r = 0; r < kRows; ++r) {
    starts[r] = dot::FewValueStart(FewWeightCodes<kRows>(t) + r * kKeyTile, keys.end - keys.begin);
  }
  size_t e = 0;
  if constexpr (kHasValuesOfRow<kRows>) e = FewValuesOfRow<kRows>(t, keys);
  for (; !kHasValuesOfRow<kRows> && e + kVectors * kLanes <= t.value_dim; e += kVectors * kLanes) {
    FewValueBlock<kRows, false, kVectors>(t, keys, starts, e, kVectors * kLanes);
  }
  if (e < t.value_dim) FewValueBlock<kRows, true, kVectors>(t, keys, starts, e, t.value_dim - e);
  if (HasZero(keys)) FewTakeOutZero<kRows>(t);
}

// Stores rows as rows of i8 in a buffer, if there is one: for rows that are not adjacent or not of i8. Others stay
// where they are. Returns the scales of the rows, which may be stored at `scales`.
template <fovea_dtype kType>
FOVEA_SHARED_TEMPLATE const float* FewBringRows(const RowsToBring& r, float* scales) {
  if (!r.to && r.rows.scale_stride == 1) return static_cast<const float*>(*r.rows.scales);
  if constexpr (kOneFormat && kGrouped<kType>) {
    if (WidensGroups<kType>(r.dim)) {
      WidenGroups<kType>(r.rows, r.count, r.dim, static_cast<uint8_t*>(r.to), r.dim, scales);
      return scales;
    }
  }
  for (uint32_t i = 0; i < r.count; ++i) {
    const CodedRow<kType> row = CodedRowOf<kType>(r, i);
    scales[i] = row.Scale();
    if (!r.to) continue;
    uint8_t* const to = static_cast<uint8_t*>(r.to) + i * r.dim;
    for (size_t d = 0; d < r.dim; d += kLanes) {
      const size_t n = r.dim - d < kLanes ? r.dim - d : kLanes;
      hn::StoreU8N(hn::BitCast(kI, hn::Add(row.Codes(d, n), hn::Set(kF, kRoundingBias))), to + d, n);
    }
  }
  return scales;
}

// Brings rows and calls note(scales). The scales are already where they are to be noted, which saves stack; unless
// WidenGroups widens the rows, because it stores more scales than there are rows.
template <fovea_dtype kType, class Note>
FOVEA_INLINE void FewBring(const RowsToBring& r, float* scales, const Note& note) {
  if constexpr (kOneFormat && WidensGroups<kType>(kScaleGroup)) {
    float room[kKeyTile + kWidenedAtOnce];
    note(FewBringRows<kType>(r, room));
  } else {
    note(FewBringRows<kType>(r, scales));
  }
}

template <fovea_dtype kType>
FOVEA_INLINE void FewBringKeysOf(const RowsToBring& r) {
  FewBring<kType>(r, r.numbers->key_scale + r.at,
                  [&](const float* scales) __attribute__((always_inline)) { NoteKeyScales(r, scales); });
}
FOVEA_KERNEL void FewBringKeys(const RowsToBring& r) {
  FOVEA_WITH_FORMAT(kCodedTexts, r.rows.dtype, FewBringKeysOf<kType>(r));
}

template <fovea_dtype kType>
FOVEA_INLINE void FewBringValuesOf(const RowsToBring& r) {
  FewBring<kType>(r, r.numbers->value_scale + r.at, [&](const float* scales) __attribute__((always_inline)) {
    if (r.at == r.begin) BeginValueScales(r);
    NoteValueScales(r, scales);
  });
}
FOVEA_KERNEL void FewBringValues(const RowsToBring& r) {
  FOVEA_WITH_FORMAT(kCodedTexts, r.rows.dtype, FewBringValuesOf<kType>(r));
}
