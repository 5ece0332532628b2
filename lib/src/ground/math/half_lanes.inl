// SPDX-License-Identifier: Apache-2.0
//
// kProductLanes rows of halves times a few rows x: the product that q.k of few queries and a linear layer of few tokens
// share, over the words of ground/simd/halves.inl. Here a lane is a row (a key, or the weights of an output): the elements
// of the rows are transposed in registers. The chains are those of ground/math/half_block.inl.
#ifndef FOVEA_SRC_MATH_HALF_LANES_INL_
#define FOVEA_SRC_MATH_HALF_LANES_INL_

#include "ground/math/half_block.inl"

template <class Half, bool = Half::kByScalars>
struct HalfLanes {
  using Element = typename Half::Element;
  using V = typename Half::V;
  using E = typename Half::E;
  static constexpr size_t kProductLanes = Half::kLanes;
  static constexpr int kPieces = Half::kPieces;
  static constexpr int kChainsAtOnce = 2;  // a chain alone would wait for each of its sums

  // Where kProductLanes rows begin, `stride` elements apart. Those past row `last` repeat it.
  template <bool>
  struct Rows {
    const Element* at[kProductLanes];

    FOVEA_INLINE Rows Of(const Element* first, ptrdiff_t stride, uint32_t last) {
      Rows rows = {{first}};
      FOVEA_UNROLL(8)
      for (uint32_t k = 1; k < kProductLanes; ++k) rows.at[k] = k <= last ? rows.at[k - 1] + stride : rows.at[k - 1];
      return rows;
    }
  };
  static constexpr bool kMayBeFar = false;  // Rows<true> serves all
  FOVEA_INLINE bool AreNear(ptrdiff_t) { return true; }

  // sums[r] += v[i] * element i of x[r], for i < n.
  template <int i, int kRows>
  FOVEA_INLINE void AddTransposed(const V (&v)[kProductLanes], const E (&x)[kRows], size_t n, V (&sums)[kRows]) {
    if (i >= n) return;
    FOVEA_EACH(r, kRows) sums[r] = Half::template MulAdd<i>(v[i], x[r], sums[r]);
    if constexpr (i + 1 < int(kProductLanes)) AddTransposed<i + 1>(v, x, n, sums);
  }

  // The same for the n elements of the rows from d on.
  template <int kRows>
  FOVEA_INLINE void AddLanes(const Rows<true>& rows, const Element* x, size_t pitch, size_t d, size_t n,
                             V (&sums)[kRows]) {
    V v[kProductLanes];
    E elements[kRows];
    const bool whole = n == kProductLanes;
    FOVEA_EACH(k, kProductLanes)
      v[k] = whole ? Half::Load(rows.at[k] + d) : Half::LoadPart(rows.at[k] + d, n);
    Half::Transpose(v);
    FOVEA_EACH(r, kRows) elements[r] = Half::LoadE(x + r * pitch + d);
    AddTransposed<0>(v, elements, n, sums);
  }

  // Adds the sums of a chain to all sums, or with d = 0 sets these.
  template <int kRows>
  FOVEA_INLINE void AddChain(size_t d, const V (&sums)[kRows], VF (&all)[kRows][kPieces]) {
    FOVEA_EACH(r, kRows) {
      VF part[kPieces];
      Half::Widen(sums[r], part);
      FOVEA_EACH(i, kPieces) all[r][i] = d == 0 ? part[i] : hn::Add(all[r][i], part[i]);
    }
  }

  // all[r] = sum_d x[r * pitch + d] * element d of the rows, d < dim. x is read up to a multiple of kProductLanes.
  template <int kRows>
  FOVEA_INLINE void Multiply(const Rows<true>& rows, const Element* x, size_t pitch, size_t dim,
                             VF (&all)[kRows][kPieces]) {
    constexpr size_t kAtOnce = kChainsAtOnce * kPartialHalves;
    size_t d = 0;
    for (; d + kAtOnce <= dim; d += kAtOnce) {
      V sums[kChainsAtOnce][kRows];
      SetAll(sums, Half::Zero());
      for (size_t i = d; i < d + kPartialHalves; i += kProductLanes) {
        FOVEA_EACH(c, kChainsAtOnce) {
          AddLanes<kRows>(rows, x, pitch, i + c * kPartialHalves, kProductLanes, sums[c]);
        }
      }
      FOVEA_EACH(c, kChainsAtOnce) AddChain<kRows>(d + c, sums[c], all);
    }
    for (size_t end; d < dim; d = end) {
      const size_t first = d;
      end = dim - d < kPartialHalves ? dim : d + kPartialHalves;
      V sums[kRows];
      FOVEA_EACH(r, kRows) sums[r] = Half::Zero();
      for (; d + kProductLanes <= end; d += kProductLanes) AddLanes<kRows>(rows, x, pitch, d, kProductLanes, sums);
      if (d < end) AddLanes<kRows>(rows, x, pitch, d, end - d, sums);
      AddChain<kRows>(first, sums, all);
    }
  }
};

#include "ground/math/half_lanes_helium.inl"

#endif  // FOVEA_SRC_MATH_HALF_LANES_INL_
