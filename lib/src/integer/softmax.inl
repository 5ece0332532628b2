// SPDX-License-Identifier: Apache-2.0
//
// The softmax of all-integer attention, as fovea_integer_attention is defined in fovea.h.

constexpr int32_t kOne = 0x7fffffff;            // a factor of 1: it changes no number below 2^30
constexpr uint32_t kMostSum = 1u << 30;         // a larger sum is halved before weights are added to it
constexpr int kMostStepShift = 12;              // here a score that is less by 1 already weighs nothing

// round(x * multiplier * 2^(exponent - 31)), where that is below 2^28; else at least 2^28.
struct IntegerScale {
  int32_t multiplier, limit;
  int left, right;

  IntegerScale(int32_t factor, int exponent) : multiplier(factor) {
    left = exponent > -2 ? exponent + 2 : 0;
    right = exponent > -2 ? 1 : -1 - exponent;
    limit = INT32_MAX >> left;
  }
  inline __attribute__((always_inline)) whole::V Below(whole::V x) const {  // x is not below 0
    x = whole::ShiftLeft(whole::Min(x, whole::Set(limit)), left);
    return whole::ShiftRight(whole::MulHigh(x, multiplier), right);
  }
  inline __attribute__((always_inline)) whole::V Of(whole::V x) const {
    return Below(whole::Max(x, whole::Set(-limit)));
  }
};

// The exponent that makes steps of scores.
FOVEA_INLINE int StepExponent(const IntegerBlock& b) {
  return b.score_shift + 6 < kMostStepShift ? b.score_shift + 6 : kMostStepShift;
}
FOVEA_INLINE int64_t StepsOf(const IntegerBlock& b, int32_t score) {
  const int places = 31 - StepExponent(b);
  return (int64_t(score) * b.score_multiplier + (int64_t(1) << (places - 1))) >> places;
}
// 2^-steps, as a factor.
FOVEA_INLINE int32_t FactorOf(int64_t steps) {
  return steps < 31 * kSteps ? kFactors[steps % kSteps] >> (steps / kSteps) : 0;
}
FOVEA_INLINE uint32_t ScaledSum(uint32_t sum, int32_t factor) {
  return uint32_t((uint64_t(sum) * uint32_t(factor) + (1u << 30)) >> 31);
}

// The scores [begin, end) of a row are whole vectors.
FOVEA_INLINE int32_t LargestOf(const int32_t* scores, uint32_t begin, uint32_t end) {
  whole::V largest = whole::Load(scores + begin);
  for (uint32_t j = begin + whole::kLanes; j < end; j += whole::kLanes) {
    largest = whole::Max(largest, whole::Load(scores + j));
  }
  return whole::LargestLane(largest);
}
FOVEA_INLINE void WeighScores(const IntegerBlock& b, uint32_t r, int32_t largest, uint32_t begin, uint32_t end) {
  const IntegerScale steps(b.score_multiplier, StepExponent(b));
  const int32_t* const scores = ScoresOf(b, r);
  for (uint32_t j = begin; j < end; j += whole::kLanes) {
    const whole::V below = steps.Below(whole::Sub(whole::Set(largest), whole::Load(scores + j)));
    StoreWeights(b, r, j, whole::Lookup(kWeightCodes, whole::Min(below, whole::Set(kVanished))));
  }
}
FOVEA_INLINE void HideWeights(const IntegerBlock& b, uint32_t r, uint32_t begin, uint32_t end) {
  for (; begin < end; ++begin) StoreWeight(b, r, begin, 0);
}

// The weights of a row, and how its sums go on. It sees the keys [lo, hi) of the tile.
FOVEA_CALLED void WeighRow(const IntegerBlock& b, uint32_t r, uint32_t lo, uint32_t hi) {
  IntegerRow& row = b.arrays.rows[r];
  row.kept = kOne, row.taken = 0;
  HideWeights(b, r, 0, lo);
  HideWeights(b, r, hi, kIntegerKeyTile);
  if (lo == hi) return;
  const uint32_t begin = lo / whole::kLanes * whole::kLanes, end = hi + (0u - hi) % whole::kLanes;
  int32_t* const scores = ScoresOf(b, r);
  for (uint32_t j = begin; j < lo; ++j) scores[j] = scores[lo];
  for (uint32_t j = hi; j < end; ++j) scores[j] = scores[lo];
  const int32_t largest = LargestOf(scores, begin, end);
  WeighScores(b, r, largest, begin, end);
  HideWeights(b, r, begin, lo);
  HideWeights(b, r, hi, end);

  const int64_t of_tile = StepsOf(b, largest);
  int64_t reference = of_tile;
  if (row.sum != 0) {
    const int64_t least = row.reference + (row.sum > kMostSum ? kSteps : 0);
    if (reference < least) reference = least;
    row.kept = FactorOf(reference - row.reference);
  }
  row.taken = FactorOf(reference - of_tile);
  row.reference = reference;
  row.sum = ScaledSum(row.sum, row.kept) + ScaledSum(SumOfWeights(b, r) << 14, row.taken);
}

// What turns sums into outputs: out_multiplier * 2^(out_shift - 31) / sum. The inverse of the sum has 16 bits, since
// many processors have no division of more than 32.
FOVEA_INLINE IntegerScale OutScale(const IntegerBlock& b, uint32_t sum) {
  const int zeros = __builtin_clz(sum) - 1;
  const uint32_t upper = ((sum << zeros) + (1u << 14)) >> 15;  // 2^15 to 2^16
  const uint32_t inverse = ((1u << 31) + upper / 2) / upper;
  const int exponent = b.out_shift + zeros - 22;
  return IntegerScale(int32_t((uint64_t(uint32_t(b.out_multiplier)) * inverse) >> 16), exponent > -32 ? exponent : -32);
}

FOVEA_CALLED void EndRow(const IntegerBlock& b, uint32_t r) {
  const IntegerRow& row = b.arrays.rows[r];
  const bool nothing = row.sum == 0;
  const IntegerScale scale = OutScale(b, nothing ? 1u << 30 : row.sum);
  const int32_t zero = b.value_zero * int32_t((row.sum + 128) >> 8);
  const int32_t* const sums = SumsOf(b, r);
  for (size_t e = 0; e < b.value_dim; e += whole::kLanes) {
    whole::V x = whole::Add(scale.Of(whole::Sub(whole::Load(sums + e), whole::Set(zero))), whole::Set(b.out_zero));
    x = whole::Max(whole::Min(x, whole::Set(127)), whole::Set(-128));
    whole::StoreBytes(x, row.out + e, b.value_dim - e);
  }
}
