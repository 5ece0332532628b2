// SPDX-License-Identifier: Apache-2.0
//
// The pass over S: lanes run along its columns.
#ifndef FOVEA_SRC_DELTA_PASS_INL_
#define FOVEA_SRC_DELTA_PASS_INL_

#include "layers/delta/prepare.inl"

// The factors for one element of the keys, by which the pass multiplies. kFactors: apart from the decay.
template <uint32_t kFactors>
struct FactorsOfKey {
  const float* at;
#if defined(FOVEA_MULTIPLIES_LANES)
  // A vector is multiplied by a lane of another: a load reads four factors.
  VF four[kFactors / kLanes];

  FOVEA_MEMBER explicit FactorsOfKey(const float* f) : at(f) {
    FOVEA_EACH(i, kFactors / kLanes) four[i] = hn::LoadU(kF, f + i * kLanes);
  }
  FOVEA_MEMBER VF MulAdd(uint32_t i, VF a, VF c) const {
    switch (i % kLanes) {
      case 0: return hn::MulAddLane<0>(a, four[i / kLanes], c);
      case 1: return hn::MulAddLane<1>(a, four[i / kLanes], c);
      case 2: return hn::MulAddLane<2>(a, four[i / kLanes], c);
      default: return hn::MulAddLane<3>(a, four[i / kLanes], c);
    }
  }
#else
  FOVEA_MEMBER VF MulAdd(uint32_t i, VF a, VF c) const { return hn::MulAddScalar(a, at[i * kFactorStride], c); }
#endif
  FOVEA_MEMBER VF Mul(uint32_t i, VF a) const { return hn::Mul(a, hn::Set(kF, at[i * kFactorStride])); }
};

// Vectors of columns at a time: as many as leave registers for the sums of a token group.
constexpr int kPassVectors = hn::kRegisters >= 32 ? 2 : 1;
// The same for one token, whose sums take fewer registers, but of vectors that are narrower than a row of S no more than
// the row has.
constexpr int kRowVectors = kLanes < kDeltaColumns ? int(kDeltaColumns / kLanes) : 2 * kPassVectors;
constexpr int kLoneVectors = kLanes == 1 || hn::kRegisters < 16 || kSmallText ? kPassVectors
                             : kRowVectors < 2 * kPassVectors                  ? kRowVectors
                                                                               : 2 * kPassVectors;
// Whether S gets separate passes for the update, the keys and the queries, because there are too few registers for one.
constexpr bool kPassesApart = hn::kRegisters < 16;

struct PassOf {
  const float* factors;
  size_t keys;
  float* s;
  const float* u;
  size_t u_stride;
  float* sums;  // [each key that reads, then each query][columns]
  // Of the general rule:
  [[no_unique_address]] IfGeneral<const float*> given_factors, given_v;
  [[no_unique_address]] MemberIf<kReadsMatrices, ptrdiff_t> s_row;  // as that of DeltaColumns
};

// The steps in S from an element of the key to the next, and from a block of columns to the next.
template <class Of>
FOVEA_INLINE bool IsMatrix(const Of& of) {
  if constexpr (kFactorsInRows && kReadsMatrices) return of.s_row != 0;
  return false;
}
template <class Of>
FOVEA_INLINE ptrdiff_t RowStep(const Of& of) {
  if constexpr (kFactorsInRows && kReadsMatrices) return of.s_row != 0 ? ptrdiff_t(of.s_row) : ptrdiff_t(kDeltaColumns);
  return kDeltaColumns;
}
template <class Of>
FOVEA_INLINE size_t BlockStep(const Of& of, size_t keys) {
  return IsMatrix(of) ? kDeltaColumns : keys * kDeltaColumns;
}

// What a pass adds to S: nothing; values u, after the decay; the values of the general rule that are given; or both.
constexpr int kAddsNothing = 0, kAddsU = 1, kAddsGiven = 2, kAddsBoth = kAddsU + kAddsGiven;

// The values u, or v, of the token group that is added.
template <int kVectors>
FOVEA_INLINE void LoadAdded(const PassOf& pass, const float* values, VF (&u)[kDeltaTokens][kVectors]) {
  FOVEA_EACH(m, kDeltaTokens) {
    FOVEA_EACH(v, kVectors) u[m][v] = hn::LoadU(kF, values + m * pass.u_stride + v * kLanes);
  }
}

// Adds to an element of the keys. Factors of keys that are added are the first of all.
template <class Factors, int kVectors>
FOVEA_INLINE void AddValues(const Factors& factor, const VF (&u)[kDeltaTokens][kVectors], VF (&x)[kVectors]) {
  FOVEA_EACH(m, kDeltaTokens) {
    FOVEA_EACH(v, kVectors) x[v] = factor.MulAdd(kDeltaAdded + m, u[m][v], x[v]);
  }
}

template <int kReads, int kRows, int kVectors>
FOVEA_INLINE void ClearSums(VF (&sum)[kRows][kVectors]) {
  FOVEA_EACH(r, kReads) {
    FOVEA_EACH(v, kVectors) sum[r][v] = hn::Zero(kF);
  }
}

