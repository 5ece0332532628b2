// SPDX-License-Identifier: Apache-2.0
//
// What a pass over S needs in the general rule. Here the keys of DeltaTokens are b, and the keys that are given are
// apart. The equations are in kernels.h.
#ifndef FOVEA_SRC_DELTA_PREPARE_GENERAL_INL_
#define FOVEA_SRC_DELTA_PREPARE_GENERAL_INL_

#include "layers/delta/prepare.inl"

// Of kLanes elements: b and the given keys of the tokens so far, with the decays up to the last of them; and products
// with them. A product of a pair is at the same place as in PrepareToken, with a in place of the key that reads.
struct GeneralKeys {
  VF b[kDeltaTokens], k[kDeltaTokens];
};
struct GeneralProducts {
  VF of_b[kPairRows], of_k[kPairRows];
};

// Calls f for the tokens before token j. Known tokens stay in registers.
template <class F>
FOVEA_INLINE void ForEarlier(uint32_t j, const F& f) {
  if constexpr (kKnowsTokens) {
    if (j > 0) f(0);
    if (j > 1) f(1);
    if (j > 2) f(2);
  } else {
    for (uint32_t m = 0; m < j; ++m) f(m);
  }
}

// Token j of the token group follows those that `keys` has.
FOVEA_INLINE void DecayKeys(const DeltaPrepare& p, const DecaysOfKeys& decays, size_t key, uint32_t j,
                            GeneralKeys& keys) {
  ForEarlier(j, [&](uint32_t m) __attribute__((always_inline)) {
    const VF since = decays.Of(m + 1, j);
    keys.b[m] = hn::Mul(hn::LoadU(kF, p.tokens.k[m] + key), since);
    keys.k[m] = hn::Mul(hn::LoadU(kF, p.general->k[m] + key), since);
  });
  keys.b[j] = hn::LoadU(kF, p.tokens.k[j] + key), keys.k[j] = hn::LoadU(kF, p.general->k[j] + key);
}

FOVEA_INLINE void MultiplyByKey(VF x, const GeneralKeys& keys, uint32_t m, uint32_t at, GeneralProducts& products) {
  products.of_b[at] = hn::MulAdd(x, keys.b[m], products.of_b[at]);
  products.of_k[at] = hn::MulAdd(x, keys.k[m], products.of_k[at]);
}

// For new token n, which is token j of its token group: as PrepareToken. What a reads has not yet decayed for j.
FOVEA_INLINE void PrepareGeneralToken(const DeltaPrepare& p, const DecaysOfKeys& decays, size_t key, uint32_t n,
                                      uint32_t j, GeneralKeys& keys, KeyFactors& factors, GeneralProducts& products) {
  const VF q = hn::LoadU(kF, p.q[n] + key), a = hn::LoadU(kF, p.general->a[n] + key);
  factors.queries[n] = hn::Mul(q, hn::Mul(hn::Set(kF, p.scale), decays.Of(0, j)));
  factors.keys[n] = j > 0 ? hn::Mul(a, decays.Of(0, j - 1)) : a;
  ForEarlier(j,
             [&](uint32_t m) __attribute__((always_inline)) { MultiplyByKey(a, keys, m, KeyPairAt(m, j), products); });
  DecayKeys(p, decays, key, j, keys);
  const auto read = [&](uint32_t m)
                        __attribute__((always_inline)) { MultiplyByKey(q, keys, m, PairAt(m, j), products); };
  ForEarlier(j, read);
  read(j);
}

template <uint32_t kNew, uint32_t kBefore>
FOVEA_INLINE void PrepareGeneralKeys(KnownTokens<kNew, kBefore>, const DeltaPrepare& p, const DecaysOfKeys& decays,
                                     size_t key, KeyFactors& factors, GeneralProducts& products) {
  const DeltaGroup& g = *p.group;
  GeneralKeys keys;
  if constexpr (kNew == kDeltaTokens) {
    PrepareGeneralToken(p, decays, key, 0, 0, keys, factors, products);
    PrepareGeneralToken(p, decays, key, 1, 1, keys, factors, products);
    PrepareGeneralToken(p, decays, key, 2, 2, keys, factors, products);
    PrepareGeneralToken(p, decays, key, 3, 3, keys, factors, products);
  } else if constexpr (kNew == 1) {
    if constexpr (kBefore > 0) DecayKeys(p, decays, key, kBefore - 1, keys);
    PrepareGeneralToken(p, decays, key, 0, kBefore, keys, factors, products);
  } else {
    if (g.before > 0) DecayKeys(p, decays, key, g.before - 1, keys);
    for (uint32_t n = 0; n < g.tokens; ++n) {
      PrepareGeneralToken(p, decays, key, n, g.before + n, keys, factors, products);
    }
  }
}

