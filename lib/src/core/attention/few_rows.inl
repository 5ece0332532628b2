// SPDX-License-Identifier: Apache-2.0
//
// The few-rows kernel with products of f32. Rows are prefetched: from memory that takes four fifths of the time. One
// function for all counts of rows would take up to 1.37 times as long.
#ifndef FOVEA_SRC_ATTENTION_FEW_ROWS_INL_
#define FOVEA_SRC_ATTENTION_FEW_ROWS_INL_

#include "core/attention/additive.inl"
#include "core/attention/few_block.inl"
#include "ground/math/math.inl"
#include "ground/math/plain.inl"
#if defined(FOVEA_FEW_ROW)  // the target's own text for a single row
#include FOVEA_FEW_ROW
#else  // what these switch off is declared in such texts alone: its calls depend on a template's parameter
constexpr bool kKeyByKey = false, kVectorsAtOnce = false, kScalarWeights = false, kWidensPairs = false;
FOVEA_INLINE VF AddWeighted(float, VF, VF sum) { return sum; }  // never called
#endif

// Scores of all keys of a tile.
template <int kRows>
FOVEA_TEMPLATE void FewAdditiveScores(const QueryTile& t, const KeyTile& keys) {
  constexpr uint32_t kKeys = FewBlock<kRows>::kKeys;
  for (uint32_t j = keys.begin; j < keys.end; j += kKeys) {
    VF products[kLanes];
    for (uint32_t i = 0; i < kLanes; ++i) {  // keys past the end repeat the last one
      const uint32_t row = i / kKeys, key = j + i % kKeys < keys.end ? j + i % kKeys : keys.end - 1;
      products[i] = AdditiveSum(t, keys.score_vector, FloatQueries(t) + row * PaddedToLanes(t.head_dim),
                                keys.keys.f32(ptrdiff_t(key)));
    }
    StoreFewScores<kRows>(t, keys, j, hn::Mul(hn::SumsOfLanes(products), hn::Set(kF, keys.score_factor)));
  }
}

// The two products of the few-rows kernel and the softmax between them. One-token decode leaves most lanes of the tile
// kernel empty. So here the lanes run along head_dim, and one to four query rows read each key and value once. The
// values of a tile are prefetched while its keys are multiplied, and the next keys while its values are.
struct F32FewRows {
  // With 4 lanes, 4 rows fill the tile kernel.
  static constexpr uint32_t kMostFewRows = kLanes > 4 ? 4 : kLanes > 1 ? 2 : 1;

  // The formats of keys and values that are read as they are stored. Codes that become bytes first are widened once.
  static constexpr FormatSet kFewRowsFormats = kSmallText ? kOnlyF32 : ::fovea::kKeyFormats & ~::fovea::kByteFormats;

  // A single row does so little with each line that the processor's own prefetcher is fast enough.
  template <int kRows>
  FOVEA_INLINE bool PrefetchesAhead(const QueryTile& t, const KeyTile& keys) {
    return kRows > 1 && t.value_dim == t.head_dim && keys.keys.dtype == keys.values.dtype;
  }

  // acc[r][k] += the products of row r and key k, in lanes: the first `whole` elements, a multiple of kLanes. Row r
  // begins at q + r * padded.
  template <bool kPrefetch, int kRows, fovea_dtype kType, uint32_t kKeys>
  FOVEA_INLINE void MultiplyKeys(const float* q, size_t padded, size_t whole, FormatRow<kType> (&key)[kKeys],
                                 LineCursor<kType>& ahead, VF (&acc)[kRows][kKeys]) {
    if constexpr (kRows == 1 && kKeyByKey) return MultiplyKeyByKey(q, whole, key, acc[0]);
    for (size_t d = 0; d < whole; d += kLanes) {
      VF x[kKeys];
      FOVEA_EACH(k, kKeys) x[k] = LoadAs(key[k], d);
      if constexpr (kPrefetch) ahead.template Prefetch<kKeys * kLanes>();
      FOVEA_EACH(r, kRows) {
        const VF qd = hn::LoadU(kF, q + r * padded + d);
        FOVEA_EACH(k, kKeys) acc[r][k] = hn::MulAdd(qd, x[k], acc[r][k]);
      }
    }
  }

