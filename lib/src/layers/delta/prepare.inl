// SPDX-License-Identifier: Apache-2.0
//
// What a pass over S needs for its token group: factors for each element of the keys, and products of keys and queries.
// The equations are in kernels.h. Lanes run along the keys.
#ifndef FOVEA_SRC_DELTA_PREPARE_INL_
#define FOVEA_SRC_DELTA_PREPARE_INL_

#include "ground/formats/rows.inl"
#include "ground/math/math.inl"

// Whether one new token, two of them and a whole token group have texts of their own, in which their number is known.
constexpr bool kKnowsTokens = !kSmallText;

constexpr bool kFactorsInRows = ::fovea::delta_factors_in_rows(kLanes);
// The steps from a factor to the next, and from an element of the keys to the next.
constexpr size_t kFactorStride = kFactorsInRows ? kDeltaRowStride : 1;
constexpr size_t kKeyStride = kFactorsInRows ? 1 : kDeltaElementStride;
constexpr size_t kGivenStride = kFactorsInRows ? 1 : kDeltaTokens;  // the same for given keys

// A sum over the elements of keys has this many chains, whatever the lanes of a vector. A tree adds up the chains.
constexpr uint32_t kStrands = 16;
constexpr uint32_t kPairs = kDeltaTokens * (kDeltaTokens + 1) / 2;

// The place of a pair of tokens a and b: for a <= b in a first list, for a < b also in a second list that follows it.
FOVEA_INLINE uint32_t PairAt(uint32_t a, uint32_t b) { return b * (b + 1) / 2 + a; }
FOVEA_INLINE uint32_t KeyPairAt(uint32_t a, uint32_t b) { return kPairs - b + PairAt(a, b); }
constexpr uint32_t kPairRows = kPairs + kDeltaTokens * (kDeltaTokens - 1) / 2;  // of both lists
static_assert(kPairRows * kStrands == kDeltaStrands, "a row for each pair");

// e^x, and e^88 for larger x.
FOVEA_SHARED VF DecayOf(VF log) {
  const VF negated = hn::ClampMin(hn::Sub(hn::Zero(kF), log), hn::Set(kF, -88.0f));
  return Exp(hn::Sub(hn::Zero(kF), negated));
}

FOVEA_INLINE bool DecayPerKey(const DeltaPrepare& p) { return p.gated && p.decay_per_key; }

// The products D(a, b) of the decays of tokens a to b of a token group, for all a <= b < count. Their logarithms are
// added, from b down to a, before the exponential is taken. This is more exact than to multiply decays, or to subtract
// sums.
struct SharedDecays {  // one decay for all elements of a key
  static constexpr bool kOfKeys = false;
  float of_pairs[16];  // D(a, b) at PairAt(a, b), then D(a, 3) of the group that is added; padded to whole vectors

  FOVEA_MEMBER VF Of(uint32_t a, uint32_t b) const { return hn::Set(kF, of_pairs[PairAt(a, b)]); }
  FOVEA_MEMBER VF Added(uint32_t a) const { return hn::Set(kF, of_pairs[kPairs + a]); }
};
struct DecaysOfKeys {  // of kLanes elements of a key
  static constexpr bool kOfKeys = true;
  VF of_pairs[kPairs], of_added[kDeltaTokens];

  FOVEA_MEMBER VF Of(uint32_t a, uint32_t b) const { return of_pairs[PairAt(a, b)]; }
  // From each token of a whole group to the last.
  FOVEA_MEMBER const VF (&ToLast() const)[kDeltaTokens] {
    return reinterpret_cast<const VF(&)[kDeltaTokens]>(of_pairs[PairAt(0, kDeltaTokens - 1)]);
  }
};

// The sums of tokens' logarithms, from each of `count` tokens to the last.
FOVEA_INLINE void SumLogarithms(const float* const (&log)[kDeltaTokens], uint32_t count, float* sums) {
  float sum = 0.0f;
  for (uint32_t a = count; a-- > 0;) sums[a] = sum += *log[a];
}

FOVEA_INLINE void FindShared(const DeltaPrepare& p, uint32_t count, SharedDecays& decays) {
  for (float& x : decays.of_pairs) x = 0.0f;
  if (p.gated) {
    for (uint32_t b = p.group->before; b < count; ++b) {
      SumLogarithms(p.tokens.decay, b + 1, decays.of_pairs + PairAt(0, b));
    }
    SumLogarithms(p.added.decay, p.group->adds ? kDeltaTokens : 0, decays.of_pairs + kPairs);
  }
  for (size_t i = 0; i < kPairs + kDeltaTokens; i += kLanes) {
    hn::StoreU(DecayOf(hn::LoadU(kF, decays.of_pairs + i)), kF, decays.of_pairs + i);
  }
}

