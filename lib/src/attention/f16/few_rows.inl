// SPDX-License-Identifier: Apache-2.0
//
// The two products of the few-rows kernel with halves. Keys are transposed in registers.

constexpr int kChainsAtOnce = 2;  // of a score: a chain alone would wait for each of its sums

// sums[r] += x[i] * element i of q[r], for i < n.
template <int i, int kRows>
FOVEA_INLINE void AddTransposed(const half::V (&x)[kProductLanes], const half::E (&q)[kRows], size_t n,
                                half::V (&sums)[kRows]) {
  if (i >= n) return;
  FOVEA_UNROLL(2)
  for (int r = 0; r < kRows; ++r) sums[r] = half::MulAdd<i>(x[i], q[r], sums[r]);
  if constexpr (i + 1 < int(kProductLanes)) AddTransposed<i + 1>(x, q, n, sums);
}

// The same for n elements of kProductLanes keys, which begin at at[key] + d.
template <int kRows>
FOVEA_INLINE void AddFewKeys(const Element* q, size_t padded, const Element* const (&at)[kProductLanes], size_t d,
                             size_t n, half::V (&sums)[kRows]) {
  half::V x[kProductLanes];
  half::E elements[kRows];
  const bool whole = n == kProductLanes;
  FOVEA_UNROLL(8)
  for (size_t k = 0; k < kProductLanes; ++k) x[k] = whole ? half::Load(at[k] + d) : half::LoadPart(at[k] + d, n);
  half::Transpose(x);
  FOVEA_UNROLL(2)
  for (int r = 0; r < kRows; ++r) elements[r] = half::LoadE(q + r * padded + d);
  AddTransposed<0>(x, elements, n, sums);
}

// Adds the sums of a chain to the scores, or with d = 0 sets these.
template <int kRows>
FOVEA_INLINE void AddChain(size_t d, const half::V (&sums)[kRows], VF (&scores)[kRows][kPieces]) {
  FOVEA_UNROLL(2)
  for (int r = 0; r < kRows; ++r) {
    VF part[kPieces];
    half::Widen(sums[r], part);
    FOVEA_UNROLL(2)
    for (int i = 0; i < kPieces; ++i) scores[r][i] = d == 0 ? part[i] : hn::Add(scores[r][i], part[i]);
  }
}

template <int kRows, bool>
FOVEA_TEMPLATE void FewScores(const QueryTile& t, const KeyTile& keys) {
  constexpr size_t kAtOnce = kChainsAtOnce * kPartialHalves;
  const size_t padded = PaddedQuery(t), dim = t.head_dim;
  const Element* const q = QueryElements(t);
  for (uint32_t j = keys.begin; j < keys.end; j += kProductLanes) {
    const Element* at[kProductLanes] = {RowOf(keys.keys, j)};
    FOVEA_UNROLL(8)
    for (uint32_t k = 1; k < kProductLanes; ++k) {  // keys past the end repeat the last one
      at[k] = j + k < keys.end ? at[k - 1] + keys.keys.stride : at[k - 1];
    }
    VF scores[kRows][kPieces];
    size_t d = 0;
    for (; d + kAtOnce <= dim; d += kAtOnce) {
      half::V sums[kChainsAtOnce][kRows];
      FOVEA_UNROLL(2)
      for (int c = 0; c < kChainsAtOnce; ++c) {
        FOVEA_UNROLL(2)
        for (int r = 0; r < kRows; ++r) sums[c][r] = half::Zero();
      }
      for (size_t i = d; i < d + kPartialHalves; i += kProductLanes) {
        FOVEA_UNROLL(2)
        for (int c = 0; c < kChainsAtOnce; ++c) {
          AddFewKeys<kRows>(q, padded, at, i + c * kPartialHalves, kProductLanes, sums[c]);
        }
      }
      FOVEA_UNROLL(2)
      for (int c = 0; c < kChainsAtOnce; ++c) AddChain<kRows>(d + c, sums[c], scores);
    }
    for (size_t end; d < dim; d = end) {
      const size_t first = d;
      end = dim - d < kPartialHalves ? dim : d + kPartialHalves;
      half::V sums[kRows];
      FOVEA_UNROLL(2)
      for (int r = 0; r < kRows; ++r) sums[r] = half::Zero();
      for (; d + kProductLanes <= end; d += kProductLanes) AddFewKeys<kRows>(q, padded, at, d, kProductLanes, sums);
      if (d < end) AddFewKeys<kRows>(q, padded, at, d, end - d, sums);
      AddChain<kRows>(first, sums, scores);
    }
    StoreScores<kRows>(t, keys, j, scores);
  }
}