  template <int kRows, bool kPrefetch, fovea_dtype kType>
  FOVEA_TEMPLATE void FewScoresOf(const QueryTile& t, const KeyTile& keys) {
    constexpr uint32_t kKeys = FewBlock<kRows>::kKeys, kKeysAtOnce = FewBlock<kRows>::kKeysAtOnce;
    constexpr bool kRowScales = format_of(kType).scaled == Scaled::kRow;
    const size_t head_dim = t.head_dim, whole = head_dim / kLanes * kLanes, padded = PaddedToLanes(head_dim);
    auto next_key = RowCursor<kType>::At(keys.keys, ptrdiff_t(keys.begin));
    const auto first_value = RowCursor<kType>::At(keys.values, ptrdiff_t(keys.begin));
    auto ahead = LineCursor<kType>::At(first_value.data, keys.values.stride, t.value_dim, 0);
    for (uint32_t j = keys.begin; j < keys.end; j += kKeys) {
      VF products[kLanes];
      float scales[kLanes];
      FOVEA_UNROLL(4)
      for (uint32_t g = 0; g < kKeys; g += kKeysAtOnce) {
        FormatRow<kType> key[kKeysAtOnce];
        VF acc[kRows][kKeysAtOnce];
        FOVEA_EACH(k, kKeysAtOnce) {
          key[k] = next_key.Row();
          if constexpr (kRowScales) {
            FOVEA_EACH(r, kRows) scales[r * kKeys + g + k] = *key[k].scale;
          }
          if (j + g + k + 1 < keys.end) next_key.Next();  // keys past the end repeat the last one
          FOVEA_EACH(r, kRows) acc[r][k] = hn::Zero(kF);
        }
        const bool some = g == 0 || j + g < keys.end;
        if (some) MultiplyKeys<kPrefetch>(FloatQueries(t), padded, whole, key, ahead, acc);
        if (some && whole < head_dim) {
          FOVEA_EACH(k, kKeysAtOnce) {
            const VF x = LoadAsN(key[k], whole, head_dim - whole);
            FOVEA_EACH(r, kRows)
              acc[r][k] = hn::MulAdd(hn::LoadU(kF, FloatQueries(t) + r * padded + whole), x, acc[r][k]);
          }
        }
        FOVEA_EACH(r, kRows) {
          FOVEA_EACH(k, kKeysAtOnce) products[r * kKeys + g + k] = acc[r][k];
        }
      }
      VF sums = hn::SumsOfLanes(products);
      if constexpr (kRowScales) sums = hn::Mul(sums, FiniteOrNaN(hn::LoadU(kF, scales)));
      StoreFewScores<kRows>(t, keys, j, sums);
    }
  }

  template <int kRows, bool kPrefetch>
  FOVEA_INLINE void FewScores(const QueryTile& t, const KeyTile& keys) {
    if (config::kAdditive && keys.score_vector) return FewAdditiveScores<kRows>(t, keys);
    if constexpr (kVectorsAtOnce && kRows == 1) {
      if (keys.keys.dtype == FOVEA_F32 && ScoreWholeBlocks(t, keys, FewBlock<kRows>())) return;
    }
    if constexpr (kWidensPairs && kRows == 1) {
      if (keys.keys.dtype == FOVEA_F16 && ScoreHalves(t, keys, FewBlock<kRows>())) return;
    }
    constexpr bool kAsk = kRows > 1 && !kSmallText;  // only for f32 is it worth two versions
    FOVEA_WITH_FORMAT(kFewRowsFormats, keys.keys.dtype, FewScoresOf < kRows, kType == FOVEA_F32 ? kPrefetch : kAsk,
                      kType > (t, keys));
  }

  // Weights of n vectors of scores, in place: `hidden_weight`, which is -0, for hidden ones. Returns their sum. Where
  // no key is hidden, a score of -inf is a visible one, and `hidden_weight` is 0.
  template <int n>
  FOVEA_INLINE VF FewWeights(float* s, VF shift, VF hidden_weight) {
    MF hidden[n];
    VF p[n];
    if constexpr (kVectorsAtOnce && n == 4) return WeightsOfGroup(s, shift, hidden_weight, p);
    FOVEA_EACH(i, n) {
      const VF x = hn::LoadU(kF, s + i * kLanes);
      hidden[i] = hn::Eq(x, hn::Set(kF, -kInfinity));
      p[i] = hn::Sub(x, shift);
    }
    Exp2(p);
    VF sum = hn::Zero(kF);
    FOVEA_EACH(i, n) {
      p[i] = hn::IfThenElse(hidden[i], hidden_weight, p[i]);
      hn::StoreU(p[i], kF, s + i * kLanes);
      sum = hn::Add(sum, p[i]);
    }
    return sum;
  }

