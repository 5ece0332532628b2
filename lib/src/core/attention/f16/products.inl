// SPDX-License-Identifier: Apache-2.0
//
// The tile kernel with halves, and its two products, over half words and ground/math/half_block.inl. A lane is a
// query row:
//   x = queries [head_dim][columns] halves, rows = keys as they are stored    -> scores, f32
//   x = weights [key][kWeightPitch * columns] halves, rows = values as stored -> sums of values, f32
// A key's place in the tile decides which chain has its weight.
#ifndef FOVEA_SRC_ATTENTION_F16_PRODUCTS_INL_
#define FOVEA_SRC_ATTENTION_F16_PRODUCTS_INL_

#include "core/attention/f16/elements.inl"
#include "core/attention/queries.inl"
#include "core/attention/softmax.inl"
#include "core/attention/tile_kernel.inl"

template <class Half, bool = Half::kByScalars>
struct HalfProducts : HalfRows<Half> {
  using Element = typename Half::Element;
  using V = typename Half::V;
  using E = typename Half::E;
  using M = typename Half::M;
  using Rows = HalfRows<Half>;
  static constexpr size_t kProductLanes = Half::kLanes;
  static constexpr int kPieces = Half::kPieces;

  static constexpr uint32_t kKeysAtOnce = 4;  // of a sum of values, where nothing is hidden

  template <int kVectors>
  FOVEA_SHARED_TEMPLATE void Scores(const QueryTile& t, const KeyTile& keys, size_t column) {
    static_assert(kKeyGrain % Half::kRows == 0, "blocks must tile the key tile");
    for (uint32_t j = keys.begin; j < keys.end; j += Half::kRows) {
      Rows::template ScoreBlock<kVectors, true>(t, keys, column, j);
    }
  }

  // sums[e] += element e of a value times the weights x. With kHides, a weight of -0 adds nothing, whatever the value.
  template <bool kHides, int e, int kRows, int kVectors, int kLoads>
  FOVEA_INLINE void AddValue(const V (&x)[kVectors], const M (&hidden)[kVectors], const E (&value)[kLoads],
                             V (&sums)[kRows][kVectors]) {
    constexpr int i = e % Half::kReads;
    const E element = value[e / Half::kReads];
    FOVEA_EACH(v, kVectors) {
      V& sum = sums[e][v];
      sum = kHides ? Half::template MulAddUnless<i>(hidden[v], x[v], element, sum)
                   : Half::template MulAdd<i>(x[v], element, sum);
    }
    if constexpr (e + 1 < kRows) AddValue<kHides, e + 1>(x, hidden, value, sums);
  }

  // The same for the weights of one key, at x, and its value. Both advance by their steps.
  template <bool kHides, int kRows, int kVectors>
  FOVEA_INLINE void AddKey(const Element*& x, size_t step, const Element*& value, ptrdiff_t stride,
                           V (&sums)[kRows][kVectors]) {
    constexpr int kLoads = (kRows + Half::kReads - 1) / Half::kReads;
    E elements[kLoads];
    V weights[kVectors];
    M hidden[kVectors];
    if constexpr (kLoads == 1 && kRows > 1) {
      elements[0] = Half::NextE(value, stride);
    } else {
      FOVEA_EACH(i, kLoads) {
        elements[i] = kRows == 1 ? Half::LoadOne(value) : Half::LoadE(value + i * Half::kReads);
      }
      value += stride;
    }
    FOVEA_EACH(v, kVectors) {
      weights[v] = Half::Load(x + v * kProductLanes);
      hidden[v] = kHides ? Half::SignMask(weights[v]) : M();
    }
    x += step;
    AddValue<kHides, 0>(weights, hidden, elements, sums);
  }

  // o[e][vector] = o[e][vector] * factor + sums[e][vector], or unless `rescales` o + sums, but for the first `skip`
  // rows.
  template <int kRows, int kVectors>
  FOVEA_INLINE void AddSums(const V (&sums)[kRows][kVectors], bool rescales, const float* factors, int skip,
                            size_t columns, float* o) {
    VF factor[kVectors][kPieces];
    FOVEA_EACH(v, kVectors) Half::LoadFloats(factors + v * kProductLanes, factor[v]);
    FOVEA_UNROLL(8)
    for (int e = 0; e < kRows; ++e, o += columns) {
      if (e < skip) continue;
      FOVEA_EACH(v, kVectors) {
        VF all[kPieces], part[kPieces];
        Half::LoadFloats(o + v * kProductLanes, all);
        Half::Widen(sums[e][v], part);
        for (int i = 0; i < kPieces; ++i) {
          part[i] = hn::Add(rescales ? hn::Mul(all[i], factor[v][i]) : all[i], part[i]);
        }
        Half::StoreFloats(part, o + v * kProductLanes);
      }
    }
  }