// The products of `count` tokens' decays, from each of them to the last. Where size counts, tokens that have one decay,
// or none, are served here, too.
FOVEA_SHARED void FindProducts(const DeltaPrepare& p, const float* const (&log)[kDeltaTokens], uint32_t count,
                               size_t key, VF* products) {
  VF sum = hn::Zero(kF);
  for (uint32_t a = count; a-- > 0;) {
    if (!kSmallText || DecayPerKey(p)) {
      sum = hn::Add(sum, LoadUpTo(log[a] + key, LanesBefore(key, p.head_dim)));
    } else if (p.gated) {
      sum = hn::Add(sum, hn::Set(kF, *log[a]));
    }
    products[a] = DecayOf(sum);
  }
}

// Prefetches the decays of the tokens two token groups later, for the reason that WidenKeys has: 256 tokens with a
// head_dim of 128 take .9 of the time (Zen 5).
FOVEA_INLINE void PrefetchDecays(const DeltaPrepare& p, size_t key) {
  if (kSmallText || kLanes == 1 || p.group->tokens != kDeltaTokens || key * sizeof(float) % kCacheLine != 0) return;
  uintptr_t log[kDeltaTokens];
  for (uint32_t n = 0; n < kDeltaTokens; ++n) log[n] = reinterpret_cast<uintptr_t>(p.tokens.decay[n]);
  const uintptr_t ahead = 2 * kDeltaTokens * (log[1] - log[0]) + key * sizeof(float);  // may be past the end
  for (const uintptr_t row : log) __builtin_prefetch(reinterpret_cast<const void*>(row + ahead));
}

// Whether the group before has put the factors of its keys, which are added, and whether this one does. Scalar targets
// prepare one at a time.
constexpr bool kTellsNext = kLanes > 1 && ::fovea::kTellsNextGroup;
FOVEA_INLINE bool HasAdded(const DeltaPrepare& p) { return kTellsNext && *p.has_added; }
FOVEA_INLINE bool TellsNext(const DeltaPrepare& p) { return kTellsNext && *p.next; }

FOVEA_INLINE void FindOfKeys(const DeltaPrepare& p, uint32_t first, uint32_t count, size_t key, DecaysOfKeys& decays) {
  PrefetchDecays(p, key);
  for (uint32_t b = first; b < count; ++b) {
    FindProducts(p, p.tokens.decay, b + 1, key, decays.of_pairs + PairAt(0, b));
  }
  const bool adds = p.group->adds && !HasAdded(p) && (kSmallText || !p.queries_alone);
  FindProducts(p, p.added.decay, adds ? kDeltaTokens : 0, key, decays.of_added);
}

// Stores four factors, or fewer, of the elements of keys from `key` on. kFactors: of an element in all, or the four of
// given keys.
template <uint32_t kFactors = kDeltaFactors, size_t kCount>
FOVEA_SHARED_TEMPLATE void PutFactors(VF (&factor)[kCount], size_t first, size_t key, float* factors) {
  constexpr size_t kStride = kFactors == kDeltaFactors ? kKeyStride : kGivenStride;
  if constexpr (kFactorsInRows) {
    float* at =
        factors + key / kDeltaRowKeys * (kFactors * kDeltaRowStride) + key % kDeltaRowKeys + first * kFactorStride;
    FOVEA_UNROLL_FOR_SPEED(4)
    for (size_t f = 0; f < kCount; ++f) hn::StoreU(factor[f], kF, at + f * kFactorStride);
  } else if constexpr (kLanes == kCount && kLanes > 1) {
    float* at[kLanes];
    FOVEA_EACH(i, kLanes) at[i] = factors + (key + i) * kStride;
    hn::StoreTransposed(factor, at, kLanes, first, kLanes);
  } else {
    for (size_t f = 0; f < kCount; ++f) {
      float element[kLanes];
      hn::StoreU(factor[f], kF, element);
      for (size_t i = 0; i < kLanes; ++i) factors[(key + i) * kStride + first + f] = element[i];
    }
  }
}

// The factors of a token group for kLanes elements of keys, except those of keys that are added.
struct KeyFactors {
  VF keys[kDeltaTokens], queries[kDeltaTokens];
};

