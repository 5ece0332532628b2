// SPDX-License-Identifier: Apache-2.0
//
// The two products of a tile with integer codes. A lane is a query row:
//   x = query codes, rows = keys as they are stored                        -> scores, f32
//   x = weight codes, rows = values [key / group][element][group]          -> sums of values
// Between the products Mul and Add are not fused, and the keys' places in the tile fix the order of sums. So the bits
// are the same on every target.
#ifndef FOVEA_SRC_ATTENTION_I8_PRODUCTS_INL_
#define FOVEA_SRC_ATTENTION_I8_PRODUCTS_INL_

#include "core/attention/i8/codes.inl"
#include "ground/math/dot_block.inl"

// What becomes of the sums of a row of a register block.
template <class Dot, DotKind kKind = Dot::kKind>
struct I8Sums {
  using Sum = typename Dot::Sum;

  // scores[..] = sums * the key's scale * the scales of the queries.
  template <int kVectors>
  FOVEA_INLINE void StoreScores(const Sum (&sums)[kVectors], float key_scale, const float* query_scales,
                                float* scores) {
    const VF scale = hn::Set(kF, key_scale);
    FOVEA_EACH(v, kVectors) {
      const VF query_scale = hn::LoadU(kF, query_scales + v * kLanes);
      hn::StoreU(hn::Mul(hn::Mul(Dot::ToFloat(sums[v]), scale), query_scale), kF, scores + v * kLanes);
    }
  }

  // o[..] = o * rescale + sums * factors
  template <int kVectors>
  FOVEA_INLINE void AddOutputs(const Sum (&sums)[kVectors], const float* rescales, const float* factors, float* o) {
    FOVEA_EACH(v, kVectors) {
      const VF rescale = hn::LoadU(kF, rescales + v * kLanes);
      const VF factor = hn::LoadU(kF, factors + v * kLanes);
      const VF old = hn::Mul(hn::LoadU(kF, o + v * kLanes), rescale);
      hn::StoreU(hn::Add(old, hn::Mul(Dot::ToFloat(sums[v]), factor)), kF, o + v * kLanes);
    }
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
  using Sum = typename Dot::Sum;
  static constexpr size_t kGroup = Dot::kGroup;

  // Scores of the keys j .. j + kRows - 1. Those past the end repeat the last one.
  template <int kVectors, int kRows>
  FOVEA_INLINE void ScoreBlock(const QueryTile& t, const KeyTile& keys, size_t column, uint32_t j) {
    const RowCode* at[kRows];
    const I8Numbers& numbers = keys.numbers();
    Sum sums[kRows][kVectors];
    uint32_t key[kRows];
    FOVEA_EACH(k, kRows) {
      key[k] = j + k < keys.end ? j + k : keys.end - 1;
      const char* const row = static_cast<const char*>(keys.keys.data) + ptrdiff_t(key[k]) * keys.keys.stride;
      at[k] = reinterpret_cast<const RowCode*>(row);
      FOVEA_EACH(v, kVectors) sums[k][v] = Dot::Start(Dot::kUnsignedQueries ? numbers.key_start[key[k]] : 0);
    }
    const size_t columns = t.columns;
    Block::template MultiplyKeys<kVectors>(Codes::Queries(t) + column * kGroup, columns, at, t.head_dim, sums);
    float* s = t.s + size_t(j) * columns + column;
    FOVEA_UNROLL(8)
    for (int k = 0; k < kRows; ++k, s += columns) {
      Sums::StoreScores(sums[k], numbers.key_scale[key[k]], query_scales(t) + column, s);
    }
  }

  template <int kVectors>
  FOVEA_INLINE void Scores(const QueryTile& t, const KeyTile& keys, size_t column) {
    constexpr int kRows = Block::template kRows<kVectors>;
    static_assert(kKeyGrain % kRows == 0, "blocks must tile the key tile");
    for (uint32_t j = keys.begin; j < keys.end; j += kRows) ScoreBlock<kVectors, kRows>(t, keys, column, j);
  }

  // o[e][vector] = o[e][vector] * rescale + factor * sum_j weight[j][vector] * value[j][e], for kRows elements.
  template <int kVectors, int kRows>
  FOVEA_INLINE void ValueBlock(const QueryTile& t, const KeyTile& keys, size_t column, size_t element) {
    const I8Numbers& numbers = keys.numbers();
    const size_t columns = t.columns, padded = Block::PaddedValues(t.value_dim);
    Sum sums[kRows][kVectors];
    FOVEA_EACH(k, kRows) {
      FOVEA_EACH(v, kVectors) {
        sums[k][v] = Dot::Start(Dot::kSignedWeights ? numbers.value_start[element + k] : 0);
      }
    }
    const uint32_t first = (Dot::kSignedWeights ? numbers.begin : keys.begin) / kGroup;
    const uint32_t end = ((Dot::kSignedWeights ? numbers.end : keys.end) + kGroup - 1) / kGroup;
    const Code* x = Codes::Weights(t) + (size_t(first) * columns + column) * kGroup;
    const RowCode* value = static_cast<const RowCode*>(keys.values.data) + (size_t(first) * padded + element) * kGroup;
    Block::template MultiplyValues<kVectors>(x, columns, value, padded, end - first, sums);
    float* o = t.o + element * columns + column;
    FOVEA_UNROLL(8)
    for (int k = 0; k < kRows; ++k, o += columns) {
      if (element + k >= t.value_dim) return;
      Sums::AddOutputs(sums[k], t.rescale + column, value_factors(t) + column, o);
    }
  }

  template <bool kHides, int kVectors>
  FOVEA_INLINE void Values(const QueryTile& t, const KeyTile& keys, size_t column) {
    constexpr int kRows = Block::template kRows<kVectors>;
    static_assert(kValueGrain % kRows == 0, "blocks must tile the values");
    for (size_t e = 0; e < t.value_dim; e += kRows) ValueBlock<kVectors, kRows>(t, keys, column, e);
  }
};

#include "core/attention/i8/products_neon64.inl"
#include "core/attention/i8/products_smlad.inl"
#if FOVEA_FOR_HELIUM
#include "core/attention/i8/products_helium.inl"
#elif FOVEA_FOR_RVV
#include "core/attention/i8/sums_rvv.inl"
#endif

#endif  // FOVEA_SRC_ATTENTION_I8_PRODUCTS_INL_
