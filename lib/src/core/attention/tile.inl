// SPDX-License-Identifier: Apache-2.0
//
// The tile kernel with products of f32.
#ifndef FOVEA_SRC_ATTENTION_TILE_INL_
#define FOVEA_SRC_ATTENTION_TILE_INL_

#include "core/attention/additive.inl"
#include "core/attention/queries.inl"
#include "core/attention/softmax.inl"
#include "ground/math/block.inl"

// A lane is a query; keys and values are read as they are stored, an element at a time, and multiply whole vectors of
// queries.
struct F32Tile : TileQueries<F32Tile, float>, TileSoftmax<F32Tile> {
  static constexpr size_t kProductLanes = kLanes;
  static constexpr int kBlockVectors = hn::kBlockVectors;

  // The columns of a tile of which kVectors vectors are worked on: a constant if a tile cannot have more.
  template <int kVectors>
  FOVEA_INLINE size_t ColumnsOf(const QueryTile& t) {
    return kVectors == kBlockVectors ? kBlockVectors * kLanes : t.columns;
  }

  // Scores of the keys [begin, end), for kVectors vectors of rows from `column` on. Register blocks tile the key tile,
  // so there is room for the scores of a last one that is not full. SoftmaxTile does not use the scores past `end`.
  template <int kVectors>
  FOVEA_INLINE void ScoresOfVectors(const QueryTile& t, const KeyTile& keys, size_t column) {
    static_assert(kKeyTile % kBlockOf<kVectors> == 0 && kKeyGrain % kBlockOf<kVectors> == 0,
                  "blocks must tile the key tile");
    const size_t columns = ColumnsOf<kVectors>(t);
    MultiplyRows<kVectors>(FloatQueries(t) + column, columns, t.head_dim, keys.keys.f32(ptrdiff_t(keys.begin)),
                           keys.keys.stride, keys.end - keys.begin, false, t.s + size_t(keys.begin) * columns + column);
  }

  // A row that is alone in its tile: its elements are adjacent, so one load takes several. Where size counts, only
  // builds with the few-rows kernel have this code.
  static constexpr bool kLoneRows = kLanes == 1 && (config::kFewRows || !kSmallText);
  FOVEA_INLINE bool IsLoneRow(const QueryTile& t) { return kLoneRows && t.columns == 1; }
  FOVEA_CALLED void ScoresOfRow(const QueryTile& t, const KeyTile& keys) {
    QueryTile own = t;
    own.columns = 1;
    ScoresOfVectors<1>(own, keys, 0);
  }

  FOVEA_SHARED void ScoresOfOneVector(const QueryTile& t, const KeyTile& keys, size_t column) {
    ScoresOfVectors<1>(t, keys, column);
  }
  FOVEA_SHARED void ScoresOfBlock(const QueryTile& t, const KeyTile& keys, size_t column) {
    ScoresOfVectors<kBlockVectors>(t, keys, column);
  }

  template <int kVectors>
  FOVEA_INLINE void Scores(const QueryTile& t, const KeyTile& keys, size_t column) {
    if (config::kAdditive && keys.score_vector) {
      for (size_t v = 0; v < kVectors; ++v) AdditiveScores(t, keys, column + v * kLanes);
      return;
    }
    if constexpr (kVectors == 1) {
      if (IsLoneRow(t)) return ScoresOfRow(t, keys);
      ScoresOfOneVector(t, keys, column);
    } else if constexpr (kVectors == kBlockVectors) {
      ScoresOfBlock(t, keys, column);
    } else {
      ScoresOfVectors<kVectors>(t, keys, column);
    }
  }

  template <int n>
  FOVEA_INLINE void WeightExp2(VF (&x)[n]) {
    if constexpr (kLanes == 1) {  // constants stay in registers, of which there are enough
      Exp2Steps(x);
    } else {
      Exp2(x);
    }
  }
  static constexpr bool kPacksWeights = false;  // products read the weights unchanged
  FOVEA_INLINE void StorePacked(VF, float*, size_t) {}
  FOVEA_INLINE void PackWeights(const QueryTile&, const KeyTile&, size_t, bool) {}
  FOVEA_INLINE VF ScorePower(const QueryTile&, size_t) { return hn::Zero(kF); }  // scores stay as they are
  template <int>
  FOVEA_INLINE void ScaleScores(const QueryTile&, const KeyTile&, size_t) {}

  // o_t[e][vector] = o_t[e][vector] * rescale + sum_j p[j][vector] * values[j][e], for kBlock elements of which the
  // first `skip` are not stored. The sum of a key tile starts at zero and is added to o_t at its end: its rounding
  // errors are those of 64 terms, and o_t has one for each key tile, not one for each key.
  template <bool kHides, int kVectors, int kBlock>
  FOVEA_INLINE void ValueBlock(const QueryTile& t, const KeyTile& keys, size_t column, size_t element, int skip) {
    const size_t rows = ColumnsOf<kVectors>(t);
    float* FOVEA_RESTRICT o_t = t.o + element * rows + column;
    VF acc[kBlock][kVectors];
    FOVEA_EACH(e, kBlock) {
      FOVEA_EACH(v, kVectors) acc[e][v] = hn::Zero(kF);
    }
    uint32_t begin = keys.begin;
    const float* p = t.s + size_t(begin) * rows + column;
    const float* values = keys.values.f32(ptrdiff_t(begin)) + element;
    if (!kSmallText && kHides && keys.seen > begin) {
      const uint32_t seen = keys.seen - begin;
      AddValues<false>(p, rows, values, keys.values.stride, seen, acc);
      begin += seen, p += seen * rows, values += ptrdiff_t(seen) * keys.values.stride;
    }
    AddValues<kHides>(p, rows, values, keys.values.stride, keys.end - begin, acc);
    VF rescale[kVectors];
    FOVEA_EACH(v, kVectors) rescale[v] = hn::LoadU(kF, t.rescale + column + v * kLanes);
    FOVEA_UNROLL(8)
    for (int e = 0; e < kBlock; ++e, o_t += rows) {
      if (e < skip) continue;
      FOVEA_EACH(v, kVectors) {
        hn::StoreU(hn::MulAdd(hn::LoadU(kF, o_t + v * kLanes), rescale[v], acc[e][v]), kF, o_t + v * kLanes);
      }
    }
  }

