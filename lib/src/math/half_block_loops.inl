// SPDX-License-Identifier: Apache-2.0
//
// The register block of half_block.inl for all processors but Helium.

template <int kRows, int kVectors>
FOVEA_INLINE void ClearSums(half::V (&sums)[kRows][kVectors]) {
  FOVEA_UNROLL(8)
  for (int k = 0; k < kRows; ++k) {
    FOVEA_UNROLL(4)
    for (int v = 0; v < kVectors; ++v) sums[k][v] = half::Zero();
  }
}

// sums[k] += an element of x, which advances by `step`, times element i of e[k].
template <int i, int kRows, int kVectors>
FOVEA_INLINE void AddElement(const Element*& x, size_t step, const half::E (&e)[kRows],
                             half::V (&sums)[kRows][kVectors]) {
  half::V xv[kVectors];  // all at once: one instruction loads two
  FOVEA_UNROLL(4)
  for (int v = 0; v < kVectors; ++v) xv[v] = half::Load(x + v * kProductLanes);
  FOVEA_UNROLL(4)
  for (int v = 0; v < kVectors; ++v) {
    FOVEA_UNROLL(8)
    for (int k = 0; k < kRows; ++k) sums[k][v] = half::MulAdd<i>(xv[v], e[k], sums[k][v]);
  }
  x += step;
}
template <int i, int kRows, int kVectors>
FOVEA_INLINE void AddElements(const Element*& x, size_t step, const half::E (&e)[kRows],
                              half::V (&sums)[kRows][kVectors]) {
  AddElement<i>(x, step, e, sums);
  if constexpr (i + 1 < half::kReads) AddElements<i + 1>(x, step, e, sums);
}

// sums[k][v] += sum_d x[d][v] * at[k][d], d < n. x and `at` advance past what is read.
template <int kRows, int kVectors>
FOVEA_INLINE void AddRows(const Element*& x, size_t columns, const Element* (&at)[kRows], size_t n,
                          half::V (&sums)[kRows][kVectors]) {
  half::E e[kRows];
  for (; n >= half::kReads; n -= half::kReads) {
    FOVEA_UNROLL(8)
    for (int k = 0; k < kRows; ++k) {
      e[k] = half::LoadE(at[k]);
      at[k] += half::kReads;
    }
    AddElements<0>(x, columns, e, sums);
  }
  for (; half::kReads > 1 && n > 0; --n) {
    FOVEA_UNROLL(8)
    for (int k = 0; k < kRows; ++k) e[k] = half::LoadOne(at[k]++);
    AddElement<0>(x, columns, e, sums);
  }
}

// Stores the sums of a chain, or if `adds` adds them to those that are there.
template <int kRows, int kVectors>
FOVEA_INLINE void EndChains(const half::V (&chains)[kRows][kVectors], bool adds, size_t columns, float* s) {
  FOVEA_UNROLL(8)
  for (int k = 0; k < kRows; ++k, s += columns) {
    FOVEA_UNROLL(4)
    for (int v = 0; v < kVectors; ++v) {
      VF part[kPieces], all[kPieces];
      half::Widen(chains[k][v], part);
      if (adds) {
        half::LoadFloats(s + v * kProductLanes, all);
        for (int i = 0; i < kPieces; ++i) part[i] = hn::Add(all[i], part[i]);
      }
      half::StoreFloats(part, s + v * kProductLanes);
    }
  }
}

// sums[row][vector] = sum_d x[d][vector] * row[d], d < dim, for the kRows rows that begin at `at`; += if goes_on.
template <int kVectors, int kRows>
FOVEA_INLINE void MultiplyBlock(const Element* x, size_t columns, size_t dim, const Element* (&at)[kRows], bool goes_on,
                                float* sums) {
  FOVEA_UNROLL(8)
  for (int k = 0; k < kRows; ++k) FOVEA_OPAQUE(at[k]);
  for (size_t n; dim > 0; dim -= n, goes_on = true) {
    n = dim < kPartialHalves ? dim : kPartialHalves;
    half::V chains[kRows][kVectors];
    ClearSums(chains);
    AddRows(x, columns, at, n, chains);
    if (!kPreferSize && goes_on) {  // once for all sums of a block
      EndChains(chains, true, columns, sums);
    } else {
      EndChains(chains, kPreferSize && goes_on, columns, sums);
    }
  }
}