  // o[e][vector] = o[e][vector] * rescale + sum_j weight[j][vector] * value[j][e], for kRows elements, of which the
  // first `skip` are not stored.
  template <bool kHides, int kVectors, int kRows>
  FOVEA_INLINE void ValueBlock(const QueryTile& t, const KeyTile& keys, size_t column, size_t element, int skip) {
    const size_t columns = Rows::template ColumnsOf<kVectors>(t), step = columns * Rows::kWeightPitch;
    const ptrdiff_t stride = keys.values.stride;
    const Element *x = Rows::WeightElements(t, keys.begin, column),
                  *value = Rows::RowOf(keys.values, keys.begin) + element;
    float* const o = t.o + element * columns + column;
    for (uint32_t j = keys.begin, first = j, end; j < keys.end; j = end) {
      end = uint32_t((j / kPartialHalves + 1) * kPartialHalves);
      if (end > keys.end) end = keys.end;
      V sums[kRows][kVectors];
      SetAll(sums, Half::Zero());
      uint32_t n = end - j;
      if constexpr (!kHides && kVectors > 1) {
        for (; n >= kKeysAtOnce; n -= kKeysAtOnce) {
          FOVEA_EACH(i, kKeysAtOnce) AddKey<kHides>(x, step, value, stride, sums);
        }
      }
      for (; n > 0; --n) AddKey<kHides>(x, step, value, stride, sums);
      if (!kSmallText && j == first) {
        AddSums(sums, true, t.rescale + column, skip, columns, o);
      } else {
        AddSums(sums, kSmallText && j == first, t.rescale + column, skip, columns, o);
      }
    }
  }

  // One element of values that do not fill a register block.
  FOVEA_SECTION_OF(Half)
  FOVEA_CALLED void ValueElement(const QueryTile& t, const KeyTile& keys, size_t column, size_t element) {
    ValueBlock<kMayHide, 1, 1>(t, keys, column, element, 0);
  }

  // The last register block may overlap the one before it, and then does not store what both have.
  template <bool kHides, int kVectors>
  FOVEA_SHARED_TEMPLATE void Values(const QueryTile& t, const KeyTile& keys, size_t column) {
    constexpr size_t kBlock = Half::kRows;
    const size_t value_dim = t.value_dim;
    if (value_dim < kBlock) {
      for (size_t e = 0; e < value_dim; ++e) {
        for (size_t v = 0; v < kVectors; ++v) ValueElement(t, keys, column + v * kProductLanes, e);
      }
      return;
    }
    for (size_t e = 0; e < value_dim; e += kBlock) {
      const size_t start = e + kBlock <= value_dim ? e : value_dim - kBlock;
      ValueBlock<kHides, kVectors, kBlock>(t, keys, column, start, int(e - start));
    }
  }

  // The weights of one vector of rows become halves. A hidden one stays -0.
  FOVEA_SHARED_TEMPLATE void PackWeights(const QueryTile& t, const KeyTile& keys, size_t column, bool) {
    const size_t columns = t.columns;
    const float* weights = t.s + size_t(keys.begin) * columns + column;
    Element* to = Rows::WeightElements(t, keys.begin, column);
    FOVEA_UNROLL_LONG_LOOP(4)
    for (uint32_t n = keys.end - keys.begin; n > 0; --n, weights += columns, to += columns * Rows::kWeightPitch) {
      Half::Store(hn::LoadU(kF, weights), to);
    }
  }

  // Of one key, in the place of the score that it was.
  static constexpr bool kPacksWeights = !kSmallText && Rows::kWeightPitch > 1;
  FOVEA_INLINE void StorePacked(VF weight, float* score, size_t column) {
    Half::Store(weight, reinterpret_cast<Element*>(score - column) + column);
  }

  static constexpr bool kStoresInTwo = false;
  FOVEA_INLINE void StoreQuery(VF v, Element* p, bool) { Half::Store(v, p); }
};

#include "core/attention/f16/products_helium.inl"

template <class Half>
struct HalfTile : HalfProducts<Half>, TileQueries<HalfTile<Half>, typename Half::Element>, TileSoftmax<HalfTile<Half>> {
  using Element = typename Half::Element;

  template <int n>
  FOVEA_INLINE void WeightExp2(VF (&x)[n]) {
    ShortExp2(x);  // a weight is rounded to a half, so its exponential need not be exact to the last bit
  }
  FOVEA_INLINE void LoadQuery(fovea_dtype dtype, const void* row, size_t dim, VF factor, Element* to, size_t step) {
    for (size_t d = 0; d < dim; ++d, to += step) {
      HalfProducts<Half>::StoreQuery(hn::Mul(LoadPart(dtype, row, d, 1), factor), to, false);
    }
  }
  FOVEA_INLINE VF QueryFactors(const QueryTile& t, const LaneRows<char>& rows, fovea_dtype dtype, size_t column,
                               float scale) {
    VF largest[kLanes], powers;
    FindLargest<kLanes>(rows.at, dtype, t.head_dim, largest);
    hn::Transpose(largest);
    for (size_t i = 1; i < kLanes; ++i) largest[0] = hn::Max(largest[0], largest[i]);
    const VF factors = FactorsOfQueries(largest[0], scale, &powers);
    hn::StoreU(powers, kF, query_scales(t) + column);
    return factors;
  }
};

#endif  // FOVEA_SRC_ATTENTION_F16_PRODUCTS_INL_
