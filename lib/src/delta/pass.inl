// SPDX-License-Identifier: Apache-2.0
//
// The pass over S: lanes run along its columns.

// Vectors of columns at a time: as many as leave room for the sums of a group of tokens.
constexpr int kPassVectors = hn::kRegisters >= 32 ? 2 : 1;

struct PassOf {
  const float* factors;
  size_t keys;
  float* s;
  const float* u;
  size_t u_stride;
  float* sums;  // [of each key, if the rule has a delta, then of each query][columns]
};

// The first `kTokens` keys and queries of a group.
template <int kTokens, bool kAdds, bool kDelta, int kVectors>
FOVEA_CALLED_TEMPLATE void Pass(const PassOf& pass) {
  constexpr int kReads = kDelta ? 2 * kTokens : kTokens;
  constexpr uint32_t kFirst = kDelta ? kDeltaKeys : kDeltaQueries;
  const size_t apart = kLanes == kDeltaColumns ? pass.keys * kDeltaColumns : kLanes;  // from a vector to the next
  VF u[kAdds ? kDeltaTokens : 1][kVectors], sum[kReads][kVectors];
  if constexpr (kAdds) {
    FOVEA_UNROLL(4)
    for (uint32_t m = 0; m < kDeltaTokens; ++m) {
      FOVEA_UNROLL(4)
      for (int v = 0; v < kVectors; ++v) u[m][v] = hn::LoadU(kF, pass.u + m * pass.u_stride + v * kLanes);
    }
  }
  FOVEA_UNROLL(8)
  for (int r = 0; r < kReads; ++r) {
    FOVEA_UNROLL(4)
    for (int v = 0; v < kVectors; ++v) sum[r][v] = hn::Zero(kF);
  }
  const float* factors = pass.factors;
  float* s = pass.s;
  for (size_t left = pass.keys; left > 0;) {
    const size_t keys = kFactorsInRows && left > kDeltaRowKeys ? kDeltaRowKeys : left;
    const float* f = factors;
    for (size_t key = 0; key < keys; ++key, f += kKeyStride, s += kDeltaColumns) {
      VF x[kVectors];
      FOVEA_UNROLL(4)
      for (int v = 0; v < kVectors; ++v) x[v] = hn::LoadU(kF, s + size_t(v) * apart);
      if constexpr (kAdds) {
        const VF decay = hn::Set(kF, f[kDeltaDecay * kFactorStride]);
        FOVEA_UNROLL(4)
        for (int v = 0; v < kVectors; ++v) x[v] = hn::Mul(x[v], decay);
        FOVEA_UNROLL(4)
        for (uint32_t m = 0; m < kDeltaTokens; ++m) {
          const VF k = hn::Set(kF, f[(kDeltaAdded + m) * kFactorStride]);
          FOVEA_UNROLL(4)
          for (int v = 0; v < kVectors; ++v) x[v] = hn::MulAdd(u[m][v], k, x[v]);
        }
        FOVEA_UNROLL(4)
        for (int v = 0; v < kVectors; ++v) hn::StoreU(x[v], kF, s + size_t(v) * apart);
      }
      FOVEA_UNROLL(8)
      for (int r = 0; r < kReads; ++r) {
        const uint32_t at = r < kTokens ? kFirst + uint32_t(r) : kDeltaQueries + uint32_t(r - kTokens);
        const VF reads = hn::Set(kF, f[at * kFactorStride]);
        FOVEA_UNROLL(4)
        for (int v = 0; v < kVectors; ++v) sum[r][v] = hn::MulAdd(x[v], reads, sum[r][v]);
      }
    }
    left -= keys;
    factors += kDeltaFactors * kDeltaRowStride;
  }
  FOVEA_UNROLL(8)
  for (int r = 0; r < kReads; ++r) {
    FOVEA_UNROLL(4)
    for (int v = 0; v < kVectors; ++v) hn::StoreU(sum[r][v], kF, pass.sums + (r * kVectors + v) * int(kLanes));
  }
}

// Three tokens are taken for four, whose factors are 0; where size counts, so are two.
FOVEA_INLINE uint32_t PassTokens(uint32_t tokens) { return tokens == 1 || (tokens == 2 && !kPreferSize) ? tokens : 4; }

template <bool kAdds, bool kDelta, int kVectors>
FOVEA_INLINE void PassTokensOf(uint32_t tokens, const PassOf& pass) {
  if (tokens == 1) return Pass<1, kAdds, kDelta, kVectors>(pass);
  if constexpr (!kPreferSize) {
    if (tokens == 2) return Pass<2, kAdds, kDelta, kVectors>(pass);
  }
  Pass<4, kAdds, kDelta, kVectors>(pass);
}

// Where the sums of queries begin is returned.
template <int kVectors>
FOVEA_INLINE const float* RunPass(const DeltaGroup& g, bool queries_alone, bool delta, const PassOf& pass) {
  const uint32_t tokens = PassTokens(g.tokens);
  const bool keys = delta && !queries_alone, adds = g.adds && !queries_alone;
  if (keys) {
    adds ? PassTokensOf<true, true, kVectors>(tokens, pass) : PassTokensOf<false, true, kVectors>(tokens, pass);
  } else {
    adds ? PassTokensOf<true, false, kVectors>(tokens, pass) : PassTokensOf<false, false, kVectors>(tokens, pass);
  }
  return pass.sums + (keys ? tokens * kVectors * kLanes : 0);
}