// For new token n, which is token j of its token group: computes its factors, and adds its part to the products with
// itself and with the tokens before it.
template <class Decays>
FOVEA_INLINE void PrepareToken(const DeltaPrepare& p, bool per_key, const Decays& decays, size_t key, bool keys,
                               uint32_t n, uint32_t j, KeyFactors& factors, VF (&products)[kPairRows]) {
  const VF q = hn::LoadU(kF, p.q[n] + key), k = hn::LoadU(kF, p.tokens.k[j] + key), since = decays.Of(0, j);
  factors.queries[n] = hn::Mul(q, hn::Mul(hn::Set(kF, p.scale), since));
  if (keys) factors.keys[n] = hn::Mul(k, hn::Mul(hn::Set(kF, -p.group->beta[n]), since));
  products[PairAt(j, j)] = hn::MulAdd(q, k, products[PairAt(j, j)]);
  const auto multiply = [&](uint32_t m) __attribute__((always_inline)) {
    VF earlier = hn::LoadU(kF, p.tokens.k[m] + key);
    if (per_key) earlier = hn::Mul(earlier, decays.Of(m + 1, j));
    products[PairAt(m, j)] = hn::MulAdd(q, earlier, products[PairAt(m, j)]);
    if (keys) products[KeyPairAt(m, j)] = hn::MulAdd(k, earlier, products[KeyPairAt(m, j)]);
  };
  if constexpr (kSmallText) {
    for (uint32_t m = 0; m < j; ++m) multiply(m);
  } else {
    if (j > 0) multiply(0);
    if (j > 1) multiply(1);
    if (j > 2) multiply(2);
  }
}

// The number of new tokens of a token group, and of those before them. Products of known tokens stay in registers.
template <uint32_t kNew, uint32_t kBefore>
struct KnownTokens {};
using AnyTokens = KnownTokens<0, 0>;

// Factors of new tokens. Where factors have rows, those of one token alone are stored without zeros for others.
template <uint32_t kNew>
FOVEA_INLINE void PutTokens(VF (&factor)[kDeltaTokens], size_t first, size_t key, float* factors) {
  if constexpr (kNew == 1 && kFactorsInRows) {
    PutFactors(reinterpret_cast<VF(&)[1]>(factor), first, key, factors);
  } else {
    PutFactors(factor, first, key, factors);
  }
}

// The factors of the keys of a whole token group, which are added to S, and of its decay. `since`: the products of
// decays from each token to the last.
FOVEA_INLINE void PutAdded(const float* const (&k)[kDeltaTokens], const VF (&since)[kDeltaTokens], size_t key,
                           float* factors) {
  VF added[kDeltaTokens], decay[1] = {since[0]};
  FOVEA_UNROLL_FOR_SPEED(4)
  for (uint32_t m = 0; m < kDeltaTokens; ++m) {
    added[m] = hn::LoadU(kF, k[m] + key);
    if (m + 1 < kDeltaTokens) added[m] = hn::Mul(added[m], since[m + 1]);
  }
  PutFactors(added, kDeltaAdded, key, factors);
  PutFactors(decay, kDeltaDecay, key, factors);
}

// Computes the factors for kLanes elements of keys, from `key` on, and adds their part to the products of pairs of
// tokens.
template <uint32_t kNew, uint32_t kBefore, class Decays>
FOVEA_INLINE void PrepareKeys(KnownTokens<kNew, kBefore>, const DeltaPrepare& p, bool per_key, const Decays& decays,
                              size_t key, KeyFactors& factors, VF (&products)[kPairRows]) {
  const DeltaGroup& g = *p.group;
  const bool keys = kSmallText || (p.delta && !p.queries_alone);  // where size counts, they are always there
  if (g.adds && !p.queries_alone && !(Decays::kOfKeys && HasAdded(p))) {
    if constexpr (Decays::kOfKeys) {
      PutAdded(p.added.k, decays.of_added, key, g.factors);
    } else {
      const VF since[kDeltaTokens] = {decays.Added(0), decays.Added(1), decays.Added(2), decays.Added(3)};
      PutAdded(p.added.k, since, key, g.factors);
    }
  }
  if constexpr (kNew == 1) {
    PrepareToken(p, per_key, decays, key, keys, 0, kBefore, factors, products);
  } else if constexpr (kNew == kDeltaTokens) {
    PrepareToken(p, per_key, decays, key, keys, 0, 0, factors, products);
    PrepareToken(p, per_key, decays, key, keys, 1, 1, factors, products);
    PrepareToken(p, per_key, decays, key, keys, 2, 2, factors, products);
    PrepareToken(p, per_key, decays, key, keys, 3, 3, factors, products);
  } else {
    for (uint32_t n = 0; n < g.tokens; ++n) {
      PrepareToken(p, per_key, decays, key, keys, n, g.before + n, factors, products);
    }
  }
  if constexpr (Decays::kOfKeys) {
    if (TellsNext(p)) PutAdded(p.tokens.k, decays.ToLast(), key, *p.next);
  }
  PutTokens<kNew>(factors.queries, kDeltaQueries, key, g.factors);
  if (keys) PutTokens<kNew>(factors.keys, kDeltaKeys, key, g.factors);
}

