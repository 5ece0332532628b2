// SPDX-License-Identifier: Apache-2.0
//
// HalfProducts for Helium: the chains and the arrays are those of products.inl. Registers are divided as in
// ground/math/half_block_helium.inl.
#ifndef FOVEA_SRC_ATTENTION_F16_PRODUCTS_HELIUM_INL_
#define FOVEA_SRC_ATTENTION_F16_PRODUCTS_HELIUM_INL_

#include "core/attention/f16/products.inl"

template <class Half>
struct HalfProducts<Half, true> : HalfRows<Half> {
  using Element = typename Half::Element;
  using V = typename Half::V;
  using E = typename Half::E;
  using Block = HalfBlock<Half>;
  using Rows = HalfRows<Half>;
  static constexpr size_t kProductLanes = Half::kLanes;

  template <int kVectors>
  FOVEA_CALLED_TEMPLATE void Scores(const QueryTile& t, const KeyTile& keys, size_t column) {
    for (uint32_t j = keys.begin; j < keys.end; j += Half::kRows) {
      Rows::template ScoreBlock<kVectors, false>(t, keys, column, j);
    }
  }

  // o[element + e * step][vector] += sum_j weight[j][vector] * value[j][element + e * step], e < 2, of which the first
  // `skip` are not stored. With kHides, a weight of -0 adds nothing, whatever the value.
  template <bool kHides, int kVectors>
  FOVEA_INLINE void ValueBlock(const QueryTile& t, const KeyTile& keys, size_t column, size_t element, size_t step,
                               int skip) {
    const size_t columns = Rows::template ColumnsOf<kVectors>(t);
    const Element *x = Rows::WeightElements(t, keys.begin, column),
                  *value = Rows::RowOf(keys.values, keys.begin) + element;
    float* const o = t.o + element * columns + column;
    for (uint32_t j = keys.begin, end; j < keys.end; j = end) {
      end = uint32_t((j / kPartialHalves + 1) * kPartialHalves);
      if (end > keys.end) end = keys.end;
      typename Block::template Chains<kVectors> sums;
      SetAll(sums, Half::Zero());
      FOVEA_UNROLL_LONG_LOOP(16)
      for (uint32_t n = end - j; n > 0; --n) {
        const E elements[Half::kRows] = {Half::LoadOne(value), Half::LoadOne(value + step)};
        value += keys.values.stride;
        FOVEA_OPAQUE(value);
        FOVEA_EACH(v, kVectors) {
          constexpr int kPastWhole = kProductLanes + kVectors * kProductLanes * (Rows::kWeightPitch - 1);
          const bool last = kVectors > 1 && v + 1 == kVectors;
          const V weights = last ? Half::template Next<kPastWhole>(x) : Half::template Next<kProductLanes>(x);
          if constexpr (kHides) {
            Half::MulAddTwoSeen(weights, elements, sums[0][v], sums[1][v]);
          } else {
            sums[0][v] = Half::template MulAdd<0>(weights, elements[0], sums[0][v]);
            sums[1][v] = Half::template MulAdd<0>(weights, elements[1], sums[1][v]);
          }
        }
        if (kVectors == 1) x += columns * Rows::kWeightPitch - kVectors * kProductLanes;
      }
      const bool first = j == keys.begin;
      Block::template EndChains<kScaleAndAdd, kVectors>(sums, skip, o, columns * step, first, t.rescale + column);
    }
  }

  // Multiplies the outputs by `rescale`, where size counts. Else the first chains do it.
  FOVEA_SECTION_OF(Half) FOVEA_CALLED void Rescale(const QueryTile& t, size_t column) {
    const VF rescale = hn::LoadU(kF, t.rescale + column);
    const size_t columns = t.columns;
    float* o = t.o + column;
    for (size_t n = t.value_dim; n > 0; --n, o += columns) hn::StoreU(hn::Mul(hn::LoadU(kF, o), rescale), kF, o);
  }

  // The last register block may overlap the one before it, and then does not store what both have. A single element of
  // a value takes both places of a block.
  template <bool kHides, int kVectors>
  FOVEA_CALLED_TEMPLATE void ValuesOf(const QueryTile& t, const KeyTile& keys, size_t column) {
    const size_t value_dim = t.value_dim;
    if constexpr (kSmallText) {
      for (size_t c = column; c < column + kVectors * kProductLanes; c += kLanes) Rescale(t, c);
    }
    for (size_t e = 0; e < value_dim; e += Half::kRows) {
      const size_t over = e + 1 == value_dim, step = value_dim > 1;
      ValueBlock<kHides, kVectors>(t, keys, column, e - over * step, step, int(over));
    }
  }
  template <bool kHides, int kVectors>
  FOVEA_INLINE void Values(const QueryTile& t, const KeyTile& keys, size_t column) {
    ValuesOf<kMayHide && (kHides || (kSmallText && kVectors == 1)), kVectors>(t, keys, column);
  }

  // The weights of both halves of a vector become halves when the second ones are known. A hidden one stays -0.
  FOVEA_SECTION_OF(Half) FOVEA_CALLED void PackWeights(const QueryTile& t, const KeyTile& keys, size_t column, bool) {
    if (column % kProductLanes == 0) return;
    const size_t columns = t.columns, first = column - kLanes;
    const float* weights = t.s + size_t(keys.begin) * columns + first;
    Element* to = Rows::WeightElements(t, keys.begin, first);
    FOVEA_UNROLL_LONG_LOOP(4)
    for (uint32_t n = keys.end - keys.begin; n > 0; --n, weights += columns, to += columns * Rows::kWeightPitch) {
      Half::StoreBoth(hn::LoadU(kF, weights), hn::LoadU(kF, weights + kLanes), to);
    }
  }

  static constexpr bool kPacksWeights = false;  // a vector of weights is of two vectors of scores
  FOVEA_INLINE void StorePacked(VF, float*, size_t) {}

  static constexpr bool kStoresInTwo = true;
  FOVEA_INLINE void StoreQuery(VF v, Element* p, bool second) {
    if (second) {
      Half::StoreSecond(v, p - kLanes);
    } else {
      Half::StoreFirst(v, p);
    }
  }
};

#endif  // FOVEA_SRC_ATTENTION_F16_PRODUCTS_HELIUM_INL_
