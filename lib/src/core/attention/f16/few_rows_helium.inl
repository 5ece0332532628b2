// SPDX-License-Identifier: Apache-2.0
//
// HalfFewRows for Helium, which gathers elements of keys. Queries and weights are scalars in general registers.
#ifndef FOVEA_SRC_ATTENTION_F16_FEW_ROWS_HELIUM_INL_
#define FOVEA_SRC_ATTENTION_F16_FEW_ROWS_HELIUM_INL_

#include "core/attention/f16/few_rows.inl"

template <class Half>
struct HalfFewRows<Half, true> : HalfFewSoftmax<Half> {
  using Element = typename Half::Element;
  using V = typename Half::V;
  using E = typename Half::E;
  using Rows = HalfRows<Half>;
  using Softmax = HalfFewSoftmax<Half>;
  static constexpr size_t kProductLanes = Half::kLanes;
  static constexpr int kPieces = Half::kPieces;

  // o = o * rescale + part, or without `rescales` o + part, for n elements.
  FOVEA_SHARED_TEMPLATE void AddStoredPart(const Element* part, float* o, bool rescales, float rescale, size_t n) {
    for (size_t i = 0; i < n; i += kLanes) {
      VF all = LoadUpTo(o + i, LanesBefore(i, n));
      if (rescales) all = hn::MulSet(all, rescale);
      StoreUpTo(hn::Add(all, hn::LoadF16(kF, part + i)), o + i, LanesBefore(i, n));
    }
  }

  // o[r][element + ..] for kVectors vectors, or with kPart for n elements. With kHides, the value of a weight whose
  // sign is set is taken from zeros: its product then adds nothing.
  template <int kRows, bool kHides, bool kPart, int kVectors>
  FOVEA_INLINE void FewValueBlock(const QueryTile& t, const KeyTile& keys, size_t element, size_t n) {
    static const Element kZeros[kVectors * kProductLanes] = {};
    constexpr uint32_t kKeys = FewBlock<kRows>::kKeys;
    const size_t padded = PaddedToLanes(t.value_dim);
    const Element* weight = Softmax::template FewWeightElements<kRows>(t);
    const Element* value = Rows::RowOf(keys.values, keys.begin) + element;
    for (uint32_t j = keys.begin, end; j < keys.end; j = end) {
      const bool rescales = j == keys.begin;
      end = uint32_t((j / kPartialHalves + 1) * kPartialHalves);
      if (end > keys.end) end = keys.end;
      V sums[kRows][kVectors];
      SetAll(sums, Half::Zero());
      FOVEA_UNROLL_LONG_LOOP(2)
      for (uint32_t left = end - j; left > 0; --left, ++weight, value += keys.values.stride) {
        E e[kRows];
        const Element* at[kRows];
        FOVEA_EACH(r, kRows) {
          e[r] = Half::LoadOne(weight + r * kKeyTile);
          at[r] = kHides && int16_t(e[r]) < 0 ? kZeros : value;
        }
        FOVEA_EACH(v, kVectors) {
          V x;
          FOVEA_EACH(r, kRows) {
            if (r == 0 || kHides) {
              const Element* const p = at[r] + v * kProductLanes;
              x = kPart ? Half::LoadPart(p, n) : Half::Load(p);
            }
            sums[r][v] = Half::template MulAdd<0>(x, e[r], sums[r][v]);
          }
        }
      }
      FOVEA_UNROLL_FOR_SPEED(2)
      for (int r = 0; r < kRows; ++r) {
        Element part[kVectors * kProductLanes];
        FOVEA_EACH(v, kVectors) Half::StoreRow(sums[r][v], part + v * kProductLanes);
        AddStoredPart(part, t.o + r * padded + element, rescales, t.rescale[r * kKeys],
                      kPart ? n : size_t{kVectors * kProductLanes});
      }
    }
  }

  template <int kRows, bool kHides>
  FOVEA_SHARED_TEMPLATE void FewValuesOf(const QueryTile& t, const KeyTile& keys) {
    constexpr size_t kMost = 4 / kRows, kBlock = kMost * kProductLanes;
    size_t e = 0;
    for (; e + kBlock <= t.value_dim; e += kBlock) FewValueBlock<kRows, kHides, false, kMost>(t, keys, e, 0);
    for (size_t n; e < t.value_dim; e += n) {
      n = t.value_dim - e < kProductLanes ? t.value_dim - e : kProductLanes;
      FewValueBlock<kRows, kHides, true, 1>(t, keys, e, n);
    }
  }
  template <int kRows>
  FOVEA_INLINE void FewValues(const QueryTile& t, const KeyTile& keys, bool hides) {
    if (kSmallText || hides) {
      FewValuesOf<kRows, true>(t, keys);
    } else {
      FewValuesOf<kRows, false>(t, keys);
    }
  }
};

#endif  // FOVEA_SRC_ATTENTION_F16_FEW_ROWS_HELIUM_INL_
