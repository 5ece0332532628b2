// SPDX-License-Identifier: Apache-2.0
//
// The products of one query row with some keys, for Helium: eight registers have no room for vectors of keys in
// addition to the sums, and loads advance their addresses.
#ifndef FOVEA_SRC_ATTENTION_FEW_ROW_HELIUM_INL_
#define FOVEA_SRC_ATTENTION_FEW_ROW_HELIUM_INL_

#include "core/attention/few_block.inl"
#include "ground/math/math.inl"

constexpr bool kKeyByKey = true, kVectorsAtOnce = false, kScalarWeights = !kSmallText;

// sum + weight * x, with the weight in a general register.
FOVEA_INLINE VF AddWeighted(float weight, VF x, VF sum) { return hn::MulAddScalar(x, weight, sum); }

// Halves are widened two vectors at a time: from one load, those in even places, and those in odd ones.
constexpr bool kWidensPairs = !kSmallText;

// The scores of all keys, which are halves, if their elements fill pairs of vectors.
FOVEA_INLINE bool ScoreHalves(const QueryTile& t, const KeyTile& keys, FewBlock<1> block) {
  constexpr size_t kPairLanes = 2 * kLanes;
  constexpr uint32_t kKeys = block.kKeys;
  const size_t head_dim = t.head_dim;
  if (head_dim % kPairLanes != 0) return false;
  const ptrdiff_t stride = keys.keys.stride;
  const uint16_t* next = static_cast<const uint16_t*>(keys.keys.data) + ptrdiff_t(keys.begin) * stride;
  const uint32_t end = keys.end;
  const float* const queries = FloatQueries(t);
  float* s = t.s;
  for (uint32_t left = end - keys.begin;; left -= kKeys, s += kLanes) {
    const uint16_t* at[kKeys] = {next};
    FOVEA_UNROLL(4)
    for (uint32_t k = 1; k < kKeys; ++k) at[k] = at[k - 1] + (k < left ? stride : 0);  // the last one is repeated
    next = at[kKeys - 1] + stride;
    VF acc[kKeys];
    SetAll(acc, hn::Zero(kF));
    const float* q = queries;
    for (size_t n = head_dim / kPairLanes; n > 0; --n, q += kPairLanes) {
      VF even, odd;
      hn::LoadPairs(kF, q, even, odd);
      FOVEA_EACH(k, kKeys) {
        const VI halves = hn::NextPairsU16(at[k]);
        acc[k] = hn::MulAdd(even, hn::FromF16(halves), acc[k]);
        acc[k] = hn::MulAdd(odd, hn::FromUpperF16(halves), acc[k]);
      }
    }
    const VF sums = hn::SumsOfLanes(acc);
    if (left < kKeys) {
      StoreFewScores<1>(t, keys, end - left, sums);
    } else {
      hn::StoreU(sums, kF, s);
    }
    if (left <= kKeys) return true;
  }
}

// acc[v] = the products of the weights of a tile's keys with elements of their values, which are halves.
template <int kVectors>
FOVEA_INLINE void AddHalves(const float* weights, const uint16_t* value, ptrdiff_t stride, uint32_t count,
                            VF (&acc)[kVectors]) {
  SetAll(acc, hn::Zero(kF));
  FOVEA_UNROLL_LONG_LOOP(4)
  for (; count > 0; --count, ++weights, value += stride) {
    const float weight = *weights;
    FOVEA_UNROLL(4)
    for (int v = 0; v < kVectors; v += 2) {
      const VI halves = hn::LoadPairsU16(value + v * kLanes);
      acc[v] = hn::MulAddScalar(hn::FromF16(halves), weight, acc[v]);
      acc[v + 1] = hn::MulAddScalar(hn::FromUpperF16(halves), weight, acc[v + 1]);
    }
  }
  FOVEA_UNROLL(4)
  for (int v = 0; v < kVectors; v += 2) {
    alignas(16) float lanes[2 * kLanes];
    hn::StorePairs(acc[v], acc[v + 1], kF, lanes);
    acc[v] = hn::LoadU(kF, lanes);
    acc[v + 1] = hn::LoadU(kF, lanes + kLanes);
  }
}

// acc[k] += the products of the first `whole` elements, a multiple of kLanes, in lanes.
template <fovea_dtype kType, uint32_t kKeys>
FOVEA_INLINE void MultiplyKeyByKey(const float* q, size_t whole, FormatRow<kType> (&key)[kKeys], VF (&acc)[kKeys]) {
  if constexpr (kType == FOVEA_F32 || kType == FOVEA_F16) {
    decltype(key[0].data) at[kKeys];
    FOVEA_EACH(k, kKeys) at[k] = key[k].data;
    for (size_t n = whole / kLanes; n > 0; --n) {
      const VF x = hn::NextVector(q);
      FOVEA_EACH(k, kKeys) acc[k] = hn::MulAdd(x, hn::NextVector(at[k]), acc[k]);
    }
    // The rest of each key follows: so no register holds its begin during the loop.
    FOVEA_EACH(k, kKeys) key[k].data = at[k] - whole;
  } else {
    for (size_t d = 0; d < whole; d += kLanes) {
      const VF x = hn::LoadU(kF, q + d);
      FOVEA_EACH(k, kKeys) acc[k] = hn::MulAdd(x, LoadAs(key[k], d), acc[k]);
    }
  }
}

#endif  // FOVEA_SRC_ATTENTION_FEW_ROW_HELIUM_INL_
