// SPDX-License-Identifier: Apache-2.0
//
// The few-rows kernel with products of integer codes. Lanes run along head_dim. Rows of keys and values are read as
// they are stored:
//   query codes, a step of a key repeated for each row                                          -> scores
//   weight codes, a group of keys at a time, whose values are interleaved in registers          -> sums of values
#ifndef FOVEA_SRC_ATTENTION_I8_FEW_ROWS_INL_
#define FOVEA_SRC_ATTENTION_I8_FEW_ROWS_INL_

#include "core/attention/i8/bring.inl"
#include "core/attention/i8/few_softmax.inl"
#include "core/attention/i8/queries.inl"

FOVEA_INLINE const int8_t* CodesOfRow(const KeyRows& rows, uint32_t row) {
  return static_cast<const int8_t*>(rows.data) + ptrdiff_t(row) * rows.stride;
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

// Instructions whose sums are in other registers have theirs by their kind.
template <class Dot, DotKind kKind = Dot::kKind>
struct I8FewScores {
  using Few = I8FewCodes<Dot>;
  using Sum = typename Dot::Sum;
  using FewCode = typename Dot::FewCode;
  using FewQuery = decltype(Dot::LoadFewX(nullptr));  // codes of queries and keys in a vector

  // Adds one step of each key to its sums: as many elements as a vector reads, or n.
  template <int kRows, bool kPart, int kVectors, int kAtOnce, size_t kKeys>
  FOVEA_INLINE void AddFewScores(const FewCode* x, const int8_t* const (&at)[kAtOnce * kKeys], size_t d, size_t n,
                                 Sum (&sums)[kAtOnce][kVectors * kKeys]) {
    FewQuery q[kVectors];
    FOVEA_EACH(v, kVectors) q[v] = Dot::LoadFewX(x + v * Dot::kFewXCodes);
    FOVEA_EACH(b, kAtOnce) {
      FOVEA_EACH(k, kKeys) {
        const int8_t* const key = at[b * kKeys + k] + d;
        const FewQuery e = kPart ? Dot::template LoadFewPart<kRows>(key, n) : Dot::template LoadFew<kRows>(key);
        FOVEA_EACH(v, kVectors) sums[b][v * kKeys + k] = Dot::FewScoreDot(q[v], e, sums[b][v * kKeys + k]);
      }
    }
  }

  template <int kRows, bool kPrefetch>
  FOVEA_TEMPLATE void FewScores(const QueryTile& t, const KeyTile& keys) {
    constexpr uint32_t kKeys = FewBlock<kRows>::kKeys;
    constexpr int kVectors = Dot::template kFewVectors<kRows>, kSums = kVectors * int(kKeys);
    constexpr int kAtOnce = hn::kRegisters / 2 > kSums ? hn::kRegisters / 2 / kSums : 1;
    constexpr size_t kStep = Dot::FewReads(kRows);
    const FewCode* const queries = Few::FewQueryCodes(t);
    const size_t dim = t.head_dim, whole = dim / kStep * kStep;
    const Sum start = Dot::FewStart(queries, round_up(dim, kStep) / kStep);
    const VF query_scale = hn::LoadU(kF, query_scales(t));
    auto ahead = AskFrom(CodesOfRow(keys.values, keys.begin), keys.values.stride, t.value_dim, 0);
    for (uint32_t j = keys.begin; j < keys.end; j += kAtOnce * kKeys) {
      const int8_t* at[kAtOnce * kKeys];
      Sum sums[kAtOnce][kSums];
      const int8_t* key = CodesOfRow(keys.keys, j);
      if (keys.end - j >= kAtOnce * kKeys) {
        FOVEA_UNROLL(16)
        for (uint32_t k = 0; k < kAtOnce * kKeys; ++k, key += keys.keys.stride) at[k] = key;
      } else {
        FOVEA_EACH(k, kAtOnce * kKeys) {  // keys past the end repeat the last one
          at[k] = key;
          if (j + k + 1 < keys.end) key += keys.keys.stride;
        }
      }
      SetAll(sums, start);
      const FewCode* x = queries;
      for (size_t d = 0; d < whole; d += kStep, x += kRows * kStep) {
        if constexpr (kPrefetch) AskLines<kAtOnce * kKeys * kStep>(ahead);
        AddFewScores<kRows, false, kVectors, kAtOnce, kKeys>(x, at, d, kStep, sums);
      }
      if (whole < dim) AddFewScores<kRows, true, kVectors, kAtOnce, kKeys>(x, at, whole, dim - whole, sums);
      FOVEA_EACH(b, kAtOnce) {
        const uint32_t first = j + b * kKeys;
        if (first >= keys.end) continue;
        const VF key_scales = Dot::template LoadForEachRow<kRows>(keys.numbers().key_scale + first);
        const VF products = hn::Mul(Dot::template SumsOfRows<kRows>(sums[b]), key_scales);
        StoreFewScores<kRows>(t, keys, first, hn::Mul(products, query_scale));
      }
    }
  }
};

template <class Dot>
struct I8FewRows : I8FewSoftmax<Dot>, I8FewScores<Dot> {
  static constexpr uint32_t kMostFewRows = kLanes > 4 ? 4 : 2;  // with 4 lanes, 4 rows fill the tile kernel
  using Few = I8FewCodes<Dot>;
  using FewWeight = typename Dot::FewWeight;
  using FewX = typename Dot::FewX;
  using FewValueSum = decltype(Dot::FewZero());
  template <int kRows>
  static constexpr bool kWeighsRow = I8FewSoftmax<Dot>::template kWeighsRow<kRows>;

  // Whether the values of a key tile are prefetched while its keys are multiplied, and the next keys while its values
  // are. Values that were brought are in the caches already; they have no scales of their own. Processors with few
  // registers have no second-level cache.
  template <int kRows>
  FOVEA_INLINE bool PrefetchesAhead(const QueryTile& t, const KeyTile& keys) {
    return hn::kRegisters > 8 && t.value_dim == t.head_dim && keys.values.scales;
  }

  template <class Row, class Fit>
  FOVEA_INLINE void FewPutRow(const QueryTile& t, const Row& row, const Fit& fit, size_t r) {
    const size_t rows = t.columns / t.row_lanes, reads = Dot::FewReads(rows), padded = round_up(t.head_dim, reads);
    for (size_t d = 0; d < padded; d += kLanes) {
      const size_t n = d >= t.head_dim ? 0 : t.head_dim - d < kLanes ? t.head_dim - d : kLanes;
      Dot::StoreFewQueries(fit.Biased(row(d, n)), Few::FewQueryCodes(t) + (d / reads * rows + r) * reads + d % reads);
    }
  }

  template <fovea_dtype kType>
  FOVEA_INLINE void FewBeginRow(const QueryTile& t, const ScaledRow<kType>& row, size_t r) {
    const ScaleI8 fit = ScaleI8::Of(row, t.head_dim);
    hn::StoreN(fit.scale, kF, query_scales(t) + r * t.row_lanes, t.row_lanes);
    FewPutRow(t, row, fit, r);
  }

  FOVEA_SECTION_OF(Dot) FOVEA_KERNEL void FewBegin(const QueryTile& t, const TypedRows& q, float scale) {
    const size_t rows = t.columns / t.row_lanes;
    const RowArray<char> queries = BytesOf(q);
    const auto begin_row = [&](size_t r) {
      const char* const query = queries.data + RowOffset(t, r, queries.token_stride, queries.head_stride);
      if (kHasI8Tensors && q.dtype == FOVEA_I8) return FewPutRow(t, CodeRow::Of(query), CodesAsTheyAre{}, r);
      FOVEA_WITH_FORMAT(kQueryTexts, q.dtype, FewBeginRow<kType>(t, {query, q.dtype, hn::Set(kF, scale)}, r));
    };
    for (size_t r = 0; r < rows; ++r) begin_row(r);
    BeginSoftmax(t, 0);
    for (size_t i = 0; i < rows * PaddedToLanes(t.value_dim); i += kLanes) hn::StoreU(hn::Zero(kF), kF, t.o + i);
  }

  // Values of whole sixteens of elements; returns the first element that has none yet.
  FOVEA_SECTION_OF(Dot) FOVEA_CALLED size_t ValuesOfRow(const QueryTile& t, const KeyTile& keys) {
    const float rescale = t.rescale[0], factor = value_factors(t)[0];
    const size_t end = t.value_dim / 16 * 16;
    const int8_t* value = CodesOfRow(keys.values, keys.begin);
    float* o = t.o;
    for (size_t e = 0; e < end; e += 16, value += 16) {
      VI sums[4];
      Dot::SumsOfElements(Few::template FewWeightCodes<1>(t), value, keys.values.stride, keys.end - keys.begin, sums);
      FOVEA_UNROLL(4)
      for (int v = 0; v < 4; ++v, o += kLanes) {
        const VF sum = hn::MulSet(hn::ConvertTo(kF, sums[v]), factor);
        hn::StoreU(hn::Add(hn::MulSet(hn::LoadU(kF, o), rescale), sum), kF, o);
      }
    }
    return end;
  }
  // Like TakeOutZero.
  template <int kRows>
  FOVEA_CALLED_TEMPLATE void FewTakeOutZero(const QueryTile& t) {
    const size_t padded = PaddedToLanes(t.value_dim);
    float* o = t.o;
    for (size_t r = 0; r < kRows; ++r) {
      const size_t lane = r * FewBlock<kRows>::kKeys;
      const VF zero = hn::Mul(hn::Set(kF, zero_sums(t)[lane]), hn::Set(kF, value_factors(t)[lane]));
      for (float* const end = o + padded; o != end; o += kLanes) hn::StoreU(hn::Sub(hn::LoadU(kF, o), zero), kF, o);
    }
  }

  // sums[row][..] += the weights of a group of keys times their values, which begin at `value`; n elements of them, if
  // these do not fill the vectors. If fewer keys than a group are left, the last one is read for the others, whose
  // weights are 0.
  template <int kRows, bool kPart, int kVectors>
  FOVEA_INLINE void AddFewValues(const FewWeight* codes, const int8_t* value, ptrdiff_t stride, uint32_t count,
                                 size_t n, FewValueSum (&sums)[kRows][kVectors]) {
    const int8_t* at[Dot::kFewKeysAtOnce];
    FOVEA_EACH(k, Dot::kFewKeysAtOnce) at[k] = value + ptrdiff_t(k < count ? k : count - 1) * stride;
    FewX values[kVectors];
    if constexpr (kPart) {
      Dot::LoadFewValuesPart(at, n, values);
    } else {
      Dot::LoadFewValues(at, values);
    }
    FOVEA_EACH(r, kRows) {
      const auto weights = Dot::SetFewWeights(codes + r * kKeyTile);
      FOVEA_EACH(v, kVectors) sums[r][v] = Dot::FewValueDot(weights, values[v], sums[r][v]);
    }
  }

  // o[r][element + ..] for kVectors vectors, or for n elements.
  template <int kRows, bool kPart, int kVectors>
  FOVEA_INLINE void FewValueBlock(const QueryTile& t, const KeyTile& keys, const FewValueSum (&starts)[kRows],
                                  size_t element, size_t n) {
    constexpr uint32_t kKeys = FewBlock<kRows>::kKeys, kGroupKeys = Dot::kFewKeysAtOnce;
    constexpr int kSums = kRows * kVectors, kTurns = hn::kRegisters / 4 > kSums ? hn::kRegisters / 4 / kSums : 1;
    constexpr int kGroups = kTurns > 1 || kSmallText || hn::kRegisters > 8 ? kTurns : 4;  // in a round of the loop
    const size_t padded = PaddedToLanes(t.value_dim);
    FewValueSum sums[kTurns][kRows][kVectors];
    FOVEA_EACH(i, kTurns) {
      FOVEA_EACH(r, kRows) {
        FOVEA_EACH(v, kVectors) sums[i][r][v] = i == 0 ? starts[r] : Dot::FewZero();
      }
    }
    const bool ask = PrefetchesAhead<kRows>(t, keys) && keys.next_keys;
    auto ahead = AskFrom(keys.next_keys, keys.keys.stride, t.head_dim, element * kKeyTile);
    const FewWeight* codes = Few::template FewWeightCodes<kRows>(t);
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
    FOVEA_EACH(r, kRows) {
      const VF rescale = hn::Set(kF, t.rescale[r * kKeys]), factor = hn::Set(kF, value_factors(t)[r * kKeys]);
      FOVEA_UNROLL(8)
      for (int i = 1; i < kTurns; ++i) {
        FOVEA_EACH(v, kVectors) sums[0][r][v] = Dot::FewAdd(sums[0][r][v], sums[i][r][v]);
      }
      VF floats[kVectors];
      Dot::InOrder(sums[0][r], floats);
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
    constexpr int kVectors = Dot::template kFewValueVectors<kRows>;
    FewValueSum starts[kRows];
    FOVEA_EACH(r, kRows) {
      starts[r] = Dot::FewValueStart(Few::template FewWeightCodes<kRows>(t) + r * kKeyTile, keys.end - keys.begin);
    }
    size_t e = 0;
    if constexpr (kWeighsRow<kRows>) e = ValuesOfRow(t, keys);
    for (; !kWeighsRow<kRows> && e + kVectors * kLanes <= t.value_dim; e += kVectors * kLanes) {
      FewValueBlock<kRows, false, kVectors>(t, keys, starts, e, kVectors * kLanes);
    }
    if (e < t.value_dim) FewValueBlock<kRows, true, kVectors>(t, keys, starts, e, t.value_dim - e);
    if (HasZero(keys)) FewTakeOutZero<kRows>(t);
  }
};

#endif  // FOVEA_SRC_ATTENTION_I8_FEW_ROWS_INL_