  // The floats of the scores of a tile.
  template <int kRows>
  FOVEA_INLINE size_t CountFewScores(const KeyTile& keys) {
    return (keys.end - keys.begin + FewBlock<kRows>::kKeys - 1) / FewBlock<kRows>::kKeys * kLanes;
  }
  // The largest of old_max and the scores of a row, in all its lanes, which are `at_once`.
  FOVEA_INLINE VF FewLargest(const float* s, size_t count, uint32_t at_once, VF old_max) {
    VF max = old_max;
    for (size_t i = 0; i < count; i += kLanes) max = hn::Max(max, hn::LoadU(kF, s + i));
    return MinusInfinityIfLowest(ReduceRowsOf<true>(max, at_once));
  }
  // Replaces scores by weights. Returns the sum of those of a row, in all its lanes.
  FOVEA_INLINE VF FewAllWeights(float* s, size_t count, uint32_t at_once, VF shift, VF hidden_weight) {
    VF sum = hn::Zero(kF);
    size_t i = 0;
    for (; i + 4 * kLanes <= count; i += 4 * kLanes) sum = hn::Add(sum, FewWeights<4>(s + i, shift, hidden_weight));
    for (; i < count; i += kLanes) sum = hn::Add(sum, FewWeights<1>(s + i, shift, hidden_weight));
    return ReduceRowsOf<false>(sum, at_once);
  }

  // Like SoftmaxTile, but row_max, row_sum and rescale hold the same number in all lanes of a row, which are `at_once`.
  FOVEA_SHARED void SoftmaxOfRows(const QueryTile& t, size_t count, uint32_t at_once, bool hides) {
    const VF old_max = hn::LoadU(kF, t.row_max), max = FewLargest(t.s, count, at_once, old_max), shift = ShiftOf(max);
    const VF sum = FewAllWeights(t.s, count, at_once, shift, hn::Set(kF, hides ? -0.0f : 0.0f));
    const VF rescale = Exp2(hn::Sub(old_max, shift));
    hn::StoreU(max, kF, t.row_max);
    hn::StoreU(hn::MulAdd(hn::LoadU(kF, t.row_sum), rescale, sum), kF, t.row_sum);
    hn::StoreU(rescale, kF, t.rescale);
  }
  template <int kRows>
  FOVEA_INLINE void FewSoftmax(const QueryTile& t, const KeyTile& keys, bool hides) {
    SoftmaxOfRows(t, CountFewScores<kRows>(keys), FewBlock<kRows>::kKeys, hides);
  }

  // Where FewSoftmax leaves the weights that are kept.
  FOVEA_INLINE const float* WeightsToKeep(const QueryTile& t, const KeyTile&) { return t.s; }

  // sums += the weights of one key (row 0's is at p) times its value from `element` on. `part` is kLanes, or the number
  // of elements of a vector that is not whole.
  template <int kRows, bool kHides, int kVectors, fovea_dtype kType>
  FOVEA_INLINE void FewValueStep(const float* p, const FormatRow<kType>& value, size_t element, size_t part,
                                 VF (&sums)[kRows][kVectors]) {
    // Whether what is at p multiplies as a scalar.
    constexpr bool kAsRead = kScalarWeights && !kHides && format_of(kType).scaled != Scaled::kRow;
    float number[kRows];
    VF weight[kRows];
    MF hidden[kRows];
    FOVEA_EACH(r, kRows) {
      number[r] = p[r * FewBlock<kRows>::kKeys];
      if constexpr (kAsRead) continue;
      weight[r] = hn::Set(kF, number[r]);
      if constexpr (kHides) hidden[r] = hn::SignMask(weight[r]);
      if constexpr (format_of(kType).scaled == Scaled::kRow) {
        const VF scaled = hn::Mul(weight[r], value.Scale(0));
        weight[r] = kHides ? hn::IfThenElse(hidden[r], weight[r], scaled) : scaled;  // a hidden scale may be NaN
      }
    }
    FOVEA_EACH(v, kVectors) {
      const size_t e = element + v * kLanes;
      const bool whole = kVectors > 1 || IsVector(part);
      const VF x = whole ? LoadAs(value, e) : LoadAsN(value, e, part);
      FOVEA_EACH(r, kRows) {
        VF& sum = sums[r][v];
        if constexpr (kAsRead) {
          sum = AddWeighted(number[r], x, sum);
        } else {
          sum = kHides ? hn::MulAddUnless(hidden[r], weight[r], x, sum) : hn::MulAdd(weight[r], x, sum);
        }
      }
    }
  }

