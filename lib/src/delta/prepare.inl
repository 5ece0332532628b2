// SPDX-License-Identifier: Apache-2.0
//
// What a pass over S needs to know of its group: factors for each element of the keys, and products of keys and
// queries. The equations are in kernels.h. Lanes run along the keys.

using ::fovea::DeltaGroup;
using ::fovea::DeltaPrepare;
using ::fovea::DeltaTokens;
using ::fovea::kDeltaAdded;
using ::fovea::kDeltaColumns;
using ::fovea::kDeltaDecay;
using ::fovea::kDeltaElementStride;
using ::fovea::kDeltaFactors;
using ::fovea::kDeltaKeys;
using ::fovea::kDeltaQueries;
using ::fovea::kDeltaRowKeys;
using ::fovea::kDeltaRowStride;
using ::fovea::kDeltaStrands;
using ::fovea::kDeltaTokens;

constexpr bool kFactorsInRows = ::fovea::delta_factors_in_rows(kLanes);
// From a factor to the next, and from an element of the keys to the next.
constexpr size_t kFactorStride = kFactorsInRows ? kDeltaRowStride : 1;
constexpr size_t kKeyStride = kFactorsInRows ? 1 : kDeltaElementStride;

// Numbers of a sum over keys that are kept apart, in 16 chains and then a tree: the same for any vector.
constexpr uint32_t kStrands = 16;
constexpr uint32_t kPairs = kDeltaTokens * (kDeltaTokens + 1) / 2;

// Places of pairs of tokens in a list, for a <= b; and for a < b in a list behind that one.
FOVEA_INLINE uint32_t PairAt(uint32_t a, uint32_t b) { return b * (b + 1) / 2 + a; }
FOVEA_INLINE uint32_t KeyPairAt(uint32_t a, uint32_t b) { return kPairs + b * (b - 1) / 2 + a; }
static_assert((kPairs + kDeltaTokens * (kDeltaTokens - 1) / 2) * kStrands == kDeltaStrands, "a row for each pair");

// e^x, and e^88 for larger x.
FOVEA_SHARED VF DecayOf(VF log) {
  const VF negated = hn::ClampMin(hn::Sub(hn::Zero(kF), log), hn::Set(kF, -88.0f));
  return Exp(hn::Sub(hn::Zero(kF), negated));
}

FOVEA_INLINE VF LoadSome(const float* p, size_t n) { return n >= kLanes ? hn::LoadU(kF, p) : hn::LoadN(kF, p, n); }

// Products of the decays of tokens a to b of a group, for all a <= b < count. Logarithms are added, the last first,
// before the exponential is taken: this is more exact than products, and than differences of longer sums.
struct SharedDecays {  // one decay for all elements of a key
  float of_pairs[16];  // D(a, b) at PairAt(a, b), and the rest of a vector
  float of_added[16];  // D(a, 3) of the group that is added

  inline __attribute__((always_inline)) VF Of(uint32_t a, uint32_t b) const {
    return hn::Set(kF, of_pairs[PairAt(a, b)]);
  }
  inline __attribute__((always_inline)) VF Added(uint32_t a) const { return hn::Set(kF, of_added[a]); }
};
struct DecaysOfKeys {  // of kLanes elements of a key
  VF of_pairs[kPairs], of_added[kDeltaTokens];

  inline __attribute__((always_inline)) VF Of(uint32_t a, uint32_t b) const { return of_pairs[PairAt(a, b)]; }
  inline __attribute__((always_inline)) VF Added(uint32_t a) const { return of_added[a]; }
};

FOVEA_INLINE void FindShared(const DeltaPrepare& p, uint32_t count, SharedDecays& decays) {
  for (float& x : decays.of_pairs) x = 0.0f;
  for (float& x : decays.of_added) x = 0.0f;
  if (p.gated) {
    for (uint32_t b = 0; b < count; ++b) {
      float sum = 0.0f;
      for (uint32_t a = b + 1; a-- > 0;) decays.of_pairs[PairAt(a, b)] = sum += *p.tokens.decay[a];
    }
    float sum = 0.0f;
    for (uint32_t a = p.group->adds ? kDeltaTokens : 0; a-- > 0;) decays.of_added[a] = sum += *p.added.decay[a];
  }
  for (size_t i = 0; i < kPairs; i += kLanes) {
    hn::StoreU(DecayOf(hn::LoadU(kF, decays.of_pairs + i)), kF, decays.of_pairs + i);
  }
  for (size_t i = 0; i < kDeltaTokens; i += kLanes) {
    hn::StoreU(DecayOf(hn::LoadU(kF, decays.of_added + i)), kF, decays.of_added + i);
  }
}

FOVEA_INLINE void FindOfKeys(const DeltaPrepare& p, uint32_t count, size_t key, size_t live, DecaysOfKeys& decays) {
  for (uint32_t b = 0; b < count; ++b) {
    VF sum = hn::Zero(kF);
    for (uint32_t a = b + 1; a-- > 0;) {
      sum = hn::Add(sum, LoadSome(p.tokens.decay[a] + key, live));
      decays.of_pairs[PairAt(a, b)] = DecayOf(sum);
    }
  }
  VF sum = hn::Zero(kF);
  for (uint32_t a = p.group->adds ? kDeltaTokens : 0; a-- > 0;) {
    sum = hn::Add(sum, LoadSome(p.added.decay[a] + key, live));
    decays.of_added[a] = DecayOf(sum);
  }
}

