// SPDX-License-Identifier: Apache-2.0
//
// Normalisation and activation of elements of a row. Lanes run along the row.
#ifndef FOVEA_SRC_NORM_NORM_INL_
#define FOVEA_SRC_NORM_NORM_INL_

#include "ground/math/activation.inl"
#include "ground/math/plain.inl"

// Vectors whose activation is computed at a time: one alone is a chain of dependent operations, for which a processor
// waits.
constexpr int kActivated = AtOnce(4);

// y of some vectors from element i on, of which each has n elements.
template <int kVectors>
FOVEA_INLINE void ActivateFrom(const ActivationRow& row, size_t i, size_t n) {
  VF y[kVectors];
  FOVEA_EACH(k, kVectors) y[k] = LoadUpTo(row.x + i + k * kLanes, n);
  Activate(row.kind, row.alpha, y);
  if (row.factor) {
    FOVEA_EACH(k, kVectors) y[k] = hn::Mul(y[k], LoadUpTo(row.factor + i + k * kLanes, n));
  }
  FOVEA_EACH(k, kVectors) StoreUpTo(y[k], row.y + i + k * kLanes, n);
}

// row is a copy: a store to y could change what a reference names, and its fields would be read again for each vector.
FOVEA_INLINE void ActivateElements(ActivationRow row, fovea_activation_kind kind) {
  row.kind = kind;
  constexpr size_t kTaken = kActivated * kLanes;
  size_t i = 0;
  for (; kActivated > 1 && row.count - i >= kTaken; i += kTaken) ActivateFrom<kActivated>(row, i, kLanes);
  for (; i < row.count; i += kLanes) ActivateFrom<1>(row, i, LanesBefore(i, row.count));
}
FOVEA_KERNEL void ActivateRow(const ActivationRow& row) {
  if (kLanes > 4) {  // loops of their own find their numbers in registers: .85 of the time (Zen 4, AVX2)
    if (row.kind == FOVEA_ACTIVATION_SILU) return ActivateElements(row, FOVEA_ACTIVATION_SILU);
    if (row.kind == FOVEA_ACTIVATION_GELU) return ActivateElements(row, FOVEA_ACTIVATION_GELU);
    if (row.kind == FOVEA_ACTIVATION_TANH) return ActivateElements(row, FOVEA_ACTIVATION_TANH);
  }
  ActivateElements(row, row.kind);
}

// How a row is normalised: kCentered rows have a mean, the others none, so that nothing is subtracted.
enum class Norm { kSquares, kCentered };

// Vectors of chains that are summed at a time. Those of sums and of squares fill half the registers at most.
constexpr size_t kChainVectors = kNormChains / kLanes;
constexpr size_t kMostVectors = hn::kRegisters / 4 < 8 ? hn::kRegisters / 4 : 8;
constexpr size_t kVectorsAtOnce = AtOnce(kChainVectors < kMostVectors ? kChainVectors : kMostVectors);

template <Norm kNorm>
FOVEA_INLINE void AddTo(VF x, float shift, VF* sum, VF* squares) {
  const VF d = kNorm == Norm::kCentered ? hn::AddSet(x, -shift) : x;
  if (kNorm == Norm::kCentered) *sum = hn::Add(*sum, d);
  *squares = hn::MulAdd(d, d, *squares);
}

// Loads the next elements of some chains; x advances to those after them.
template <size_t n>
FOVEA_INLINE void NextOfChains(const float*& x, VF (&next)[n]) {
  if constexpr (kLanes == 1) {  // one instruction loads them and moves x
    hn::LoadNext(x, next);
    x += kNormChains - n;
  } else {  // the offset is a part of each load, and x moves once in an unrolled loop
    FOVEA_EACH(v, n) next[v] = hn::LoadU(kF, x + v * kLanes);
    x += kNormChains;
  }
}

// Adds `rounds` times kNormChains elements to the chains from `first` on, as many as kVectorsAtOnce vectors have.
template <Norm kNorm>
FOVEA_INLINE void AddToChains(const NormSums& s, size_t first, size_t rounds) {
  constexpr size_t n = kVectorsAtOnce;
  const float shift = s.shift;
  const bool goes_on = s.goes_on;
  VF sums[n], squares[n];
  FOVEA_EACH(v, n) {
    sums[v] = kNorm == Norm::kCentered && goes_on ? hn::LoadU(kF, s.chains + first + v * kLanes) : hn::Zero(kF);
    squares[v] = goes_on ? hn::LoadU(kF, s.squares + first + v * kLanes) : hn::Zero(kF);
  }
  const float* x = s.x + first;
  FOVEA_UNROLL_LONG_LOOP(4)
  for (; rounds > 0; --rounds) {
    VF next[n];
    NextOfChains(x, next);
    FOVEA_EACH(v, n) AddTo<kNorm>(next[v], shift, &sums[v], &squares[v]);
  }
  FOVEA_EACH(v, n) {
    if (kNorm == Norm::kCentered) hn::StoreU(sums[v], kF, s.chains + first + v * kLanes);
    hn::StoreU(squares[v], kF, s.squares + first + v * kLanes);
  }
}

