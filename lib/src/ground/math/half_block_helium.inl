// SPDX-License-Identifier: Apache-2.0
//
// HalfBlock for Helium. A vector multiplies general registers, two elements of a row at a time. Six sums, a vector of x
// and a spare one fill the eight registers.
#ifndef FOVEA_SRC_MATH_HALF_BLOCK_HELIUM_INL_
#define FOVEA_SRC_MATH_HALF_BLOCK_HELIUM_INL_

#include "ground/math/half_block.inl"

// How floats change: they become the numbers of a vector, or these are added to them, after a multiplication or not.
enum Change { kSet, kAdd, kScaleAndAdd };

template <class Half>
struct HalfBlock<Half, true> {
  using Element = typename Half::Element;
  using V = typename Half::V;
  using E = typename Half::E;
  static constexpr int kRows = Half::kRows;

  template <int kVectors>
  using Chains = V[kRows][kVectors];

  FOVEA_INLINE void ChangeFloats(VF v, float* to, Change change, const float* factors) {
    VF all = v;
    if (change != kSet) all = hn::LoadU(kF, to);
    if (change == kScaleAndAdd) all = hn::Mul(all, hn::LoadU(kF, factors));
    hn::StoreU(change == kSet ? v : hn::Add(all, v), kF, to);
  }
  FOVEA_INLINE void ChangeBy(V v, float* to, Change change, const float* factors) {
    ChangeFloats(Half::WidenFirst(v), to, change, factors);
    ChangeFloats(Half::WidenSecond(v), to + kLanes, change, factors + kLanes);
  }
  // The same for rows of vectors, `columns` floats apart, of which the first `skip` are left out. Where size counts, a
  // loop takes them from memory.
  FOVEA_SECTION_OF(Half)
  FOVEA_CALLED void ChangeByRows(const V* sums, size_t vectors, int rows, float* to, size_t columns, bool sets) {
    for (; rows > 0; --rows, to += columns) {
      for (size_t v = 0; v < vectors; ++v) ChangeBy(*sums++, to + v * Half::kLanes, sets ? kSet : kAdd, to);
    }
  }
  template <Change change, int kVectors>
  FOVEA_INLINE void AddChains(const Chains<kVectors>& sums, int skip, float* to, size_t columns, const float* factors) {
    FOVEA_EACH(k, kRows) {
      if (k < skip) continue;
      FOVEA_EACH(v, kVectors) {
        ChangeBy(sums[k][v], to + k * columns + v * Half::kLanes, change, factors + v * Half::kLanes);
      }
    }
  }
  template <Change kFirst, int kVectors>
  FOVEA_INLINE void EndChains(const Chains<kVectors>& sums, int skip, float* to, size_t columns, bool first,
                              const float* factors) {
    if constexpr (kSmallText) {
      V rows[kRows][kVectors];  // sums whose address is taken would be in memory during the products
      FOVEA_EACH(k, kRows) {
        FOVEA_EACH(v, kVectors) rows[k][v] = sums[k][v];
      }
      to += size_t(skip) * columns;
      ChangeByRows(rows[skip], kVectors, kRows - skip, to, columns, kFirst == kSet && first);
    } else if (first) {
      AddChains<kFirst, kVectors>(sums, skip, to, columns, factors);
    } else {
      AddChains<kAdd, kVectors>(sums, skip, to, columns, factors);
    }
  }

  // sums[k] += an element of x, which advances by a row, times element i of e[k].
  template <int i, int kVectors>
  FOVEA_INLINE void AddToChains(const Element*& x, size_t columns, const E (&e)[kRows], Chains<kVectors>& sums) {
    FOVEA_EACH(v, kVectors) {
      const V xv = Half::template Next<Half::kLanes>(x);
      FOVEA_EACH(k, kRows) sums[k][v] = Half::template MulAdd<i>(xv, e[k], sums[k][v]);
    }
    x += columns - kVectors * Half::kLanes;
  }

  // sums[row][vector] = sum_d x[d][vector] * row[d], d < dim, for the two rows that begin at `at`; += if goes_on.
  template <int kVectors>
  FOVEA_INLINE void Multiply(const Element* x, size_t columns, size_t dim, const Element* (&at)[kRows], bool goes_on,
                             float* all) {
    for (size_t d = 0; d < dim; d += kPartialHalves) {
      const size_t count = dim - d < kPartialHalves ? dim - d : kPartialHalves;
      Chains<kVectors> sums;
      SetAll(sums, Half::Zero());
      E e[kRows];
      FOVEA_UNROLL_LONG_LOOP(8)
      for (size_t n = count / Half::kReads; n > 0; --n) {
        FOVEA_EACH(k, kRows) e[k] = Half::NextTwo(at[k]);
        AddToChains<0, kVectors>(x, columns, e, sums);
        AddToChains<1, kVectors>(x, columns, e, sums);
      }
      if (count % Half::kReads != 0) {
        FOVEA_EACH(k, kRows) e[k] = Half::LoadOne(at[k]);
        AddToChains<0, kVectors>(x, columns, e, sums);
      }
      FOVEA_OPAQUE(all);  // or g++ keeps an address for each vector in a register, and none is left for the loop
      EndChains<kSet, kVectors>(sums, 0, all, columns, d == 0 && !goes_on, all);
    }
  }
};

#endif  // FOVEA_SRC_MATH_HALF_BLOCK_HELIUM_INL_