  // Where the weight of row 0 for the j-th key of a tile is stored.
  template <int kRows>
  static constexpr size_t WeightPlace(uint32_t j) {
    constexpr uint32_t kKeys = FewBlock<kRows>::kKeys;
    return kRows == 1 ? j : j / kKeys * kLanes + j % kKeys;
  }

  // The number of independent sums that keeps the multiply-add units busy, if there are registers for them.
  static constexpr int kFewSums = hn::kRegisters / 2 < 8 ? hn::kRegisters / 2 : 8;

  // Where the sums of a tile's values go: to the rows of `o`, whose sums of the keys before are rescaled.
  template <int kRows>
  struct RescaledRows {
    float* o;
    const float* rescales;
    size_t padded;

    FOVEA_INLINE RescaledRows Of(const QueryTile& t) { return {t.o, t.rescale, PaddedToLanes(t.value_dim)}; }
    FOVEA_MEMBER VF Factor(int r) const { return hn::Set(kF, rescales[r * int(FewBlock<kRows>::kKeys)]); }
    FOVEA_MEMBER void Put(VF sum, int r, size_t element, size_t, VF rescale) const {
      float* const at = o + r * padded + element;
      hn::StoreU(hn::MulAdd(hn::LoadU(kF, at), rescale, sum), kF, at);
    }
  };

  // The values [element, element + ..) of kVectors vectors, the last of which has `part` elements (kLanes = a whole
  // one). Keys use kStrands accumulators in turn, so that there are enough independent sums where rows and vectors are
  // few.
  template <int kRows, bool kHides, int kVectors, int kStrands, fovea_dtype kType, class Rows>
  FOVEA_INLINE void FewValueBlock(const QueryTile& t, const KeyTile& keys, const Rows& rows, size_t element,
                                  size_t part) {
    VF acc[kStrands][kRows][kVectors];
    if constexpr (kVectorsAtOnce && kRows == 1 && !kHides && kVectors > 1 && kType == FOVEA_F32) {
      return AddValueRows(t, keys, element, acc);
    }
    if constexpr (kWidensPairs && kRows == 1 && !kHides && kVectors > 1 && kStrands == 1 && kType == FOVEA_F16) {
      const auto first = RowCursor<kType>::At(keys.values, ptrdiff_t(keys.begin)).Row();
      AddHalves(t.s, first.data + element, keys.values.stride, keys.end - keys.begin, acc[0][0]);
      const VF factor = rows.Factor(0);
      FOVEA_EACH(v, kVectors) rows.Put(acc[0][0][v], 0, element + v * kLanes, kLanes, factor);
      return;
    }
    FOVEA_EACH(r, kRows) {
      FOVEA_EACH(v, kVectors) {
        FOVEA_EACH(strand, kStrands) acc[strand][r][v] = hn::Zero(kF);
      }
    }
    auto value = RowCursor<kType>::At(keys.values, ptrdiff_t(keys.begin));
    // Each call prefetches its share of the next keys.
    const bool ask = PrefetchesAhead<kRows>(t, keys) && keys.next_keys;
    auto ahead = LineCursor<kType>::At(keys.next_keys, keys.keys.stride, t.head_dim, element * kKeyTile);
    const uint32_t count = keys.end - keys.begin;
    uint32_t j = 0;
    for (; j + kStrands <= count; j += kStrands) {
      FOVEA_EACH(strand, kStrands) {
        FewValueStep<kRows, kHides>(t.s + WeightPlace<kRows>(j + strand), value.Row(), element, part, acc[strand]);
        if (ask) ahead.template Prefetch<kVectors * kLanes>();
        value.Next();
      }
    }
    for (; kStrands > 1 && j < count; ++j, value.Next()) {
      FewValueStep<kRows, kHides>(t.s + WeightPlace<kRows>(j), value.Row(), element, part, acc[0]);
    }
    FOVEA_EACH(r, kRows) {
      const VF factor = rows.Factor(r);
      FOVEA_EACH(v, kVectors) {
        VF sum = acc[0][r][v];
        FOVEA_UNROLL(8)
        for (int strand = 1; strand < kStrands; ++strand) sum = hn::Add(sum, acc[strand][r][v]);
        rows.Put(sum, r, element + v * kLanes, kVectors > 1 ? kLanes : part, factor);
      }
    }
  }

