// SPDX-License-Identifier: Apache-2.0
//
// products.inl for AArch64. There an instruction multiplies columns by one of the four groups of codes in a register
// (sdot), or by two rows (smmla).
#ifndef FOVEA_SRC_ATTENTION_I8_PRODUCTS_NEON64_INL_
#define FOVEA_SRC_ATTENTION_I8_PRODUCTS_NEON64_INL_

#include "core/attention/i8/products.inl"

template <class Dot>
struct NeonProducts {
  using Block = DotBlock<Dot>;
  using Codes = I8Codes<Dot>;
  using Code = typename Dot::Code;
  using RowCode = typename Dot::RowCode;
  static constexpr size_t kGroup = Dot::kGroup;

  // Scores of kRows keys, of which `left` exist: the others repeat the last one.
  template <int kVectors, int kRows>
  FOVEA_INLINE void ScoreBlock(const QueryTile& t, size_t column, const RowCode* key, ptrdiff_t stride, uint32_t left,
                               const float* key_scales, float* s) {
    const RowCode* at[kRows];
    typename Dot::template Sums<kRows, kVectors> sums;
    FOVEA_EACH(k, uint32_t{kRows}) {
      at[k] = key;
      key += left >= kRows || k + 1 < left ? stride : 0;
      Dot::Begin(k, 0, sums);
    }
    const size_t columns = t.columns;
    Block::template MultiplyKeys<kVectors>(Codes::Queries(t) + column * kGroup, columns, at, t.head_dim, sums);
    VF query_scale[kVectors];
    Dot::LoadVectors(query_scales(t) + column, query_scale);
    FOVEA_UNROLL(8)
    for (int k = 0; k < kRows; ++k, s += columns) {
      const VF key_scale = hn::Set(kF, key_scales[k]);
      VF score[kVectors];
      FOVEA_EACH(v, kVectors)
        score[v] = hn::Mul(hn::Mul(Dot::SumsOf(sums, k, v), key_scale), query_scale[v]);
      Dot::StoreVectors(score, s);
    }
  }

  // Whole register blocks fill a key tile, so there is room for the scores of a last block that is not full.
  template <int kVectors>
  FOVEA_INLINE void Scores(const QueryTile& t, const KeyTile& keys, size_t column) {
    constexpr int kRows = Block::template kRows<kVectors>;
    static_assert(kKeyGrain % kRows == 0, "blocks must tile the key tile");
    const ptrdiff_t stride = keys.keys.stride;
    const RowCode* key = static_cast<const RowCode*>(keys.keys.data) + ptrdiff_t(keys.begin) * stride;
    float* s = t.s + size_t(keys.begin) * t.columns + column;
    for (uint32_t j = keys.begin; j < keys.end; j += kRows, key += kRows * stride, s += kRows * t.columns) {
      ScoreBlock<kVectors, kRows>(t, column, key, stride, keys.end - j, keys.numbers().key_scale + j, s);
    }
  }

  // What all register blocks of a tile's values share.
  struct WeightGroups {
    const Code* x;   // the first group of weights
    uint32_t count;  // groups
    size_t step, value_step;
  };

  // o[e][vector] = o[e][vector] * rescale + factor * sum_j weight[j][vector] * value[j][e], for kRows elements.
  template <int kVectors, int kRows>
  FOVEA_INLINE void ValueBlock(const QueryTile& t, const WeightGroups& weights, const RowCode* value,
                               const int32_t* starts, size_t column, size_t element) {
    const size_t columns = t.columns;
    typename Dot::template Sums<kRows, kVectors> sums;
    FOVEA_EACH(k, kRows) Dot::Begin(k, Dot::kSignedWeights ? starts[element + k] : 0, sums);
    const Code* x = weights.x;
    FOVEA_UNROLL_LONG_LOOP(4)
    for (uint32_t n = weights.count; n > 0; --n) Dot::AddValues(x, weights.step, value, weights.value_step, sums);
    VF rescale[kVectors], factor[kVectors];
    Dot::LoadVectors(t.rescale + column, rescale);
    Dot::LoadVectors(value_factors(t) + column, factor);
    float* o = t.o + element * columns + column;
    FOVEA_UNROLL(8)
    for (int k = 0; k < kRows; ++k, o += columns) {
      if (element + k >= t.value_dim) continue;  // clang does not unroll loops that may end early
      VF sum[kVectors];
      Dot::LoadVectors(o, sum);
      FOVEA_EACH(v, kVectors) {
        sum[v] = hn::Add(hn::Mul(sum[v], rescale[v]), hn::Mul(Dot::SumsOf(sums, k, v), factor[v]));
      }
      Dot::StoreVectors(sum, o);
    }
  }

  template <bool kHides, int kVectors>
  FOVEA_INLINE void Values(const QueryTile& t, const KeyTile& keys, size_t column) {
    constexpr int kRows = Block::template kRows<kVectors>;
    static_assert(kValueGrain % kRows == 0, "blocks must tile the values");
    const I8Numbers& numbers = keys.numbers();
    const uint32_t first = (Dot::kSignedWeights ? numbers.begin : keys.begin) / kGroup;
    const uint32_t end = uint32_t(((Dot::kSignedWeights ? numbers.end : keys.end) + kGroup - 1) / kGroup);
    const size_t step = t.columns * kGroup, value_step = padded_values(t.value_dim) * kGroup;
    const WeightGroups weights = {Codes::Weights(t) + first * step + column * kGroup, end - first, step, value_step};
    const RowCode* value = static_cast<const RowCode*>(keys.values.data) + first * value_step;
    for (size_t e = 0; e < t.value_dim; e += kRows, value += kRows * kGroup) {
      ValueBlock<kVectors, kRows>(t, weights, value, numbers.value_start, column, e);
    }
  }
};

template <class Dot>
struct I8Products<Dot, kDotSdot> : NeonProducts<Dot> {};
template <class Dot>
struct I8Products<Dot, kDotSmmla> : NeonProducts<Dot> {};

#endif  // FOVEA_SRC_ATTENTION_I8_PRODUCTS_NEON64_INL_
