// SPDX-License-Identifier: Apache-2.0
//
// The few-rows kernel with products of halves: the chains are those of f16/products.inl, so that the bits are those of
// the tile kernel. A lane is a key while its products with a query are added up: the elements of kProductLanes keys are
// transposed in registers (ground/math/half_lanes.inl). With values, lanes run along value_dim, and each value is read once
// for all rows.
#ifndef FOVEA_SRC_ATTENTION_F16_FEW_ROWS_INL_
#define FOVEA_SRC_ATTENTION_F16_FEW_ROWS_INL_

#include "core/attention/f16/few_softmax.inl"

template <class Half, bool = Half::kByScalars>
struct HalfFewRows : HalfFewSoftmax<Half> {
  using Element = typename Half::Element;
  using V = typename Half::V;
  using E = typename Half::E;
  using M = typename Half::M;
  using Rows = HalfRows<Half>;
  using Softmax = HalfFewSoftmax<Half>;
  static constexpr size_t kProductLanes = Half::kLanes;
  static constexpr int kPieces = Half::kPieces;

  // sums[r][v] += weight i of each row times a value, which begins at `value`. `n` of its elements, or whole vectors.
  template <bool kHides, bool kPart, int i, int kRows, int kVectors>
  FOVEA_INLINE void AddValueOfKey(const E (&weights)[kRows], const M (&hidden)[kRows], const Element* value, size_t n,
                                  V (&sums)[kRows][kVectors]) {
    V x[kVectors];
    FOVEA_EACH(v, kVectors) x[v] = kPart ? Half::LoadPart(value, n) : Half::Load(value + v * kProductLanes);
    FOVEA_EACH(v, kVectors) {
      FOVEA_EACH(r, kRows) {
        sums[r][v] =
            Half::template MulAdd<i>(kHides ? Half::template ZeroIf<i>(hidden[r], x[v]) : x[v], weights[r], sums[r][v]);
      }
    }
  }

  // The same for kProductLanes weights of each row and their values. `value` advances past them.
  template <bool kHides, bool kPart, int i, int kRows, int kVectors>
  FOVEA_INLINE void AddFewValues(const E (&weights)[kRows], const M (&hidden)[kRows], const Element*& value,
                                 ptrdiff_t stride, size_t n, V (&sums)[kRows][kVectors]) {
    AddValueOfKey<kHides, kPart, i>(weights, hidden, value, n, sums);
    value += stride;
    if constexpr (i + 1 < int(kProductLanes)) {
      AddFewValues<kHides, kPart, i + 1>(weights, hidden, value, stride, n, sums);
    }
  }

  // o = o * rescale + part, or without `rescales` o + part, for the first n elements of a vector of halves.
  FOVEA_INLINE void AddPart(float* o, bool rescales, VF rescale, V sum, size_t n) {
    float lanes[kProductLanes] = {};
    const bool whole = n == kProductLanes;
    if (!whole) __builtin_memcpy(lanes, o, n * sizeof(float));
    VF all[kPieces], part[kPieces];
    Half::LoadFloats(whole ? o : lanes, all);
    Half::Widen(sum, part);
    FOVEA_EACH(i, kPieces) part[i] = hn::Add(rescales ? hn::Mul(all[i], rescale) : all[i], part[i]);
    Half::StoreFloats(part, whole ? o : lanes);
    if (!whole) __builtin_memcpy(o, lanes, n * sizeof(float));
  }

  // o[r][element + ..] for kVectors vectors, or with kPart for n elements.
  template <int kRows, bool kHides, bool kPart, int kVectors>
  FOVEA_INLINE void FewValueBlock(const QueryTile& t, const KeyTile& keys, size_t element, size_t n) {
    constexpr uint32_t kKeys = FewBlock<kRows>::kKeys;
    const size_t padded = PaddedToLanes(t.value_dim);
    const Element* x = Softmax::template FewWeightElements<kRows>(t);
    const Element* value = Rows::RowOf(keys.values, keys.begin) + element;
    for (uint32_t j = keys.begin, end; j < keys.end;) {
      const bool rescales = j == keys.begin;
      end = uint32_t((j / kPartialHalves + 1) * kPartialHalves);
      if (end > keys.end) end = keys.end;
      V sums[kRows][kVectors];
      SetAll(sums, Half::Zero());
      E weights[kRows];
      M hidden[kRows] = {};
      for (; j + kProductLanes <= end; j += kProductLanes, x += kProductLanes) {
        FOVEA_EACH(r, kRows) {
          weights[r] = Half::LoadE(x + r * kKeyTile);
          if (kHides) hidden[r] = Half::SignMask(weights[r]);
        }
        AddFewValues<kHides, kPart, 0>(weights, hidden, value, keys.values.stride, n, sums);
      }
      for (; j < end; ++j, ++x, value += keys.values.stride) {
        FOVEA_EACH(r, kRows) {
          weights[r] = Half::LoadOne(x + r * kKeyTile);
          if (kHides) hidden[r] = Half::SignMask(weights[r]);
        }
        AddValueOfKey<kHides, kPart, 0>(weights, hidden, value, n, sums);
      }
      FOVEA_EACH(r, kRows) {
        const VF rescale = hn::Set(kF, t.rescale[r * kKeys]);
        FOVEA_EACH(v, kVectors) {
          AddPart(t.o + r * padded + element + v * kProductLanes, rescales, rescale, sums[r][v],
                  kPart ? n : kProductLanes);
        }
      }
    }
  }

  template <int kRows, bool kHides>
  FOVEA_TEMPLATE void FewValuesOf(const QueryTile& t, const KeyTile& keys) {
    constexpr size_t kMost = 8, kBlock = kMost * kProductLanes;
    size_t e = 0;
    for (; e + kBlock <= t.value_dim; e += kBlock) FewValueBlock<kRows, kHides, false, kMost>(t, keys, e, 0);
    for (; e + 2 * kProductLanes <= t.value_dim; e += 2 * kProductLanes) {
      FewValueBlock<kRows, kHides, false, 2>(t, keys, e, 0);
    }
    for (size_t n; e < t.value_dim; e += n) {
      n = t.value_dim - e < kProductLanes ? t.value_dim - e : kProductLanes;
      FewValueBlock<kRows, kHides, true, 1>(t, keys, e, n);
    }
  }
  template <int kRows>
  FOVEA_INLINE void FewValues(const QueryTile& t, const KeyTile& keys, bool hides) {
    if (hides) {
      FewValuesOf<kRows, true>(t, keys);
    } else {
      FewValuesOf<kRows, false>(t, keys);
    }
  }
};

#include "core/attention/f16/few_rows_helium.inl"

#endif  // FOVEA_SRC_ATTENTION_F16_FEW_ROWS_INL_
