// SPDX-License-Identifier: Apache-2.0
//
// The register block of half_block.inl for Helium. A vector multiplies general registers, two elements of a row at a time.
// Six sums, a vector of x and a spare one fill the eight registers.

template <int kVectors>
using Chains = half::V[half::kRows][kVectors];

template <int kVectors>
FOVEA_INLINE void Clear(Chains<kVectors>& sums) {
  FOVEA_UNROLL(2)
  for (int k = 0; k < half::kRows; ++k) {
    FOVEA_UNROLL(4)
    for (int v = 0; v < kVectors; ++v) sums[k][v] = half::Zero();
  }
}

// How floats change: they become the numbers of a vector, or these are added to them, after a multiplication or not.
enum Change { kSet, kAdd, kScaleAndAdd };
FOVEA_INLINE void ChangeFloats(VF v, float* to, Change change, const float* factors) {
  VF all = v;
  if (change != kSet) all = hn::LoadU(kF, to);
  if (change == kScaleAndAdd) all = hn::Mul(all, hn::LoadU(kF, factors));
  hn::StoreU(change == kSet ? v : hn::Add(all, v), kF, to);
}
FOVEA_INLINE void ChangeBy(half::V v, float* to, Change change, const float* factors) {
  ChangeFloats(half::WidenFirst(v), to, change, factors);
  ChangeFloats(half::WidenSecond(v), to + kLanes, change, factors + kLanes);
}
// The same for rows of vectors, `columns` floats apart, of which the first `skip` are left out. Where size counts, a
// loop takes them from memory.
FOVEA_CALLED void ChangeByRows(const half::V* sums, size_t vectors, int rows, float* to, size_t columns, bool sets) {
  for (; rows > 0; --rows, to += columns) {
    for (size_t v = 0; v < vectors; ++v) ChangeBy(*sums++, to + v * kProductLanes, sets ? kSet : kAdd, to);
  }
}
template <Change change, int kVectors>
FOVEA_INLINE void AddChains(const Chains<kVectors>& sums, int skip, float* to, size_t columns, const float* factors) {
  FOVEA_UNROLL(2)
  for (int k = 0; k < half::kRows; ++k) {
    if (k < skip) continue;
    FOVEA_UNROLL(4)
    for (int v = 0; v < kVectors; ++v) {
      ChangeBy(sums[k][v], to + k * columns + v * kProductLanes, change, factors + v * kProductLanes);
    }
  }
}
template <Change kFirst, int kVectors>
FOVEA_INLINE void EndChains(const Chains<kVectors>& sums, int skip, float* to, size_t columns, bool first,
                            const float* factors) {
  if constexpr (kPreferSize) {
    half::V rows[half::kRows][kVectors];  // sums whose address is taken would be in memory during the products
    FOVEA_UNROLL(2)
    for (int k = 0; k < half::kRows; ++k) {
      FOVEA_UNROLL(4)
      for (int v = 0; v < kVectors; ++v) rows[k][v] = sums[k][v];
    }
    to += size_t(skip) * columns;
    ChangeByRows(rows[skip], kVectors, half::kRows - skip, to, columns, kFirst == kSet && first);
  } else if (first) {
    AddChains<kFirst, kVectors>(sums, skip, to, columns, factors);
  } else {
    AddChains<kAdd, kVectors>(sums, skip, to, columns, factors);
  }
}

// sums[k] += an element of x, which advances by a row, times element i of e[k].
template <int i, int kVectors>
FOVEA_INLINE void AddToChains(const Element*& x, size_t columns, const half::E (&e)[half::kRows],
                              Chains<kVectors>& sums) {
  FOVEA_UNROLL(4)
  for (int v = 0; v < kVectors; ++v) {
    const half::V xv = half::Next<kProductLanes>(x);
    FOVEA_UNROLL(2)
    for (int k = 0; k < half::kRows; ++k) sums[k][v] = half::MulAdd<i>(xv, e[k], sums[k][v]);
  }
  x += columns - kVectors * kProductLanes;
}

// sums[row][vector] = sum_d x[d][vector] * row[d], d < dim, for the two rows that begin at `at`; += if goes_on.
template <int kVectors>
FOVEA_INLINE void MultiplyBlock(const Element* x, size_t columns, size_t dim, const Element* (&at)[half::kRows],
                                bool goes_on, float* all) {
  for (size_t d = 0; d < dim; d += kPartialHalves) {
    const size_t count = dim - d < kPartialHalves ? dim - d : kPartialHalves;
    Chains<kVectors> sums;
    Clear<kVectors>(sums);
    half::E e[half::kRows];
    FOVEA_UNROLL_LONG_LOOP(8)
    for (size_t n = count / half::kReads; n > 0; --n) {
      FOVEA_UNROLL(2)
      for (int k = 0; k < half::kRows; ++k) e[k] = half::NextTwo(at[k]);
      AddToChains<0, kVectors>(x, columns, e, sums);
      AddToChains<1, kVectors>(x, columns, e, sums);
    }
    if (count % half::kReads != 0) {
      FOVEA_UNROLL(2)
      for (int k = 0; k < half::kRows; ++k) e[k] = half::LoadOne(at[k]);
      AddToChains<0, kVectors>(x, columns, e, sums);
    }
    FOVEA_OPAQUE(all);  // or g++ keeps an address for each vector in a register, and none is left for the loop
    EndChains<kSet, kVectors>(sums, 0, all, columns, d == 0 && !goes_on, all);
  }
}
