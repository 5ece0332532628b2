// SPDX-License-Identifier: Apache-2.0
//
// Normalisation and activation of a row. Lanes run along the row.

// Vectors whose activation is computed at a time: one alone is a chain of dependent operations, for which a processor
// waits.
constexpr int kActivated = kPreferSize ? 1 : 4;

// y of n vectors from element i on. The last vector may have fewer lanes.
template <int n>
FOVEA_INLINE void ActivateFrom(const ActivationRow& row, size_t i) {
  VF x[n], y[n];
  for (int k = 0; k < n; ++k) {
    const size_t at = i + size_t(k) * kLanes;
    x[k] = LoadUpTo(row.x + at, LanesBefore(at, row.dim));
    y[k] = hn::Mul(x[k], hn::Set(kF, row.alpha));
  }
  Sigmoid(y);
  for (int k = 0; k < n; ++k) {
    const size_t at = i + size_t(k) * kLanes;
    if (!row.sigmoid) y[k] = hn::Mul(x[k], y[k]);
    if (row.factor) y[k] = hn::Mul(y[k], LoadUpTo(row.factor + at, LanesBefore(at, row.dim)));
    StoreUpTo(y[k], row.y + at, LanesBefore(at, row.dim));
  }
}

FOVEA_KERNEL void Activate(const ActivationRow& row) {
  size_t i = 0;
  for (; row.dim - i >= kActivated * kLanes; i += kActivated * kLanes) ActivateFrom<kActivated>(row, i);
  for (; i < row.dim; i += kLanes) ActivateFrom<1>(row, i);
}

// The sum of squares in 16 chains, whatever the lanes of a vector, and then a tree.
constexpr size_t kChains = 16;

FOVEA_INLINE float SumOfSquares(const float* x, size_t dim) {
  constexpr size_t kVectors = kChains / kLanes;
  VF sums[kVectors];
  for (VF& sum : sums) sum = hn::Zero(kF);
  size_t i = 0;
  for (; dim - i >= kChains; i += kChains) {
    for (size_t v = 0; v < kVectors; ++v) {
      const VF e = hn::LoadU(kF, x + i + v * kLanes);
      sums[v] = hn::MulAdd(e, e, sums[v]);
    }
  }
  for (size_t v = 0; v < kVectors && i < dim; ++v, i += kLanes) {
    const VF e = LoadUpTo(x + i, LanesBefore(i, dim));
    sums[v] = hn::MulAdd(e, e, sums[v]);
  }
  float chains[kChains];
  for (size_t v = 0; v < kVectors; ++v) hn::StoreU(sums[v], kF, chains + v * kLanes);
  for (size_t half = kChains / 2; half > 0; half /= 2) {
    for (size_t k = 0; k < half; ++k) chains[k] += chains[k + half];
  }
  return chains[0];
}

// 1 / sqrt(x), for x >= 0 and NaN, without libm: a guess from the exponent, and steps of Newton's method, each of which
// squares the error. Largest error 2 ulp. 0 for infinity, and for 0, so that a row whose squares are all 0 becomes
// zeros.
FOVEA_INLINE float InverseSquareRoot(float x) {
  if (x != x) return x;
  if (x == 0.0f || x > 3.40282347e38f) return 0.0f;
  const bool small = x < 0x1p-100f;  // and perhaps subnormal
  const float scaled = small ? x * 0x1p100f : x;
  uint32_t bits;
  __builtin_memcpy(&bits, &scaled, sizeof bits);
  bits = 0x5f3759df - (bits >> 1);
  float y;
  __builtin_memcpy(&y, &bits, sizeof y);
  for (int i = 0; i < 4; ++i) y *= 1.5f - 0.5f * scaled * y * y;
  return small ? y * 0x1p50f : y;
}

FOVEA_KERNEL void Normalise(const NormRow& row) {
  const float mean = SumOfSquares(row.x, row.dim) / row.divisor;
  const VF inverse = hn::Set(kF, InverseSquareRoot(mean + row.epsilon));
  const VF offset = hn::Set(kF, row.weight_offset);
  for (size_t i = 0; i < row.dim; i += kLanes) {
    const size_t n = LanesBefore(i, row.dim);
    VF y = hn::Mul(LoadUpTo(row.x + i, n), inverse);
    if (row.weight) y = hn::Mul(y, hn::Add(LoadUpTo(row.weight + i, n), offset));
    StoreUpTo(y, row.y + i, n);
  }
}

constexpr NormKernels kNormKernels = {Activate, Normalise};
