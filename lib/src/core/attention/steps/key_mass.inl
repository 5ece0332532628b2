// SPDX-License-Identifier: Apache-2.0
//
// Keeps the weights of a query tile until the sums of its rows are known, and adds them to the mass of keys.
#ifndef FOVEA_SRC_ATTENTION_STEPS_KEY_MASS_INL_
#define FOVEA_SRC_ATTENTION_STEPS_KEY_MASS_INL_

#include "core/attention/rows.inl"
#include "ground/math/math.inl"
#include "ground/math/plain.inl"

FOVEA_INLINE float* KeptWeightsOf(float* slot) { return slot + kKeptKeysFloats; }
FOVEA_INLINE float* KeptMaxima(const QueryTile& t, float* slot) {
  return KeptWeightsOf(slot) + size_t{kKeyTile} * (t.columns / row_lanes(t));
}

// The lanes from `column` on that are not of rows whose weights are kept.
FOVEA_INLINE MF OtherRows(const QueryTile& t, size_t column) {
  const VF lane = hn::Iota(kF, float(column)), from = hn::Set(kF, float(t.kept->from * row_lanes(t)));
  return hn::Or(hn::Lt(lane, from), hn::Le(hn::Set(kF, float(t.live * row_lanes(t))), lane));
}

// Whether the weights of all rows are kept.
FOVEA_INLINE bool KeepsAllRows(const QueryTile& t) { return t.kept->from == 0 && t.live * row_lanes(t) == t.columns; }

// Keeps the vectors [begin, end), which are t.columns floats apart. They may be in their slot already.
FOVEA_INLINE void KeepVectors(const QueryTile& t, const KeyTile& keys, const float* weights, size_t begin, size_t end,
                              size_t column) {
  float* const slot = *keys.kept;
  const MF others = OtherRows(t, column);
  if (weights == KeptWeightsOf(slot) && KeepsAllRows(t)) end = begin;
  for (size_t at = begin * t.columns + column; at < end * t.columns; at += t.columns) {
    hn::StoreU(hn::IfThenZeroElse(others, hn::LoadU(kF, weights + at)), kF, KeptWeightsOf(slot) + at);
  }
  hn::StoreU(hn::LoadU(kF, t.row_max + column), kF, KeptMaxima(t, slot) + column);
}

FOVEA_KERNEL void KeepWeights(const QueryTile& t, const KeyTile& keys, const float* weights, size_t column) {
  KeepVectors(t, keys, weights, keys.begin, keys.end, column);
}

// What normalises kept weights, for one vector of rows: 0 for other rows. After Normalise.
FOVEA_INLINE VF KeptFactor(const QueryTile& t, const float* maxima, size_t column) {
  const VF shift = hn::Sub(hn::LoadU(kF, maxima + column), hn::LoadU(kF, t.row_max + column));
  const VF factor = ZeroIfSubnormal(hn::Mul(Exp2(shift), hn::LoadU(kF, t.row_sum + column)));
  return hn::IfThenZeroElse(OtherRows(t, column), factor);
}

// Calls add(keys, weights, factors) for each slot. The factors take the place of the maxima.
template <class Add>
FOVEA_INLINE void ForEachSlot(const QueryTile& t, const Add& add) {
  float* slot = t.kept->slots;
  for (uint32_t i = 0; i < t.kept->count; ++i, slot += kept_slot_floats(t)) {
    KeptKeys keys;
    __builtin_memcpy(&keys, slot, sizeof keys);
    float* const factors = KeptMaxima(t, slot);
    for (size_t c = 0; c < t.columns; c += kLanes) hn::StoreU(KeptFactor(t, factors, c), kF, factors + c);
    add(keys, KeptWeightsOf(slot), factors);
  }
}

FOVEA_INLINE void AddToMass(float* mass, size_t n, VF sums) {
  sums = ZeroIfSubnormal(sums);
  if (IsVector(n)) return hn::StoreU(hn::Add(hn::LoadU(kF, mass), sums), kF, mass);
  hn::StoreN(hn::Add(hn::LoadN(kF, mass, n), sums), kF, mass, n);
}

// The sums over the rows of n <= kLanes keys, whose weights are in adjacent rows.
FOVEA_INLINE VF SumsOfKeys(const QueryTile& t, const float* weights, const float* factors, size_t n) {
  VF sums[kLanes];
  SetAll(sums, hn::Zero(kF));
  for (size_t c = t.kept->from / kLanes * kLanes; c < t.live; c += kLanes) {
    const VF factor = hn::LoadU(kF, factors + c);
    FOVEA_EACH(i, kLanes) {
      if (i < n) sums[i] = hn::MulAdd(hn::LoadU(kF, weights + i * t.columns + c), factor, sums[i]);
    }
  }
  return hn::SumsOfLanes(sums);
}

FOVEA_KERNEL void AddMass(const QueryTile& t, float* mass) {
  ForEachSlot(t, [&](const KeptKeys& keys, const float* weights, const float* factors) {
    size_t j = keys.begin;
    for (; !kSmallText && j + kLanes <= keys.end; j += kLanes) {  // whole vectors are known to be whole
      AddToMass(mass + keys.first + j, kLanes, SumsOfKeys(t, weights + j * t.columns, factors, kLanes));
    }
    for (; j < keys.end; j += kLanes) {
      const size_t n = keys.end - j < kLanes ? keys.end - j : kLanes;
      AddToMass(mass + keys.first + j, n, SumsOfKeys(t, weights + j * t.columns, factors, n));
    }
  });
}

#endif  // FOVEA_SRC_ATTENTION_STEPS_KEY_MASS_INL_
