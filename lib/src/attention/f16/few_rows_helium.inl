// SPDX-License-Identifier: Apache-2.0
//
// The two products of the few-rows kernel with halves, for Helium: one load gathers an element of kProductLanes keys, and
// queries and weights are scalars in general registers.

// Where the keys of a vector begin: elements from the first one. Where these fill 16 bits, one load is enough.
struct KeyPlaces {
  half::Places first, second;  // of keys 0 to 3 and 4 to 7
  half::Places near;           // of all
};

// sums[r] += the products of n elements of the keys at `key` with those of the rows at q.
template <bool kNear, int kRows>
FOVEA_INLINE void AddGathered(const Element* key, const KeyPlaces& places, const Element* q, size_t padded, size_t n,
                              half::V (&sums)[kRows]) {
  FOVEA_UNROLL_LONG_LOOP(4)
  for (; n > 0; --n, ++key, ++q) {
    const half::V x = kNear ? half::Gather(key, places.near) : half::GatherFar(key, places.first, places.second);
    FOVEA_UNROLL(2)
    for (int r = 0; r < kRows; ++r) sums[r] = half::MulAdd<0>(x, half::LoadOne(q + r * padded), sums[r]);
  }
}

template <bool kNear, int kRows>
FOVEA_INLINE void FewScoresOfKeys(const QueryTile& t, const KeyTile& keys) {
  const size_t padded = PaddedQuery(t), dim = t.head_dim;
  const ptrdiff_t stride = keys.keys.stride;
  const Element* key = RowOf(keys.keys, keys.begin);
  for (uint32_t j = keys.begin; j < keys.end; j += kProductLanes, key += ptrdiff_t(kProductLanes) * stride) {
    // Keys past the end repeat the last one.
    const uint32_t last = keys.end - j - 1;
    KeyPlaces places = {half::PlacesOf(0, last, stride), half::PlacesOf(kLanes, last, stride), {}};
    if (kNear) places.near = half::NearPlaces(places.first, places.second);
    VF scores[kRows][kPieces] = {};
    const Element* q = QueryElements(t);
    for (size_t d = 0; d < dim; d += kPartialHalves, q += kPartialHalves) {
      half::V sums[kRows];
      FOVEA_UNROLL(2)
      for (int r = 0; r < kRows; ++r) sums[r] = half::Zero();
      AddGathered<kNear, kRows>(key + d, places, q, padded, dim - d < kPartialHalves ? dim - d : kPartialHalves, sums);
      FOVEA_UNROLL(2)
      for (int r = 0; r < kRows; ++r) {
        const VF part[kPieces] = {half::WidenFirst(sums[r]), half::WidenSecond(sums[r])};
        FOVEA_UNROLL(2)
        for (int i = 0; i < kPieces; ++i) scores[r][i] = d == 0 ? part[i] : hn::Add(scores[r][i], part[i]);
      }
    }
    StoreScores<kRows>(t, keys, j, scores);
  }
}

template <int kRows, bool>
FOVEA_TEMPLATE void FewScores(const QueryTile& t, const KeyTile& keys) {
  if (!kPreferSize && size_t(keys.keys.stride) < 0x10000 / kProductLanes) {
    FewScoresOfKeys<true, kRows>(t, keys);
  } else {
    FewScoresOfKeys<false, kRows>(t, keys);
  }
}

// o = o * rescale + part, or without `rescales` o + part, for n elements.
FOVEA_SHARED void AddParts(const Element* part, float* o, bool rescales, float rescale, size_t n) {
  for (size_t i = 0; i < n; i += kLanes) {
    VF all = LoadUpTo(o + i, LanesBefore(i, n));
    if (rescales) all = hn::MulSet(all, rescale);
    StoreUpTo(hn::Add(all, hn::LoadF16(kF, part + i)), o + i, LanesBefore(i, n));
  }
}

// o[r][element + ..] for kVectors vectors, or with kPart for n elements. With kHides, the value of a weight whose sign is
// set is taken from zeros: its product then adds nothing.
template <int kRows, bool kHides, bool kPart, int kVectors>
FOVEA_INLINE void FewValueBlock(const QueryTile& t, const KeyTile& keys, size_t element, size_t n) {
  static const Element kZeros[kVectors * kProductLanes] = {};
  constexpr uint32_t kKeys = FewBlock<kRows>::kKeys;
  const size_t padded = PaddedToLanes(t.value_dim);
  const Element* weight = FewWeightElements<kRows>(t);
  const Element* value = RowOf(keys.values, keys.begin) + element;
  for (uint32_t j = keys.begin, end; j < keys.end; j = end) {
    const bool rescales = j == keys.begin;
    end = (j / kPartialHalves + 1) * kPartialHalves;
    if (end > keys.end) end = keys.end;
    half::V sums[kRows][kVectors];
    FOVEA_UNROLL(2)
    for (int r = 0; r < kRows; ++r) {
      FOVEA_UNROLL(4)
      for (int v = 0; v < kVectors; ++v) sums[r][v] = half::Zero();
    }
    FOVEA_UNROLL_LONG_LOOP(2)
    for (uint32_t left = end - j; left > 0; --left, ++weight, value += keys.values.stride) {
      half::E e[kRows];
      const Element* at[kRows];
      FOVEA_UNROLL(2)
      for (int r = 0; r < kRows; ++r) {
        e[r] = half::LoadOne(weight + r * kKeyTile);
        at[r] = kHides && int16_t(e[r]) < 0 ? kZeros : value;
      }
      FOVEA_UNROLL(4)
      for (int v = 0; v < kVectors; ++v) {
        half::V x;
        FOVEA_UNROLL(2)
        for (int r = 0; r < kRows; ++r) {
          if (r == 0 || kHides) {
            const Element* const p = at[r] + v * kProductLanes;
            x = kPart ? half::LoadPart(p, n) : half::Load(p);
          }
          sums[r][v] = half::MulAdd<0>(x, e[r], sums[r][v]);
        }
      }
    }
    FOVEA_UNROLL_FOR_SPEED(2)
    for (int r = 0; r < kRows; ++r) {
      Element part[kVectors * kProductLanes];
      FOVEA_UNROLL(4)
      for (int v = 0; v < kVectors; ++v) half::StoreRow(sums[r][v], part + v * kProductLanes);
      AddParts(part, t.o + r * padded + element, rescales, t.rescale[r * kKeys],
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
template <int kRows, bool kHides>
FOVEA_INLINE void FewValues(const QueryTile& t, const KeyTile& keys) {
  FewValuesOf<kRows, kHides || kPreferSize>(t, keys);
}
