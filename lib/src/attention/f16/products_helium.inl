// SPDX-License-Identifier: Apache-2.0
//
// The two products of a tile for Helium: the chains and the arrays are those of products.inl. A vector multiplies general
// registers, two elements of a row, or of a value, at a time. Six sums, a vector of rows and a spare one fill the eight
// registers.

template <int kVectors>
using Chains = half::V[half::kRows][kVectors];

// The columns of a tile of which kVectors vectors are worked on: a constant if these are more than one, for then they are
// all.
static_assert(kBlockVectors == hn::kMaskedVectors, "a tile is worked on as a whole, or by single vectors");
template <int kVectors>
FOVEA_INLINE size_t ColumnsOf(const QueryTile& t) {
  return kVectors > 1 ? kVectors * kProductLanes : t.columns;
}

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

// Scores of the keys j and j + 1. One past the end repeats the last one.
template <int kVectors>
FOVEA_INLINE void ScoreBlock(const QueryTile& t, const KeyTile& keys, size_t column, uint32_t j) {
  const size_t columns = ColumnsOf<kVectors>(t);
  const Element* at[half::kRows];
  FOVEA_UNROLL(2)
  for (int k = 0; k < half::kRows; ++k) at[k] = RowOf(keys.keys, j + k < keys.end ? j + k : keys.end - 1);
  const Element* x = QueryElements(t) + column;
  float* const scores = t.s + size_t(j) * columns + column;
  const size_t dim = t.head_dim;
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
    EndChains<kSet, kVectors>(sums, 0, scores, columns, d == 0, scores);
  }
}

template <int kVectors>
FOVEA_CALLED_TEMPLATE void Scores(const QueryTile& t, const KeyTile& keys, size_t column) {
  for (uint32_t j = keys.begin; j < keys.end; j += half::kRows) ScoreBlock<kVectors>(t, keys, column, j);
}

// o[element + e * step][vector] += sum_j weight[j][vector] * value[j][element + e * step], e < 2, of which the first
// `skip` are not stored. With kHides, a weight of -0 adds nothing, whatever the value.
template <bool kHides, int kVectors>
FOVEA_INLINE void ValueBlock(const QueryTile& t, const KeyTile& keys, size_t column, size_t element, size_t step,
                             int skip) {
  const size_t columns = ColumnsOf<kVectors>(t);
  const Element *x = WeightElements(t, keys.begin, column), *value = RowOf(keys.values, keys.begin) + element;
  float* const o = t.o + element * columns + column;
  for (uint32_t j = keys.begin, end; j < keys.end; j = end) {
    end = (j / kPartialHalves + 1) * kPartialHalves;
    if (end > keys.end) end = keys.end;
    Chains<kVectors> sums;
    Clear<kVectors>(sums);
    FOVEA_UNROLL_LONG_LOOP(16)
    for (uint32_t n = end - j; n > 0; --n) {
      const half::E elements[half::kRows] = {half::LoadOne(value), half::LoadOne(value + step)};
      value += keys.values.stride;
      FOVEA_OPAQUE(value);
      FOVEA_UNROLL(4)
      for (int v = 0; v < kVectors; ++v) {
        constexpr int kPastWhole = kProductLanes + kVectors * kProductLanes * (kWeightPitch - 1);
        const bool last = kVectors > 1 && v + 1 == kVectors;
        const half::V weights = last ? half::Next<kPastWhole>(x) : half::Next<kProductLanes>(x);
        if constexpr (kHides) {
          half::MulAddTwoSeen(weights, elements, sums[0][v], sums[1][v]);
        } else {
          sums[0][v] = half::MulAdd<0>(weights, elements[0], sums[0][v]);
          sums[1][v] = half::MulAdd<0>(weights, elements[1], sums[1][v]);
        }
      }
      if (kVectors == 1) x += columns * kWeightPitch - kVectors * kProductLanes;
    }
    const bool first = j == keys.begin;
    EndChains<kScaleAndAdd, kVectors>(sums, skip, o, columns * step, first, t.rescale + column);
  }
}

// Multiplies the outputs by `rescale`, where size counts. Else the first chains do it.
FOVEA_CALLED void Rescale(const QueryTile& t, size_t column) {
  const VF rescale = hn::LoadU(kF, t.rescale + column);
  const size_t columns = t.columns;
  float* o = t.o + column;
  for (size_t n = t.value_dim; n > 0; --n, o += columns) hn::StoreU(hn::Mul(hn::LoadU(kF, o), rescale), kF, o);
}

// The last register block may overlap the one before it, and then does not store what both have. A single element of a
// value takes both places of a block.
template <bool kHides, int kVectors>
FOVEA_CALLED_TEMPLATE void ValuesOf(const QueryTile& t, const KeyTile& keys, size_t column) {
  const size_t value_dim = t.value_dim;
  if constexpr (kPreferSize) {
    for (size_t c = column; c < column + kVectors * kProductLanes; c += kLanes) Rescale(t, c);
  }
  for (size_t e = 0; e < value_dim; e += half::kRows) {
    const size_t over = e + 1 == value_dim, step = value_dim > 1;
    ValueBlock<kHides, kVectors>(t, keys, column, e - over * step, step, int(over));
  }
}
template <bool kHides, int kVectors>
FOVEA_INLINE void Values(const QueryTile& t, const KeyTile& keys, size_t column) {
  ValuesOf<kMayHide && (kHides || (kPreferSize && kVectors == 1)), kVectors>(t, keys, column);
}

// The weights of both halves of a vector become halves when the second ones are known. A hidden one stays -0.
FOVEA_CALLED void PackWeights(const QueryTile& t, const KeyTile& keys, size_t column, bool) {
  if (column % kProductLanes == 0) return;
  const size_t columns = t.columns, first = column - kLanes;
  const float* weights = t.s + size_t(keys.begin) * columns + first;
  Element* to = WeightElements(t, keys.begin, first);
  FOVEA_UNROLL_LONG_LOOP(4)
  for (uint32_t n = keys.end - keys.begin; n > 0; --n, weights += columns, to += columns * kWeightPitch) {
    half::StoreBoth(hn::LoadU(kF, weights), hn::LoadU(kF, weights + kLanes), to);
  }
}

constexpr bool kStoresInTwo = true;
FOVEA_INLINE void StoreQuery(VF v, Element* p, bool second) {
  if (second) {
    half::StoreSecond(v, p - kLanes);
  } else {
    half::StoreFirst(v, p);
  }
}