// Prepares all elements of keys. Elements that are kStrands apart follow one another, so that the products of each
// strand stay in registers.
template <uint32_t kNew, uint32_t kBefore, class Decays>
FOVEA_INLINE void PrepareStrands(KnownTokens<kNew, kBefore> known, const DeltaPrepare& p, uint32_t count, bool per_key,
                                 Decays& decays) {
  KeyFactors factors;
  if constexpr (kNew != kDeltaTokens) {  // tokens that are not there have factors of 0
    for (uint32_t n = 0; n < kDeltaTokens; ++n) factors.keys[n] = factors.queries[n] = hn::Zero(kF);
  }
  for (size_t first = 0; first < kStrands; first += kLanes) {
    VF products[kPairRows];
    FOVEA_UNROLL_FOR_SPEED(16)
    for (uint32_t i = 0; i < kPairRows; ++i) products[i] = hn::Zero(kF);
    for (size_t key = first; key < p.head_dim; key += kStrands) {
      if constexpr (Decays::kOfKeys) {
        if (per_key || key == 0) FindOfKeys(p, p.group->before, count, key, decays);
      }
      PrepareKeys(known, p, per_key, decays, key, factors, products);
    }
    FOVEA_UNROLL_FOR_SPEED(16)
    for (uint32_t i = 0; i < kPairRows; ++i) hn::StoreU(products[i], kF, p.strands + i * kStrands + first);
  }
}

// Stores the sum of the strands of each pair at the beginning of the array.
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

// Stores what values u are multiplied by, computed from the products of keys and queries. Each decay is `step` numbers
// after the one before.
FOVEA_INLINE void PutProducts(const DeltaPrepare& p, const float* decays, size_t step, const float* products) {
  DeltaGroup& g = *p.group;
  for (uint32_t n = 0; n < g.tokens; ++n) {
    const uint32_t j = g.before + n;
    for (uint32_t m = 0; m <= j; ++m) {
      const float decay = m < j && decays ? decays[PairAt(m + 1, j) * step] : 1.0f;
      g.read[j][m] = p.scale * decay * products[PairAt(m, j)];
      if (m < j) g.taken[j][m] = -g.beta[n] * decay * products[KeyPairAt(m, j)];
    }
  }
}

template <class Decays>
FOVEA_INLINE void PrepareGroup(const DeltaPrepare& p, uint32_t count, bool per_key, Decays& decays) {
  if (kKnowsTokens && p.group->tokens == kDeltaTokens) {
    PrepareStrands(KnownTokens<kDeltaTokens, 0>(), p, count, per_key, decays);
  } else if (!kKnowsTokens || p.group->tokens != 1) {
    PrepareStrands(AnyTokens(), p, count, per_key, decays);
  } else {
    switch (p.group->before) {
      case 0: PrepareStrands(KnownTokens<1, 0>(), p, count, per_key, decays); break;
      case 1: PrepareStrands(KnownTokens<1, 1>(), p, count, per_key, decays); break;
      case 2: PrepareStrands(KnownTokens<1, 2>(), p, count, per_key, decays); break;
      default: PrepareStrands(KnownTokens<1, 3>(), p, count, per_key, decays);
    }
  }
  SumStrands(p.strands);
}

FOVEA_KERNEL void Prepare(const DeltaPrepare& p) {
  const uint32_t count = p.group->before + p.group->tokens;
  if constexpr (kSmallText) {  // one text for both kinds of decays
    const bool per_key = DecayPerKey(p);
    DecaysOfKeys decays = {};
    PrepareGroup(p, count, per_key, decays);
    float of_pairs[kPairs][kLanes];
    for (uint32_t i = 0; i < kPairs; ++i) hn::StoreU(decays.of_pairs[i], kF, of_pairs[i]);
    PutProducts(p, per_key ? nullptr : of_pairs[0], kLanes, p.strands);
  } else if (DecayPerKey(p)) {
    DecaysOfKeys decays = {};
    PrepareGroup(p, count, true, decays);
    PutProducts(p, nullptr, 1, p.strands);
  } else {
    SharedDecays decays;
    FindShared(p, count, decays);
    PrepareGroup(p, count, false, decays);
    PutProducts(p, decays.of_pairs, 1, p.strands);
  }
}

#endif  // FOVEA_SRC_DELTA_PREPARE_INL_
