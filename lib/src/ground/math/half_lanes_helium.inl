// SPDX-License-Identifier: Apache-2.0
//
// HalfLanes for Helium: one load gathers an element of each row, and those of x are scalars in general registers.
#ifndef FOVEA_SRC_MATH_HALF_LANES_HELIUM_INL_
#define FOVEA_SRC_MATH_HALF_LANES_HELIUM_INL_

#include "ground/math/half_lanes.inl"

template <class Half>
struct HalfLanes<Half, true> {
  using Element = typename Half::Element;
  using V = typename Half::V;
  using Places = typename Half::Places;
  static constexpr size_t kProductLanes = Half::kLanes;
  static constexpr int kPieces = Half::kPieces;

  // Where the rows begin: elements from the first one. Where these fit 16 bits, the rows are near, and one load is
  // enough.
  template <bool kNear>
  struct Rows {
    const Element* data;
    Places first, second;  // of rows 0 to 3 and 4 to 7
    Places near;           // of all

    FOVEA_INLINE Rows Of(const Element* data, ptrdiff_t stride, uint32_t last) {
      Rows rows = {data, Half::PlacesOf(0, last, stride), Half::PlacesOf(kLanes, last, stride), {}};
      if (kNear) rows.near = Half::NearPlaces(rows.first, rows.second);
      return rows;
    }
  };
  static constexpr bool kMayBeFar = true;
  FOVEA_INLINE bool AreNear(ptrdiff_t stride) { return !kSmallText && size_t(stride) < 0x10000 / kProductLanes; }

  // sums[r] += the products of n elements of the rows from d on with those of row r at x.
  template <bool kNear, int kRows>
  FOVEA_INLINE void AddGathered(const Rows<kNear>& rows, size_t d, const Element* x, size_t pitch, size_t n,
                                V (&sums)[kRows]) {
    const Element* row = rows.data + d;
    FOVEA_UNROLL_LONG_LOOP(4)
    for (; n > 0; --n, ++row, ++x) {
      const V v = kNear ? Half::Gather(row, rows.near) : Half::GatherFar(row, rows.first, rows.second);
      FOVEA_EACH(r, kRows) sums[r] = Half::template MulAdd<0>(v, Half::LoadOne(x + r * pitch), sums[r]);
    }
  }

  // all[r] = sum_d x[r * pitch + d] * element d of the rows, d < dim.
  template <int kRows, bool kNear>
  FOVEA_INLINE void Multiply(const Rows<kNear>& rows, const Element* x, size_t pitch, size_t dim,
                             VF (&all)[kRows][kPieces]) {
    FOVEA_EACH(r, kRows) {
      SetAll(all[r], hn::Zero(kF));  // g++ 12 does not see that dim > 0
    }
    for (size_t d = 0; d < dim; d += kPartialHalves, x += kPartialHalves) {
      V sums[kRows];
      FOVEA_EACH(r, kRows) sums[r] = Half::Zero();
      AddGathered<kNear, kRows>(rows, d, x, pitch, dim - d < kPartialHalves ? dim - d : kPartialHalves, sums);
      FOVEA_EACH(r, kRows) {
        const VF part[kPieces] = {Half::WidenFirst(sums[r]), Half::WidenSecond(sums[r])};
        FOVEA_EACH(i, kPieces) all[r][i] = d == 0 ? part[i] : hn::Add(all[r][i], part[i]);
      }
    }
  }
};

#endif  // FOVEA_SRC_MATH_HALF_LANES_HELIUM_INL_