  // The elements from `element` on, a vector at a time: what fills no larger block. One function for whole vectors and
  // the last part of one, and for tiles that hide keys and others: there no weight is -0. Where size counts, a single
  // row has one for each, because small values are all rest there.
  template <int kRows, bool kHides, fovea_dtype kType, class Rows>
  FOVEA_CALLED_TEMPLATE void RestOfFewValues(const QueryTile& t, const KeyTile& keys, const Rows& rows,
                                             size_t element) {
    constexpr int kStrands = kFewSums / (AtOnce(2) * kRows);
    for (; element < t.value_dim; element += kLanes) {
      const size_t left = t.value_dim - element;
      FewValueBlock<kRows, kHides, 1, kStrands, kType>(t, keys, rows, element, left < kLanes ? left : kLanes);
    }
  }

  // Takes kVectors vectors at a time while they fit, then half as many; in formats other than f32, at least 16
  // elements, of which the usual head_dims are multiples.
  template <int kRows, bool kHides, fovea_dtype kType, int kVectors, class Rows>
  FOVEA_INLINE void FewValueBlocks(const QueryTile& t, const KeyTile& keys, const Rows& rows, size_t element) {
    constexpr int kStrands = kRows * kVectors >= kFewSums ? 1 : kFewSums / (kRows * kVectors);
    for (; element + kVectors * kLanes <= t.value_dim; element += kVectors * kLanes) {
      FewValueBlock<kRows, kHides, kVectors, kStrands, kType>(t, keys, rows, element, kLanes);
    }
    if constexpr (!kSmallText && kVectors > 1 && (kType == FOVEA_F32 || kVectors * kLanes > 16)) {
      if (element < t.value_dim) FewValueBlocks<kRows, kHides, kType, kVectors / 2>(t, keys, rows, element);
    } else {
      if (element < t.value_dim)
        RestOfFewValues<kRows, kHides || !kSmallText || kRows != 1, kType>(t, keys, rows, element);
    }
  }

  template <int kRows, bool kHides, fovea_dtype kType, class Rows>
  FOVEA_INLINE void FewValuesTo(const QueryTile& t, const KeyTile& keys, const Rows& rows) {
    constexpr int kAccumulators = hn::kRegisters / 2;
    FewValueBlocks<kRows, kHides, kType, (kAccumulators / kRows < 8 ? kAccumulators / kRows : 8)>(t, keys, rows, 0);
  }
  template <int kRows, bool kHides, fovea_dtype kType>
  FOVEA_TEMPLATE void FewValuesOf(const QueryTile& t, const KeyTile& keys) {
    FewValuesTo<kRows, kHides, kType>(t, keys, RescaledRows<kRows>::Of(t));
  }

  template <int kRows>
  FOVEA_INLINE void FewValues(const QueryTile& t, const KeyTile& keys, bool hides) {
    if (hides) {
      FOVEA_WITH_FORMAT(kFewRowsFormats, keys.values.dtype, FewValuesOf<kRows, true, kType>(t, keys));
    } else {
      FOVEA_WITH_FORMAT(kFewRowsFormats, keys.values.dtype, FewValuesOf<kRows, false, kType>(t, keys));
    }
  }

  FOVEA_KERNEL void FewBegin(const QueryTile& t, const TypedRows& q, float scale) {
    const size_t padded = PaddedToLanes(t.head_dim), rows = t.columns / t.row_lanes;
    const VF scales = hn::Set(kF, scale);
    const RowArray<char> queries = BytesOf(q);
    for (size_t r = 0; r < rows; ++r) {
      const char* const row = queries.data + RowOffset(t, r, queries.token_stride, queries.head_stride);
      LoadScaledRow(q.dtype, row, t.head_dim, scales, FloatQueries(t) + r * padded, kLanes);
    }
    BeginSoftmax(t, 0);
    ZeroVectors(t.o, rows * (PaddedToLanes(t.value_dim) / kLanes));
  }
};

#endif  // FOVEA_SRC_ATTENTION_FEW_ROWS_INL_