// The last elements of a row, fewer than there are chains.
template <Norm kNorm>
FOVEA_INLINE void AddLast(const NormSums& s, const float* x, size_t count) {
  for (size_t i = 0; i < count; i += kLanes) {
    const size_t n = LanesBefore(i, count);
    VF next = hn::LoadN(kF, x + i, n), sum = hn::Zero(kF), squares = hn::LoadU(kF, s.squares + i);
    if constexpr (kNorm == Norm::kCentered) {
      sum = hn::LoadU(kF, s.chains + i);
      if (kLanes > 1) {  // lanes past the last element add 0
        next = hn::IfThenElse(hn::Lt(hn::Iota(kF, 0.0f), hn::Set(kF, float(n))), next, hn::Set(kF, s.shift));
      }
    }
    AddTo<kNorm>(next, s.shift, &sum, &squares);
    if (kNorm == Norm::kCentered) hn::StoreU(sum, kF, s.chains + i);
    hn::StoreU(squares, kF, s.squares + i);
  }
}

template <Norm kNorm>
FOVEA_INLINE void AddElements(const NormSums& s) {
  const size_t rounds = s.count / kNormChains, left = s.count % kNormChains;
  for (size_t first = 0; first < kNormChains; first += kVectorsAtOnce * kLanes) AddToChains<kNorm>(s, first, rounds);
  AddLast<kNorm>(s, s.x + (s.count - left), left);
}

// The same for rows of one length, kRowsAtOnce of them at a time: then more chains are under way. Four rows take .6 of
// the time, and eight gain nothing more (Zen 5, AVX-512).
constexpr size_t kMostRows = hn::kRegisters / 4 / kVectorsAtOnce;
constexpr size_t kRowsAtOnce = kMostRows < 1 ? 1 : kMostRows < ::fovea::kNormRows ? kMostRows : ::fovea::kNormRows;
template <Norm kNorm>
FOVEA_INLINE void AddRowsToChains(const NormSums* s, size_t first, size_t rounds) {
  constexpr size_t n = kVectorsAtOnce;
  VF sums[kRowsAtOnce][n], squares[kRowsAtOnce][n];
  FOVEA_EACH(r, kRowsAtOnce) {
    FOVEA_EACH(v, n) sums[r][v] = squares[r][v] = hn::Zero(kF);
  }
  for (size_t i = first, end = first + rounds * kNormChains; i != end; i += kNormChains) {
    FOVEA_EACH(r, kRowsAtOnce) {
      FOVEA_EACH(v, n) {
        AddTo<kNorm>(hn::LoadU(kF, s[r].x + i + v * kLanes), s[r].shift, &sums[r][v], &squares[r][v]);
      }
    }
  }
  FOVEA_EACH(r, kRowsAtOnce) {
    FOVEA_EACH(v, n) {
      if (kNorm == Norm::kCentered) hn::StoreU(sums[r][v], kF, s[r].chains + first + v * kLanes);
      hn::StoreU(squares[r][v], kF, s[r].squares + first + v * kLanes);
    }
  }
}
template <Norm kNorm>
FOVEA_INLINE void AddElementsOfRows(const NormSums* s, size_t count) {
  const size_t rounds = s->count / kNormChains, left = s->count % kNormChains;
  for (; count >= kRowsAtOnce && kRowsAtOnce > 1; count -= kRowsAtOnce, s += kRowsAtOnce) {
    for (size_t first = 0; first < kNormChains; first += kVectorsAtOnce * kLanes) {
      AddRowsToChains<kNorm>(s, first, rounds);
    }
    for (size_t r = 0; r < kRowsAtOnce; ++r) AddLast<kNorm>(s[r], s[r].x + (s->count - left), left);
  }
  for (; count > 0; --count, ++s) AddElements<kNorm>(*s);
}

