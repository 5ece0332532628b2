// SPDX-License-Identifier: Apache-2.0
//
// The tile kernel with integer codes, and its two products. A lane is a query row:
//   x = query codes, rows = keys as they are stored                        -> scores, f32
//   x = weight codes, rows = values [key / group][element][group]          -> sums of values
// Between the products Mul and Add are not fused, and the keys' places in the tile fix the order of sums. So the bits
// are the same on every target.
#ifndef FOVEA_SRC_ATTENTION_I8_PRODUCTS_INL_
#define FOVEA_SRC_ATTENTION_I8_PRODUCTS_INL_

#include "core/attention/i8/queries.inl"
#include "core/attention/i8/softmax.inl"
#include "core/attention/tile_kernel.inl"
#include "ground/math/dot_block.inl"

// What becomes of the sums of row k of a register block.
template <class Dot, DotKind kKind = Dot::kKind>
struct I8Sums {
  using Block = DotBlock<Dot>;

  // scores[..] = sums * the key's scale * the scales of the queries.
  template <class BlockSums, int kVectors>
  FOVEA_INLINE void StoreScores(const BlockSums& sums, int k, float key_scale, const VF (&query_scale)[kVectors],
                                float* scores) {
    const VF scale = hn::Set(kF, key_scale);
    VF score[kVectors];
    FOVEA_EACH(v, kVectors) score[v] = hn::Mul(hn::Mul(Block::FloatsOf(sums, k, v), scale), query_scale[v]);
    Dot::StoreVectors(score, scores);
  }

  // o[..] = o * rescale + sums * factors
  template <class BlockSums, int kVectors>
  FOVEA_INLINE void AddOutputs(const BlockSums& sums, int k, const VF (&rescale)[kVectors],
                               const VF (&factor)[kVectors], float* o) {
    VF sum[kVectors];
    Dot::LoadVectors(o, sum);
    FOVEA_EACH(v, kVectors) {
      sum[v] = hn::Add(hn::Mul(sum[v], rescale[v]), hn::Mul(Block::FloatsOf(sums, k, v), factor[v]));
    }
    Dot::StoreVectors(sum, o);
  }
};

// The products by register blocks. Instructions that need other loops have theirs by their kind.
template <class Dot, DotKind kKind = Dot::kKind>
struct I8Products {
  using Block = DotBlock<Dot>;
  using Codes = I8Codes<Dot>;
  using Sums = I8Sums<Dot>;
  using Code = typename Dot::Code;
  using RowCode = typename Dot::RowCode;
  static constexpr size_t kGroup = Dot::kGroup;

  // Scores of kRows keys from key j on, of which `left` exist: the others repeat the last one.
  template <int kVectors, int kRows>
  FOVEA_INLINE void ScoreBlock(const QueryTile& t, const I8Numbers& numbers, size_t column, uint32_t j, const char* key,
                               ptrdiff_t stride, uint32_t left, float* s) {
    const RowCode* at[kRows];
    typename Block::template Sums<kRows, kVectors> sums;
    FOVEA_EACH(k, uint32_t{kRows}) {
      at[k] = reinterpret_cast<const RowCode*>(key);
      key += left >= kRows || k + 1 < left ? stride : 0;
      Block::Begin(k, Dot::kUnsignedQueries ? numbers.key_start[j + k] : 0, sums);
    }
    const size_t columns = t.columns;
    Block::template MultiplyRows<kVectors>(Codes::Queries(t) + column * kGroup, columns, at, t.head_dim, sums);
    VF query_scale[kVectors];
    Dot::LoadVectors(query_scales(t) + column, query_scale);
    FOVEA_UNROLL(8)
    for (int k = 0; k < kRows; ++k, s += columns) {
      Sums::StoreScores(sums, k, numbers.key_scale[j + k], query_scale, s);
    }
  }