template <int kReads, int kRows, int kVectors>
FOVEA_INLINE void StoreSums(const VF (&sum)[kRows][kVectors], float* to) {
  FOVEA_EACH(r, kReads) {
    FOVEA_EACH(v, kVectors) hn::StoreU(sum[r][v], kF, to + (r * kVectors + v) * int(kLanes));
  }
}

// Whether a pass prefetches as many of the next columns, in the order of addresses, which is how memory is fastest, into
// the second level of cache: the first has no room for them. Narrow vectors do so only in a call for one token, which
// reads each column once.
template <int kQueries>
constexpr bool kPrefetches = (kQueries == 1 || (kQueries > 0 && kFactorsInRows)) && kLanes > 1 && !kSmallText;

// Adds of a whole token group what kAdds says. Then reads for kKeys keys and kQueries queries of the next token group.
template <int kKeys, int kQueries, int kAdds, int kVectors>
FOVEA_CALLED_TEMPLATE void Pass(const PassOf& pass) {
  constexpr int kReads = kKeys + kQueries;
  if (kSmallText && pass.keys == 0) __builtin_unreachable();  // no code for no keys
  constexpr size_t kBlocks = (kVectors * kLanes + kDeltaColumns - 1) / kDeltaColumns;
  const size_t block = BlockStep(pass, pass.keys), apart = kLanes == kDeltaColumns ? block : kLanes;
  const ptrdiff_t row = RowStep(pass), ahead_row = IsMatrix(pass) ? row : ptrdiff_t(kBlocks * kDeltaColumns);
  VF u[kDeltaTokens][kVectors], given[kDeltaTokens][kVectors], sum[kReads > 0 ? kReads : 1][kVectors];
  if constexpr ((kAdds & kAddsU) != 0) LoadAdded(pass, pass.u, u);
  if constexpr ((kAdds & kAddsGiven) != 0) LoadAdded(pass, pass.given_v, given);
  ClearSums<kReads>(sum);
  const float *factors = pass.factors, *given_factors = pass.given_factors;
  float *s = pass.s, *ahead = s + kBlocks * block;
  for (size_t left = pass.keys; left > 0;) {
    const size_t keys = kFactorsInRows && left > kDeltaRowKeys ? kDeltaRowKeys : left;
    const float *f = factors, *of_given = given_factors;
    for (size_t key = 0; key < keys; ++key, f += kKeyStride, s += row) {
      if constexpr (kPrefetches<kQueries>) {
        for (size_t b = 0; b < kBlocks; ++b) __builtin_prefetch(ahead + b * kDeltaColumns, 0, 2);
        ahead += ahead_row;
      }
      const FactorsOfKey<kDeltaDecay> factor{f};
      VF x[kVectors];
      FOVEA_EACH(v, kVectors) x[v] = hn::LoadU(kF, s + size_t(v) * apart);
      if constexpr ((kAdds & kAddsU) != 0) {
        FOVEA_EACH(v, kVectors) x[v] = factor.Mul(kDeltaDecay, x[v]);
        AddValues(factor, u, x);
      }
      if constexpr ((kAdds & kAddsGiven) != 0) {
        AddValues(FactorsOfKey<kDeltaTokens>{of_given}, given, x);
        of_given += kGivenStride;
      }
      if constexpr (kAdds != kAddsNothing) {
        FOVEA_EACH(v, kVectors) hn::StoreU(x[v], kF, s + size_t(v) * apart);
      }
      FOVEA_EACH(r, kReads) {
        const uint32_t at = r < kKeys ? kDeltaKeys + uint32_t(r) : kDeltaQueries + uint32_t(r - kKeys);
        FOVEA_EACH(v, kVectors) sum[r][v] = factor.MulAdd(at, x[v], sum[r][v]);
      }
    }
    left -= keys;
    factors += kDeltaFactors * kDeltaRowStride;
    if constexpr ((kAdds & kAddsGiven) != 0) given_factors += kDeltaTokens * kDeltaRowStride;
  }
  StoreSums<kReads>(sum, pass.sums);
}

// The number of tokens that a pass takes. Three are taken as four, one of them with factors of 0. Where size counts,
// two are taken as four, too.
FOVEA_INLINE uint32_t PassTokens(uint32_t tokens) { return tokens == 1 || (tokens == 2 && kKnowsTokens) ? tokens : 4; }

// The same pass for queries alone as another makes for keys alone: their factors are next to those of keys.
FOVEA_INLINE PassOf QueriesAsKeys(PassOf pass, size_t sums) {
  pass.factors += (kDeltaQueries - kDeltaKeys) * kFactorStride;
  pass.sums += sums;
  return pass;
}

// Where size counts, there are few versions of the pass. Except for four tokens that add no group, sums of keys are
// computed even where nothing reads them.
template <int kTokens, int kVectors>
FOVEA_INLINE void PassForSize(bool keys, bool adds, const PassOf& pass) {
  constexpr bool kApart = kPassesApart || kTokens > 1;
  if constexpr (kPassesApart) {
    if (adds) Pass<0, 0, kAddsU, kVectors>(pass);
  } else if (adds) {
    return Pass<kTokens, kTokens, kAddsU, kVectors>(pass);
  }
  if constexpr (kApart) {
    if (keys) Pass<kTokens, 0, kAddsNothing, kVectors>(pass);
    Pass<kTokens, 0, kAddsNothing, kVectors>(QueriesAsKeys(pass, kTokens * kVectors * kLanes));
  } else {
    Pass<kTokens, kTokens, kAddsNothing, kVectors>(pass);
  }
}

