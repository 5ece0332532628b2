// SPDX-License-Identifier: Apache-2.0
//
// Additive scores, s = factor * sum_d v[d] tanh(q[d] + k[d]) (Bahdanau et al., arXiv 1409.0473, appendix A.1.2; Luong
// et al., arXiv 1508.04025, "concat"), which take the place of q.k in the loop over keys. The linear layers of queries
// and keys have been applied before.
#ifndef FOVEA_SRC_ATTENTION_ADDITIVE_INL_
#define FOVEA_SRC_ATTENTION_ADDITIVE_INL_

#include "core/attention/rows.inl"
#include "ground/math/block.inl"
#include "ground/math/math.inl"

// For one vector of rows and kKeys keys, with the partial sums of MultiplyBlock.
template <int kKeys>
FOVEA_INLINE void AdditiveBlock(const QueryTile& t, const KeyTile& keys, const float* const (&key)[kKeys],
                                size_t column, float* s) {
  VF sum[kKeys];
  FOVEA_EACH(k, kKeys) sum[k] = hn::Zero(kF);
  const float *q = FloatQueries(t) + column, *v = keys.score_vector;
  for (size_t d = 0; d < t.head_dim;) {
    const size_t end = t.head_dim - d < kPartialSum ? t.head_dim : d + kPartialSum;
    VF part[kKeys];
    FOVEA_EACH(k, kKeys) part[k] = hn::Zero(kF);
    for (; d < end; ++d, q += t.columns) {
      VF x[kKeys];
      FOVEA_EACH(k, kKeys) x[k] = hn::Add(hn::LoadU(kF, q), hn::Set(kF, key[k][d]));
      Tanh(x);
      FOVEA_EACH(k, kKeys) part[k] = hn::MulAdd(x[k], hn::Set(kF, v[d]), part[k]);
    }
    FOVEA_EACH(k, kKeys) sum[k] = hn::Add(sum[k], part[k]);
  }
  FOVEA_EACH(k, kKeys) {
    hn::StoreU(hn::Mul(sum[k], hn::Set(kF, *keys.score_factor)), kF, s + size_t(k) * t.columns);
  }
}

// Scores of the keys [begin, end). Where fewer than kKeys are left, the last key is repeated.
FOVEA_CALLED void AdditiveScores(const QueryTile& t, const KeyTile& keys, size_t column) {
  constexpr int kKeys = AtOnce(hn::kRegisters >= 32 ? 4 : 2);
  for (uint32_t j = keys.begin; j < keys.end; j += kKeys) {
    const float* key[kKeys];
    for (uint32_t k = 0; k < kKeys; ++k) key[k] = keys.keys.f32(ptrdiff_t(j + k < keys.end ? j + k : keys.end - 1));
    AdditiveBlock(t, keys, key, column, t.s + size_t(j) * t.columns + column);
  }
}

// One score of the few-rows kernel without the factor, as a sum in each lane. Lanes past the last element add nothing:
// v is 0 there.
FOVEA_CALLED VF AdditiveSum(const QueryTile& t, const float* v, const float* q, const float* key) {
  const size_t whole = t.head_dim / kLanes * kLanes, rest = t.head_dim - whole;
  VF sum = hn::Zero(kF);
  for (size_t d = 0; d < whole; d += kLanes) {
    const VF x = hn::Add(hn::LoadU(kF, q + d), hn::LoadU(kF, key + d));
    sum = hn::MulAdd(Tanh(x), hn::LoadU(kF, v + d), sum);
  }
  if (rest == 0) return sum;
  const VF x = hn::Add(hn::LoadU(kF, q + whole), hn::LoadN(kF, key + whole, rest));
  return hn::MulAdd(Tanh(x), hn::LoadN(kF, v + whole, rest), sum);
}

#endif  // FOVEA_SRC_ATTENTION_ADDITIVE_INL_