  // Whole register blocks fill a key tile, so there is room for the scores of a last block that is not full.
  template <int kVectors>
  FOVEA_INLINE void Scores(const QueryTile& t, const KeyTile& keys, size_t column) {
    constexpr int kRows = Block::template kRows<kVectors>;
    static_assert(kKeyGrain % kRows == 0, "blocks must tile the key tile");
    const ptrdiff_t stride = keys.keys.stride;
    const char* key = static_cast<const char*>(keys.keys.data) + ptrdiff_t(keys.begin) * stride;
    float* s = t.s + size_t(keys.begin) * t.columns + column;
    for (uint32_t j = keys.begin; j < keys.end; j += kRows, key += kRows * stride, s += kRows * t.columns) {
      ScoreBlock<kVectors, kRows>(t, keys.numbers(), column, j, key, stride, keys.end - j, s);
    }
  }

  // Groups of weights, and the values of as many groups of keys.
  struct WeightGroups {
    const Code* x;
    const RowCode* values;
    uint32_t count;
  };

  // o[e][vector] = o[e][vector] * rescale + factor * sum_j weight[j][vector] * value[j][e], for kRows elements.
  template <int kVectors, int kRows>
  FOVEA_INLINE void ValueBlock(const QueryTile& t, const WeightGroups& weights, const int32_t* starts, size_t column,
                               size_t element) {
    const size_t columns = t.columns;
    typename Block::template Sums<kRows, kVectors> sums;
    FOVEA_EACH(k, kRows) Block::Begin(k, Dot::kSignedWeights ? starts[element + k] : 0, sums);
    Block::template MultiplyValues<kVectors>(weights.x, columns, weights.values + element * kGroup,
                                             padded_values(t.value_dim), weights.count, sums);
    VF rescale[kVectors], factor[kVectors];
    Dot::LoadVectors(t.rescale + column, rescale);
    Dot::LoadVectors(value_factors(t) + column, factor);
    float* o = t.o + element * columns + column;
    FOVEA_UNROLL(8)
    for (int k = 0; k < kRows; ++k, o += columns) {
      if (element + k >= t.value_dim) continue;  // clang does not unroll loops that may end early
      Sums::AddOutputs(sums, k, rescale, factor, o);
    }
  }

  template <bool kHides, int kVectors>
  FOVEA_INLINE void Values(const QueryTile& t, const KeyTile& keys, size_t column) {
    constexpr int kRows = Block::template kRows<kVectors>;
    static_assert(kValueGrain % kRows == 0, "blocks must tile the values");
    const I8Numbers& numbers = keys.numbers();
    const uint32_t first = (Dot::kSignedWeights ? numbers.begin : keys.begin) / kGroup;
    const uint32_t end = uint32_t(((Dot::kSignedWeights ? numbers.end : keys.end) + kGroup - 1) / kGroup);
    const WeightGroups weights = {
        Codes::Weights(t) + (first * t.columns + column) * kGroup,
        static_cast<const RowCode*>(keys.values.data) + first * padded_values(t.value_dim) * kGroup, end - first};
    for (size_t e = 0; e < t.value_dim; e += kRows) {
      ValueBlock<kVectors, kRows>(t, weights, numbers.value_start, column, e);
    }
  }
};

// The Parts of a TileKernel over the dot words of one instruction (simd/dot_*.inl).
template <class Dot>
struct I8Tile : I8Softmax, I8Queries<Dot>, I8Products<Dot>, I8Weights<Dot>, I8Whole<Dot> {
  static constexpr size_t kProductLanes = kLanes;
  static constexpr int kBlockVectors = Dot::kBlockVectors;

  template <int>
  FOVEA_INLINE void ScaleScores(const QueryTile&, const KeyTile&, size_t) {}
  template <int kVectors>
  FOVEA_INLINE void TakeOutZeros(const QueryTile& t, const KeyTile& keys, size_t column) {
    for (int v = 0; HasZero(keys) && v < kVectors; ++v) TakeOutZero(t, column + v * kLanes);
  }
};

#endif  // FOVEA_SRC_ATTENTION_I8_PRODUCTS_INL_