// sums[r][v] += weight i of each row times a value, which begins at `value`. `n` of its elements, or whole vectors.
template <bool kHides, bool kPart, int i, int kRows, int kVectors>
FOVEA_INLINE void AddFewValue(const half::E (&weights)[kRows], const half::M (&hidden)[kRows], const Element* value,
                              size_t n, half::V (&sums)[kRows][kVectors]) {
  half::V x[kVectors];
  FOVEA_UNROLL(8)
  for (int v = 0; v < kVectors; ++v) x[v] = kPart ? half::LoadPart(value, n) : half::Load(value + v * kProductLanes);
  FOVEA_UNROLL(8)
  for (int v = 0; v < kVectors; ++v) {
    FOVEA_UNROLL(2)
    for (int r = 0; r < kRows; ++r) {
      sums[r][v] = half::MulAdd<i>(kHides ? half::ZeroIf<i>(hidden[r], x[v]) : x[v], weights[r], sums[r][v]);
    }
  }
}

// The same for kProductLanes weights of each row and their values. `value` advances past them.
template <bool kHides, bool kPart, int i, int kRows, int kVectors>
FOVEA_INLINE void AddFewValues(const half::E (&weights)[kRows], const half::M (&hidden)[kRows], const Element*& value,
                               ptrdiff_t stride, size_t n, half::V (&sums)[kRows][kVectors]) {
  AddFewValue<kHides, kPart, i>(weights, hidden, value, n, sums);
  value += stride;
  if constexpr (i + 1 < int(kProductLanes)) {
    AddFewValues<kHides, kPart, i + 1>(weights, hidden, value, stride, n, sums);
  }
}

// o = o * rescale + part, or without `rescales` o + part, for the first n elements of a vector of halves.
FOVEA_INLINE void AddPart(float* o, bool rescales, VF rescale, half::V sum, size_t n) {
  float lanes[kProductLanes] = {};
  const bool whole = n == kProductLanes;
  if (!whole) __builtin_memcpy(lanes, o, n * sizeof(float));
  VF all[kPieces], part[kPieces];
  half::LoadFloats(whole ? o : lanes, all);
  half::Widen(sum, part);
  FOVEA_UNROLL(2)
  for (int i = 0; i < kPieces; ++i) part[i] = hn::Add(rescales ? hn::Mul(all[i], rescale) : all[i], part[i]);
  half::StoreFloats(part, whole ? o : lanes);
  if (!whole) __builtin_memcpy(o, lanes, n * sizeof(float));
}

// o[r][element + ..] for kVectors vectors, or with kPart for n elements.
template <int kRows, bool kHides, bool kPart, int kVectors>
FOVEA_INLINE void FewValueBlock(const QueryTile& t, const KeyTile& keys, size_t element, size_t n) {
  constexpr uint32_t kKeys = FewBlock<kRows>::kKeys;
  const size_t padded = PaddedToLanes(t.value_dim);
  const Element* x = FewWeightElements<kRows>(t);
  const Element* value = RowOf(keys.values, keys.begin) + element;
  for (uint32_t j = keys.begin, end; j < keys.end;) {
    const bool rescales = j == keys.begin;
    end = (j / kPartialHalves + 1) * kPartialHalves;
    if (end > keys.end) end = keys.end;
    half::V sums[kRows][kVectors];
    ClearSums(sums);
    half::E weights[kRows];
    half::M hidden[kRows] = {};
    for (; j + kProductLanes <= end; j += kProductLanes, x += kProductLanes) {
      FOVEA_UNROLL(2)
      for (int r = 0; r < kRows; ++r) {
        weights[r] = half::LoadE(x + r * kKeyTile);
        if (kHides) hidden[r] = half::SignMask(weights[r]);
      }
      AddFewValues<kHides, kPart, 0>(weights, hidden, value, keys.values.stride, n, sums);
    }
    for (; j < end; ++j, ++x, value += keys.values.stride) {
      FOVEA_UNROLL(2)
      for (int r = 0; r < kRows; ++r) {
        weights[r] = half::LoadOne(x + r * kKeyTile);
        if (kHides) hidden[r] = half::SignMask(weights[r]);
      }
      AddFewValue<kHides, kPart, 0>(weights, hidden, value, n, sums);
    }
    FOVEA_UNROLL(2)
    for (int r = 0; r < kRows; ++r) {
      const VF rescale = hn::Set(kF, t.rescale[r * kKeys]);
      FOVEA_UNROLL(8)
      for (int v = 0; v < kVectors; ++v) {
        AddPart(t.o + r * padded + element + v * kProductLanes, rescales, rescale, sums[r][v],
                kPart ? n : kProductLanes);
      }
    }
  }
}

template <int kRows, bool kHides>
FOVEA_TEMPLATE void FewValues(const QueryTile& t, const KeyTile& keys) {
  constexpr size_t kMost = 8, kBlock = kMost * kProductLanes;
  size_t e = 0;
  for (; e + kBlock <= t.value_dim; e += kBlock) FewValueBlock<kRows, kHides, false, kMost>(t, keys, e, 0);
  for (; e + 2 * kProductLanes <= t.value_dim; e += 2 * kProductLanes) {
    FewValueBlock<kRows, kHides, false, 2>(t, keys, e, 0);
  }
  for (size_t n; e < t.value_dim; e += n) {
    n = t.value_dim - e < kProductLanes ? t.value_dim - e : kProductLanes;
    FewValueBlock<kRows, kHides, true, 1>(t, keys, e, n);
  }
}
