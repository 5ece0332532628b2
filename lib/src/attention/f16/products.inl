// SPDX-License-Identifier: Apache-2.0
//
// The two products of a tile with halves, over math/half_block.inl and the words of simd/half_<name>.inl. A lane is a
// query row:
//   x = queries [head_dim][columns] halves, rows = keys as they are stored    -> scores, f32
//   x = weights [key][kWeightPitch * columns] halves, rows = values as stored -> sums of values, f32
// A key's place in the tile decides which chain has its weight.

// Scores of the keys j .. j + kRows - 1. Those past the end repeat the last one.
template <int kVectors, int kRows>
FOVEA_INLINE void ScoreBlock(const QueryTile& t, const KeyTile& keys, size_t column, uint32_t j) {
  const Element* at[kRows];
  FOVEA_UNROLL(8)
  for (int k = 0; k < kRows; ++k) at[k] = RowOf(keys.keys, j + k < keys.end ? j + k : keys.end - 1);
  MultiplyBlock<kVectors>(QueryElements(t) + column, t.columns, t.head_dim, at, false,
                          t.s + size_t(j) * t.columns + column);
}

template <int kVectors>
FOVEA_SHARED_TEMPLATE void Scores(const QueryTile& t, const KeyTile& keys, size_t column) {
  static_assert(kKeyGrain % half::kRows == 0, "blocks must tile the key tile");
  for (uint32_t j = keys.begin; j < keys.end; j += half::kRows) ScoreBlock<kVectors, half::kRows>(t, keys, column, j);
}

// sums[e] += element e of a value times the weights x. With kHides, a weight of -0 adds nothing, whatever the value.
template <bool kHides, int e, int kRows, int kVectors, int kLoads>
FOVEA_INLINE void AddValue(const half::V (&x)[kVectors], const half::M (&hidden)[kVectors],
                           const half::E (&value)[kLoads], half::V (&sums)[kRows][kVectors]) {
  constexpr int i = e % half::kReads;
  const half::E element = value[e / half::kReads];
  FOVEA_UNROLL(4)
  for (int v = 0; v < kVectors; ++v) {
    half::V& sum = sums[e][v];
    sum = kHides ? half::MulAddUnless<i>(hidden[v], x[v], element, sum) : half::MulAdd<i>(x[v], element, sum);
  }
  if constexpr (e + 1 < kRows) AddValue<kHides, e + 1>(x, hidden, value, sums);
}

// o[e][vector] = o[e][vector] * rescale + sum_j weight[j][vector] * value[j][e], for kRows elements, of which the first
// `skip` are not stored.
template <bool kHides, int kVectors, int kRows>
FOVEA_INLINE void ValueBlock(const QueryTile& t, const KeyTile& keys, size_t column, size_t element, int skip) {
  constexpr int kLoads = (kRows + half::kReads - 1) / half::kReads;
  const size_t columns = t.columns;
  const Element *x = WeightElements(t, keys.begin, column), *value = RowOf(keys.values, keys.begin) + element;
  for (uint32_t j = keys.begin, first = j, end; j < keys.end;) {
    end = (j / kPartialHalves + 1) * kPartialHalves;
    if (end > keys.end) end = keys.end;
    const bool rescales = j == first;
    half::V sums[kRows][kVectors];
    ClearSums(sums);
    for (; j < end; ++j, x += columns * kWeightPitch, value += keys.values.stride) {
      half::E elements[kLoads];
      half::V weights[kVectors];
      half::M hidden[kVectors];
      FOVEA_UNROLL(4)
      for (int i = 0; i < kLoads; ++i) {
        elements[i] = kRows == 1 ? half::LoadOne(value) : half::LoadE(value + i * half::kReads);
      }
      FOVEA_UNROLL(4)
      for (int v = 0; v < kVectors; ++v) {
        weights[v] = half::Load(x + v * kProductLanes);
        hidden[v] = kHides ? half::SignMask(weights[v]) : half::M();
      }
      AddValue<kHides, 0>(weights, hidden, elements, sums);
    }
    FOVEA_UNROLL(8)
    for (int e = 0; e < kRows; ++e) {
      if (e < skip) continue;
      FOVEA_UNROLL(4)
      for (int v = 0; v < kVectors; ++v) {
        float* const o = t.o + (element + e) * columns + column + v * kProductLanes;
        VF all[kPieces], part[kPieces], rescale[kPieces];
        half::LoadFloats(o, all);
        half::LoadFloats(t.rescale + column + v * kProductLanes, rescale);
        half::Widen(sums[e][v], part);
        for (int i = 0; i < kPieces; ++i) {
          part[i] = hn::Add(rescales ? hn::Mul(all[i], rescale[i]) : all[i], part[i]);
        }
        half::StoreFloats(part, o);
      }
    }
  }
}

// One element of values that do not fill a register block.
FOVEA_CALLED void ValueElement(const QueryTile& t, const KeyTile& keys, size_t column, size_t element) {
  ValueBlock<kMayHide, 1, 1>(t, keys, column, element, 0);
}

// The last register block may overlap the one before it, and then does not store what both have.
template <bool kHides, int kVectors>
FOVEA_SHARED_TEMPLATE void Values(const QueryTile& t, const KeyTile& keys, size_t column) {
  constexpr size_t kBlock = half::kRows;
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
FOVEA_SHARED void PackWeights(const QueryTile& t, const KeyTile& keys, size_t column, bool) {
  const size_t columns = t.columns;
  const float* weights = t.s + size_t(keys.begin) * columns + column;
  Element* to = WeightElements(t, keys.begin, column);
  FOVEA_UNROLL_LONG_LOOP(4)
  for (uint32_t n = keys.end - keys.begin; n > 0; --n, weights += columns, to += columns * kWeightPitch) {
    half::Store(hn::LoadU(kF, weights), to);
  }
}

constexpr bool kStoresInTwo = false;
FOVEA_INLINE void StoreQuery(VF v, Element* p, bool) { half::Store(v, p); }