// Whether lanes change places in registers.
constexpr bool kTotalsInLanes = kLanes > 1 && hn::kRegisters > 8;
// The second half of the chains is added to the first, until one is left.
FOVEA_KERNEL float Total(const float* chains) {
  float sums[kNormChains];
  VF v[kChainVectors];
  FOVEA_UNROLL_FOR_SPEED(16)
  for (size_t k = 0; k < kChainVectors; ++k) v[k] = hn::LoadU(kF, chains + k * kLanes);
  FOVEA_UNROLL_FOR_SPEED(4)
  for (size_t half = kChainVectors / 2; half > 0; half /= 2) {
    FOVEA_UNROLL_FOR_SPEED(8)
    for (size_t k = 0; k < half; ++k) v[k] = hn::Add(v[k], v[k + half]);
  }
  if constexpr (kTotalsInLanes) v[0] = OverLanes<false>(v[0]);
  hn::StoreU(v[0], kF, sums);
  if (kTotalsInLanes) return sums[0];
  FOVEA_UNROLL_FOR_SPEED(4)
  for (size_t half = kLanes / 2; half > 0; half /= 2) {
    FOVEA_UNROLL_FOR_SPEED(8)
    for (size_t k = 0; k < half; ++k) sums[k] += sums[k + half];
  }
  return sums[0];
}

// Vectors that are scaled at a time, with their weights and biases.
constexpr size_t kScaled = AtOnce(hn::kRegisters / 2 < 8 ? hn::kRegisters / 2 : 8);

FOVEA_INLINE VF ScaleBy(const NormScale& s, VF y, size_t i, size_t n) {
  if (!s.weight) return s.bias ? hn::Add(y, LoadUpTo(s.bias + i, n)) : y;
  const VF weight = hn::Add(LoadUpTo(s.weight + i, n), hn::Set(kF, s.weight_offset));
  return s.bias ? hn::MulAdd(y, weight, LoadUpTo(s.bias + i, n)) : hn::Mul(y, weight);
}

// y of the n <= kLanes elements from element i on.
template <Norm kNorm>
FOVEA_INLINE void ScaleUpTo(const NormScale& s, size_t i, size_t n) {
  VF y = LoadUpTo(s.x + i, n);
  if (kNorm == Norm::kCentered) y = hn::AddSet(y, -s.mean);
  StoreUpTo(ScaleBy(s, hn::MulSet(y, s.inverse), i, n), s.y + i, n);
}

// s is a copy, as in ActivateElements.
template <Norm kNorm>
FOVEA_INLINE void ScaleElements(NormScale s) {
  constexpr size_t kTaken = kScaled * kLanes;
  size_t i = 0;
  if (kNorm == Norm::kCentered && !kSmallText && s.weight && s.bias && s.weight_offset == 0.0f) {
    const float *x = s.x, *weight = s.weight, *bias = s.bias;
    float* to = s.y;
    for (; s.count - i >= kTaken; i += kTaken) {
      VF y[kScaled];
      hn::LoadNext(x, y);
      FOVEA_UNROLL(8)
      for (VF& v : y) v = hn::MulSet(hn::AddSet(v, -s.mean), s.inverse);
      hn::StoreNextMulAdd(y, weight, bias, to);
    }
  }
  for (; kScaled > 1 && s.count - i >= kTaken; i += kTaken) {
    FOVEA_EACH(v, kScaled) ScaleUpTo<kNorm>(s, i + v * kLanes, kLanes);
  }
  for (; i < s.count; i += kLanes) ScaleUpTo<kNorm>(s, i, LanesBefore(i, s.count));
}

FOVEA_KERNEL void Join(const float* x, const float* residual, float* to, size_t count) {
  for (size_t i = 0; i < count; i += kLanes) {
    const size_t n = LanesBefore(i, count);
    StoreUpTo(hn::Add(LoadUpTo(x + i, n), LoadUpTo(residual + i, n)), to + i, n);
  }
}

FOVEA_KERNEL void Add(const NormSums& s) { AddElements<Norm::kCentered>(s); }
FOVEA_KERNEL void AddSquares(const NormSums& s) { AddElements<Norm::kSquares>(s); }
FOVEA_KERNEL void AddRows(const NormSums* rows, size_t count) {
  if (::fovea::kLayerNorm && rows->chains) return AddElementsOfRows<Norm::kCentered>(rows, count);
  AddElementsOfRows<Norm::kSquares>(rows, count);
}
FOVEA_KERNEL void Scale(const NormScale& s) { ScaleElements<Norm::kCentered>(s); }
FOVEA_KERNEL void ScaleSquares(const NormScale& s) { ScaleElements<Norm::kSquares>(s); }

constexpr ActivationKernels kActivationKernels = {ActivateRow};
constexpr NormKernels kNormKernels = {
    ::fovea::kLayerNorm ? Add : nullptr,   AddSquares,   ::fovea::kNormRows > 1 ? AddRows : nullptr, Total,
    ::fovea::kLayerNorm ? Scale : nullptr, ScaleSquares, ::fovea::kResidual ? Join : nullptr};

#endif  // FOVEA_SRC_NORM_NORM_INL_