// PutAdded for both kinds of keys.
FOVEA_INLINE void PutGeneralAdded(const float* const (&b)[kDeltaTokens], const float* const* given,
                                  const VF (&since)[kDeltaTokens], size_t key, float* factors, float* of_given) {
  VF k[kDeltaTokens];
  for (uint32_t m = 0; m < kDeltaTokens; ++m) {
    k[m] = hn::LoadU(kF, given[m] + key);
    if (m + 1 < kDeltaTokens) k[m] = hn::Mul(k[m], since[m + 1]);
  }
  PutAdded(b, since, key, factors);
  PutFactors<kDeltaTokens>(k, 0, key, of_given);
}

FOVEA_INLINE void PutGeneralProducts(const DeltaPrepare& p, const float* of_b, const float* of_k) {
  DeltaGroup& g = *p.group;
  DeltaGiven& given = *p.general->given;
  for (uint32_t j = g.before; j < g.before + g.tokens; ++j) {
    for (uint32_t m = 0; m <= j; ++m) {
      g.read[j][m] = p.scale * of_b[PairAt(m, j)], given.read[j][m] = p.scale * of_k[PairAt(m, j)];
      if (m < j) g.taken[j][m] = of_b[KeyPairAt(m, j)], given.taken[j][m] = of_k[KeyPairAt(m, j)];
    }
  }
}

template <uint32_t kNew, uint32_t kBefore>
FOVEA_INLINE void PrepareGeneralStrands(KnownTokens<kNew, kBefore> known, const DeltaPrepare& p) {
  const DeltaGroup& g = *p.group;
  const bool keys = !p.queries_alone;
  const uint32_t before = kNew == 0 ? g.before : kBefore, tokens = kNew == 0 ? g.tokens : kNew;
  DecaysOfKeys decays = {};
  KeyFactors factors;
  if constexpr (kNew != kDeltaTokens) {  // tokens that are not there have factors of 0
    for (uint32_t n = 0; n < kDeltaTokens; ++n) factors.keys[n] = factors.queries[n] = hn::Zero(kF);
  }
  for (size_t first = 0; first < kStrands; first += kLanes) {
    GeneralProducts products;
    for (uint32_t i = 0; i < kPairRows; ++i) products.of_b[i] = products.of_k[i] = hn::Zero(kF);
    for (size_t key = first; key < p.head_dim; key += kStrands) {
      FindOfKeys(p, before > 0 ? before - 1 : 0, before + tokens, key, decays);
      if (g.adds && keys && !HasAdded(p)) {
        PutGeneralAdded(p.added.k, p.general->added_k, decays.of_added, key, g.factors, p.general->given->factors);
      }
      if (TellsNext(p)) PutGeneralAdded(p.tokens.k, p.general->k, decays.ToLast(), key, *p.next, *p.general->next);
      PrepareGeneralKeys(known, p, decays, key, factors, products);
      PutTokens<kNew>(factors.queries, kDeltaQueries, key, g.factors);
      if (keys) PutTokens<kNew>(factors.keys, kDeltaKeys, key, g.factors);
    }
    for (uint32_t i = 0; i < kPairRows; ++i) {
      hn::StoreU(products.of_b[i], kF, p.strands + i * kStrands + first);
      hn::StoreU(products.of_k[i], kF, p.general->strands + i * kStrands + first);
    }
  }
}

FOVEA_KERNEL void PrepareGeneral(const DeltaPrepare& p) {
  if (!kKnowsTokens || (p.group->tokens != 1 && p.group->tokens != kDeltaTokens)) {
    PrepareGeneralStrands(AnyTokens(), p);
  } else if (p.group->tokens == kDeltaTokens) {
    PrepareGeneralStrands(KnownTokens<kDeltaTokens, 0>(), p);
  } else {
    switch (p.group->before) {
      case 0: PrepareGeneralStrands(KnownTokens<1, 0>(), p); break;
      case 1: PrepareGeneralStrands(KnownTokens<1, 1>(), p); break;
      case 2: PrepareGeneralStrands(KnownTokens<1, 2>(), p); break;
      default: PrepareGeneralStrands(KnownTokens<1, 3>(), p);
    }
  }
  SumStrands(p.strands);
  SumStrands(p.general->strands);
  PutGeneralProducts(p, p.strands, p.general->strands);
}

#endif  // FOVEA_SRC_DELTA_PREPARE_GENERAL_INL_
