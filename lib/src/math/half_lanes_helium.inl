// SPDX-License-Identifier: Apache-2.0
//
// kProductLanes rows of halves times a few rows x, as in math/half_lanes.inl, for Helium: one load gathers an element of
// each row, and those of x are scalars in general registers.

// Where the rows begin: elements from the first one. Where these fit 16 bits, the rows are near, and one load is enough.
template <bool kNear>
struct LaneRows {
  const Element* data;
  half::Places first, second;  // of rows 0 to 3 and 4 to 7
  half::Places near;           // of all

  FOVEA_INLINE LaneRows Of(const Element* data, ptrdiff_t stride, uint32_t last) {
    LaneRows rows = {data, half::PlacesOf(0, last, stride), half::PlacesOf(kLanes, last, stride), {}};
    if (kNear) rows.near = half::NearPlaces(rows.first, rows.second);
    return rows;
  }
};
constexpr bool kMayBeFar = true;
FOVEA_INLINE bool AreNear(ptrdiff_t stride) { return !kPreferSize && size_t(stride) < 0x10000 / kProductLanes; }

// sums[r] += the products of n elements of the rows from d on with those of row r at x.
template <bool kNear, int kRows>
FOVEA_INLINE void AddGathered(const LaneRows<kNear>& rows, size_t d, const Element* x, size_t pitch, size_t n,
                              half::V (&sums)[kRows]) {
  const Element* row = rows.data + d;
  FOVEA_UNROLL_LONG_LOOP(4)
  for (; n > 0; --n, ++row, ++x) {
    const half::V v = kNear ? half::Gather(row, rows.near) : half::GatherFar(row, rows.first, rows.second);
    FOVEA_UNROLL(4)
    for (int r = 0; r < kRows; ++r) sums[r] = half::MulAdd<0>(v, half::LoadOne(x + r * pitch), sums[r]);
  }
}

// all[r] = sum_d x[r * pitch + d] * element d of the rows, d < dim.
template <int kRows, bool kNear>
FOVEA_INLINE void MultiplyLanes(const LaneRows<kNear>& rows, const Element* x, size_t pitch, size_t dim,
                                VF (&all)[kRows][kPieces]) {
  FOVEA_UNROLL(4)
  for (int r = 0; r < kRows; ++r) {
    FOVEA_UNROLL(2)
    for (VF& sum : all[r]) sum = hn::Zero(kF);  // g++ 12 does not see that dim > 0
  }
  for (size_t d = 0; d < dim; d += kPartialHalves, x += kPartialHalves) {
    half::V sums[kRows];
    FOVEA_UNROLL(4)
    for (int r = 0; r < kRows; ++r) sums[r] = half::Zero();
    AddGathered<kNear, kRows>(rows, d, x, pitch, dim - d < kPartialHalves ? dim - d : kPartialHalves, sums);
    FOVEA_UNROLL(4)
    for (int r = 0; r < kRows; ++r) {
      const VF part[kPieces] = {half::WidenFirst(sums[r]), half::WidenSecond(sums[r])};
      FOVEA_UNROLL(2)
      for (int i = 0; i < kPieces; ++i) all[r][i] = d == 0 ? part[i] : hn::Add(all[r][i], part[i]);
    }
  }
}