// Stores the factors of the elements of keys from `key` on.
FOVEA_INLINE void PutFactors(const VF (&factor)[kDeltaElementStride], size_t key, float* factors) {
  if constexpr (kFactorsInRows) {
    float* at = factors + key / kDeltaRowKeys * (kDeltaFactors * kDeltaRowStride) + key % kDeltaRowKeys;
    for (uint32_t f = 0; f < kDeltaFactors; ++f, at += kFactorStride) hn::StoreU(factor[f], kF, at);
  } else {
    float* at[kLanes];
    for (size_t i = 0; i < kLanes; ++i) at[i] = factors + (key + i) * kKeyStride;
    for (size_t first = 0; first < kDeltaElementStride; first += kLanes) {
      VF some[kLanes];
      for (size_t i = 0; i < kLanes; ++i) some[i] = factor[first + i];
      hn::StoreTransposed(some, at, kLanes, first, kLanes);
    }
  }
}

FOVEA_INLINE void AddToStrands(VF a, VF b, float* strands) {
  hn::StoreU(hn::MulAdd(a, b, hn::LoadU(kF, strands)), kF, strands);
}

// The factors of the elements of keys from `key` on, and their part of the products of pairs of tokens.
template <bool kPerKey, class Decays>
FOVEA_INLINE void PrepareKeys(const DeltaPrepare& p, const Decays& decays, size_t key) {
  const DeltaGroup& g = *p.group;
  VF factor[kDeltaElementStride];
  for (VF& f : factor) f = hn::Zero(kF);
  if (g.adds && !p.queries_alone) {
    for (uint32_t m = 0; m < kDeltaTokens; ++m) {
      const VF k = hn::LoadU(kF, p.added.k[m] + key);
      factor[kDeltaAdded + m] = m + 1 < kDeltaTokens ? hn::Mul(k, decays.Added(m + 1)) : k;
    }
    factor[kDeltaDecay] = decays.Added(0);
  }
  for (uint32_t n = 0; n < g.tokens; ++n) {
    const uint32_t j = g.before + n;
    const bool keys = p.delta && !p.queries_alone;
    const VF k = hn::LoadU(kF, p.tokens.k[j] + key), q = hn::LoadU(kF, p.q[n] + key), since = decays.Of(0, j);
    factor[kDeltaQueries + n] = hn::Mul(q, hn::Mul(hn::Set(kF, p.scale), since));
    if (keys) factor[kDeltaKeys + n] = hn::Mul(k, hn::Mul(hn::Set(kF, -g.beta[n]), since));
    float* const strands = p.strands + key % kStrands;
    AddToStrands(q, k, strands + PairAt(j, j) * kStrands);
    for (uint32_t m = 0; m < j; ++m) {
      VF earlier = hn::LoadU(kF, p.tokens.k[m] + key);
      if (kPerKey) earlier = hn::Mul(earlier, decays.Of(m + 1, j));
      AddToStrands(q, earlier, strands + PairAt(m, j) * kStrands);
      if (keys) AddToStrands(k, earlier, strands + KeyPairAt(m, j) * kStrands);
    }
  }
  PutFactors(factor, key, g.factors);
}

// The sum of the strands of each pair, in place of the first of them.
FOVEA_INLINE void SumStrands(float* strands) {
  for (size_t pair = 0; pair < kDeltaStrands / kStrands; pair += kLanes) {
    const float* at[kLanes];
    for (size_t i = 0; i < kLanes; ++i) at[i] = strands + (pair + i) * kStrands;
    VF sum[kStrands];
    for (size_t first = 0; first < kStrands; first += kLanes) {
      hn::LoadTransposed(at, first, kLanes, reinterpret_cast<VF(&)[kLanes]>(sum[first]));
    }
    for (uint32_t half = kStrands / 2; half > 0; half /= 2) {
      for (uint32_t i = 0; i < half; ++i) sum[i] = hn::Add(sum[i], sum[i + half]);
    }
    hn::StoreU(sum[0], kF, strands + pair);
  }
}

// The factors of values u, from products of keys and queries.
FOVEA_INLINE void PutProducts(const DeltaPrepare& p, const float* decays, const float* products) {
  DeltaGroup& g = *p.group;
  for (uint32_t n = 0; n < g.tokens; ++n) {
    const uint32_t j = g.before + n;
    for (uint32_t m = 0; m <= j; ++m) {
      const float decay = m < j && decays ? decays[PairAt(m + 1, j)] : 1.0f;
      g.read[j][m] = p.scale * decay * products[PairAt(m, j)];
      if (m < j) g.taken[j][m] = -g.beta[n] * decay * products[KeyPairAt(m, j)];
    }
  }
}

FOVEA_KERNEL void Prepare(const DeltaPrepare& p) {
  const uint32_t count = p.group->before + p.group->tokens;
  for (size_t i = 0; i < kDeltaStrands; i += kLanes) hn::StoreU(hn::Zero(kF), kF, p.strands + i);
  if (p.gated && p.decay_per_key) {
    DecaysOfKeys decays;
    for (size_t key = 0; key < p.key_dim; key += kLanes) {
      FindOfKeys(p, count, key, p.key_dim - key, decays);
      PrepareKeys<true>(p, decays, key);
    }
    SumStrands(p.strands);
    PutProducts(p, nullptr, p.strands);
  } else {
    SharedDecays decays;
    FindShared(p, count, decays);
    for (size_t key = 0; key < p.key_dim; key += kLanes) PrepareKeys<false>(p, decays, key);
    SumStrands(p.strands);
    PutProducts(p, decays.of_pairs, p.strands);
  }
}