  // One element. The sign of a weight tells whether it is hidden.
  FOVEA_SHARED void ValueElement(const QueryTile& t, const KeyTile& keys, size_t column, size_t element) {
    ValueBlock<kMayHide, 1, 1>(t, keys, column, element, 0);
  }

  template <int kVectors>
  static constexpr int kValueBlockOf = LargestBlock<kVectors, true>();
  // The same where nothing is hidden: a target with one lane has registers for more elements of two rows.
  template <int kVectors>
  static constexpr int kPlainBlockOf = kLanes == 1 && kVectors == 2 && !kSmallText ? 8 : kValueBlockOf<kVectors>;

  // Register blocks of one vector of rows; the first requires that nothing is hidden. Where size counts they are
  // separate functions: inlined with others, their loops lack registers.
  static constexpr int kLongBlock = kLanes == 1 ? 8 : kValueBlockOf<1>;
  FOVEA_SHARED void LongBlockOfVector(const QueryTile& t, const KeyTile& keys, size_t column, size_t element) {
    ValueBlock<false, 1, kLongBlock>(t, keys, column, element, 0);
  }
  FOVEA_SHARED void BlockOfVector(const QueryTile& t, const KeyTile& keys, size_t column, size_t element) {
    ValueBlock<kMayHide, 1, kValueBlockOf<1>>(t, keys, column, element, 0);
  }

  // Register blocks of a lone row where nothing is hidden. Returns the first element after them.
  FOVEA_CALLED size_t BlocksOfRow(const QueryTile& t, const KeyTile& keys) {
    QueryTile own = t;
    own.columns = 1;
    size_t e = 0;
    for (; e + kLongBlock <= t.value_dim; e += kLongBlock) ValueBlock<false, 1, kLongBlock>(own, keys, 0, e, 0);
    return e;
  }

  // All elements of the values, in whole register blocks. The last may overlap the one before it, and then does not
  // store what both have.
  template <bool kHides, int kVectors>
  FOVEA_INLINE void ValuesOfVectors(const QueryTile& t, const KeyTile& keys, size_t column) {
    constexpr size_t kBlock = kHides ? kValueBlockOf<kVectors> : kPlainBlockOf<kVectors>;
    const size_t value_dim = t.value_dim;
    size_t e = 0;
    if constexpr (kSmallText) {  // what does not fill a register block, an element at a time
      if constexpr (kVectors == 1 && !kHides && (kLanes > 1 || kLoneRows)) {
        for (; e + kLongBlock <= value_dim; e += kLongBlock) LongBlockOfVector(t, keys, column, e);
      }
      for (; e + kBlock <= value_dim; e += kBlock) {
        if constexpr (kVectors == 1) {
          BlockOfVector(t, keys, column, e);
        } else {
          ValueBlock<kHides, kVectors, kBlock>(t, keys, column, e, 0);
        }
      }
      for (; e < value_dim; ++e) {
        for (size_t v = 0; v < kVectors; ++v) ValueElement(t, keys, column + v * kLanes, e);
      }
      return;
    }
    if constexpr (kVectors == 1 && !kHides) {
      if (IsLoneRow(t)) e = BlocksOfRow(t, keys);
    }
    if (value_dim < kBlock) {
      for (; e < value_dim; ++e) ValueBlock<kHides, kVectors, 1>(t, keys, column, e, 0);
      return;
    }
    for (; e < value_dim; e += kBlock) {
      const size_t start = e + kBlock <= value_dim ? e : value_dim - kBlock;
      ValueBlock<kHides, kVectors, kBlock>(t, keys, column, start, int(e - start));
    }
  }

  FOVEA_SHARED void ValuesOfBlock(const QueryTile& t, const KeyTile& keys, size_t column) {
    ValuesOfVectors<false, kBlockVectors>(t, keys, column);
  }

  template <bool kHides, int kVectors>
  FOVEA_INLINE void Values(const QueryTile& t, const KeyTile& keys, size_t column) {
    if constexpr (!kHides && kVectors == kBlockVectors) {
      ValuesOfBlock(t, keys, column);
    } else {
      ValuesOfVectors<kHides, kVectors>(t, keys, column);
    }
  }

  static constexpr bool kStoresInTwo = false;
  FOVEA_INLINE float* QueryElements(const QueryTile& t) { return FloatQueries(t); }
  FOVEA_INLINE void StoreQuery(VF v, float* p, bool) { hn::StoreU(v, kF, p); }
  FOVEA_INLINE VF QueryFactors(const QueryTile&, const LaneRows<char>&, fovea_dtype, size_t, float scale) {
    return hn::Set(kF, scale);
  }
  FOVEA_INLINE void LoadQuery(fovea_dtype dtype, const void* row, size_t dim, VF factor, float* to, size_t step) {
    LoadScaledRow(dtype, row, dim, factor, to, step);
  }
};

#endif  // FOVEA_SRC_ATTENTION_TILE_INL_