template <int kTokens, int kVectors>
FOVEA_INLINE void PassTokensOf(bool keys, bool adds, const PassOf& pass) {
  if constexpr (kSmallText) {
    PassForSize<kTokens, kVectors>(keys, adds, pass);
  } else if constexpr (kPassesApart) {
    PassOf queries = pass;
    if (adds) Pass<0, 0, kAddsU, kVectors>(pass);
    if (keys) {
      Pass<kTokens, 0, kAddsNothing, kVectors>(pass);
      queries.sums += kTokens * kVectors * kLanes;
    }
    Pass<0, kTokens, kAddsNothing, kVectors>(queries);
  } else if (keys) {
    adds ? Pass<kTokens, kTokens, kAddsU, kVectors>(pass) : Pass<kTokens, kTokens, kAddsNothing, kVectors>(pass);
  } else {
    adds ? Pass<0, kTokens, kAddsU, kVectors>(pass) : Pass<0, kTokens, kAddsNothing, kVectors>(pass);
  }
}

// Returns where the sums of queries begin. kLone: the token group has one new token.
template <int kVectors, bool kLone>
FOVEA_INLINE const float* RunPass(const DeltaGroup& g, bool queries_alone, bool delta, const PassOf& pass) {
  const uint32_t tokens = PassTokens(g.tokens);
  const bool keys = delta && !queries_alone, adds = g.adds && !queries_alone;
  if (kLone || tokens == 1) {
    PassTokensOf<1, kVectors>(keys, adds, pass);
  } else if (kKnowsTokens && tokens == 2) {
    PassTokensOf<2, kVectors>(keys, adds, pass);
  } else {
    PassTokensOf<4, kVectors>(keys, adds, pass);
  }
  return pass.sums + (keys || kSmallText ? tokens * kVectors * kLanes : 0);
}

// The general rule. Columns at a time: there are registers for the sums of four keys, or for all that is added.
constexpr int kGeneralVectors = kLanes > 1 && hn::kRegisters == 16 ? 2 * kPassVectors : kPassVectors;

// The columns of a pass from vector v on.
FOVEA_INLINE PassOf FromVector(const PassOf& pass, int v) {
  const ptrdiff_t columns = v * ptrdiff_t(kLanes);
  const ptrdiff_t step = kLanes == kDeltaColumns ? columns * ptrdiff_t(pass.keys) : columns;
  return {
      pass.factors,           pass.keys, pass.s + step, pass.u + columns, pass.u_stride, pass.sums, pass.given_factors,
      pass.given_v + columns, {}};
}

// Adds a whole token group. Few registers hold the values of one kind alone.
template <int kVectors>
FOVEA_INLINE void AddGeneral(const PassOf& pass) {
  if constexpr (kVectors > kGeneralVectors) {
    for (int v = 0; v < kVectors; v += kGeneralVectors) AddGeneral<kGeneralVectors>(FromVector(pass, v));
  } else if constexpr (hn::kRegisters < 32) {
    Pass<0, 0, kAddsU, kVectors>(pass);
    Pass<0, 0, kAddsGiven, kVectors>(pass);
  } else {
    Pass<0, 0, kAddsBoth, kVectors>(pass);
  }
}

// Where registers or bytes are few, keys and queries have a pass each, which is the same code.
template <int kTokens, int kVectors>
FOVEA_INLINE void ReadGeneral(bool keys, const PassOf& pass) {
  constexpr bool kTogether = !kPassesApart && !kSmallText && (kTokens == 1 || kVectors <= kPassVectors);
  if constexpr (kTogether) {
    if (keys) return Pass<kTokens, kTokens, kAddsNothing, kVectors>(pass);
  }
  if (keys) Pass<kTokens, 0, kAddsNothing, kVectors>(pass);
  Pass<kTokens, 0, kAddsNothing, kVectors>(QueriesAsKeys(pass, kTokens * kVectors * kLanes));
}

// RunPass for the general rule.
template <int kVectors, bool kLone>
FOVEA_INLINE const float* RunGeneral(const DeltaGroup& g, bool queries_alone, const PassOf& pass) {
  if (g.adds && !queries_alone) AddGeneral<kVectors>(pass);
  const int tokens = kLone || g.tokens == 1 ? 1 : 4;
  if constexpr (kLone) {
    ReadGeneral<1, kVectors>(!queries_alone, pass);
  } else {
    tokens == 1 ? ReadGeneral<1, kVectors>(!queries_alone, pass) : ReadGeneral<4, kVectors>(!queries_alone, pass);
  }
  return pass.sums + tokens * kVectors * kLanes;
}

#endif  // FOVEA_SRC_DELTA_PASS_INL_
