// SPDX-License-Identifier: Apache-2.0
//
// The softmax of all-integer attention, as fovea_integer_attention is defined in fovea.h.
#ifndef FOVEA_SRC_INTEGER_SOFTMAX_INL_
#define FOVEA_SRC_INTEGER_SOFTMAX_INL_

#include "layers/integer/products.inl"

// Powers of two in steps of 1/64 octave.
constexpr int32_t kSteps = 64, kVanished = 9 * kSteps;  // steps of an octave; steps at which the code of a weight is 0

// round(255 * 2^(-i / 64)): the codes of weights.
FOVEA_IN_DATA_SECTION constexpr uint8_t kWeightCodes[kVanished + 1] = {
    255, 252, 250, 247, 244, 242, 239, 236, 234, 231, 229, 226, 224, 222, 219, 217, 214, 212, 210, 208, 205, 203, 201,
    199, 197, 195, 192, 190, 188, 186, 184, 182, 180, 178, 176, 175, 173, 171, 169, 167, 165, 164, 162, 160, 158, 157,
    155, 153, 152, 150, 148, 147, 145, 144, 142, 141, 139, 138, 136, 135, 133, 132, 130, 129, 128, 126, 125, 123, 122,
    121, 119, 118, 117, 116, 114, 113, 112, 111, 110, 108, 107, 106, 105, 104, 103, 102, 100, 99,  98,  97,  96,  95,
    94,  93,  92,  91,  90,  89,  88,  87,  86,  85,  84,  84,  83,  82,  81,  80,  79,  78,  77,  77,  76,  75,  74,
    73,  73,  72,  71,  70,  70,  69,  68,  67,  67,  66,  65,  64,  64,  63,  62,  62,  61,  60,  60,  59,  58,  58,
    57,  57,  56,  55,  55,  54,  54,  53,  52,  52,  51,  51,  50,  50,  49,  49,  48,  48,  47,  47,  46,  46,  45,
    45,  44,  44,  43,  43,  42,  42,  41,  41,  40,  40,  40,  39,  39,  38,  38,  37,  37,  37,  36,  36,  36,  35,
    35,  34,  34,  34,  33,  33,  33,  32,  32,  32,  31,  31,  31,  30,  30,  30,  29,  29,  29,  28,  28,  28,  27,
    27,  27,  27,  26,  26,  26,  25,  25,  25,  25,  24,  24,  24,  24,  23,  23,  23,  23,  22,  22,  22,  22,  21,
    21,  21,  21,  20,  20,  20,  20,  20,  19,  19,  19,  19,  19,  18,  18,  18,  18,  18,  17,  17,  17,  17,  17,
    16,  16,  16,  16,  16,  16,  15,  15,  15,  15,  15,  15,  14,  14,  14,  14,  14,  14,  14,  13,  13,  13,  13,
    13,  13,  13,  12,  12,  12,  12,  12,  12,  12,  12,  11,  11,  11,  11,  11,  11,  11,  11,  10,  10,  10,  10,
    10,  10,  10,  10,  10,  9,   9,   9,   9,   9,   9,   9,   9,   9,   9,   9,   8,   8,   8,   8,   8,   8,   8,
    8,   8,   8,   8,   7,   7,   7,   7,   7,   7,   7,   7,   7,   7,   7,   7,   7,   6,   6,   6,   6,   6,   6,
    6,   6,   6,   6,   6,   6,   6,   6,   6,   6,   5,   5,   5,   5,   5,   5,   5,   5,   5,   5,   5,   5,   5,
    5,   5,   5,   5,   5,   4,   4,   4,   4,   4,   4,   4,   4,   4,   4,   4,   4,   4,   4,   4,   4,   4,   4,
    4,   4,   4,   4,   4,   3,   3,   3,   3,   3,   3,   3,   3,   3,   3,   3,   3,   3,   3,   3,   3,   3,   3,
    3,   3,   3,   3,   3,   3,   3,   3,   3,   3,   3,   3,   3,   3,   2,   2,   2,   2,   2,   2,   2,   2,   2,
    2,   2,   2,   2,   2,   2,   2,   2,   2,   2,   2,   2,   2,   2,   2,   2,   2,   2,   2,   2,   2,   2,   2,
    2,   2,   2,   2,   2,   2,   2,   2,   2,   2,   2,   2,   2,   2,   2,   1,   1,   1,   1,   1,   1,   1,   1,
    1,   1,   1,   1,   1,   1,   1,   1,   1,   1,   1,   1,   1,   1,   1,   1,   1,   1,   1,   1,   1,   1,   1,
    1,   1,   1,   1,   1,   1,   1,   1,   1,   1,   1,   1,   1,   1,   1,   1,   1,   1,   1,   1,   1,   1,   1,
    1,   1,   1,   1,   1,   1,   1,   1,   1,   1,   1,   1,   1,   1,   1,   1,   1,   1,   1,   1,   1,   1,   1,
    1,   1,   1,   1,   1,   1,   1,   1,   1,   1,   1,   1,   1,   1,   1,   1,   1,   1,   1,   1,   1,   1,   1,
    1,   0,
};

// round(2^(31 - i / 64)), at most 2^31 - 1: factors of sums.
FOVEA_IN_DATA_SECTION constexpr int32_t kFactors[kSteps] = {
    2147483647, 2124350982, 2101467502, 2078830522, 2056437387, 2034285470, 2012372174, 1990694927,
    1969251188, 1948038440, 1927054196, 1906295993, 1885761398, 1865448001, 1845353420, 1825475297,
    1805811301, 1786359126, 1767116489, 1748081133, 1729250827, 1710623359, 1692196547, 1673968228,
    1655936265, 1638098541, 1620452965, 1602997467, 1585730000, 1568648537, 1551751076, 1535035634,
    1518500250, 1502142985, 1485961921, 1469955159, 1454120821, 1438457051, 1422962010, 1407633882,
    1392470869, 1377471191, 1362633090, 1347954824, 1333434672, 1319070932, 1304861917, 1290805962,
    1276901417, 1263146652, 1249540052, 1236080024, 1222764986, 1209593378, 1196563654, 1183674286,
    1170923762, 1158310587, 1145833280, 1133490379, 1121280436, 1109202018, 1097253708, 1085434106,
};

constexpr int32_t kFactorOne = 0x7fffffff;  // a factor of 1: it changes no number below 2^30
constexpr uint32_t kMostSum = 1u << 30;     // a larger sum is halved before weights are added to it
constexpr int kMostStepShift = 12;          // then a score that is lower by 1 has a weight of 0 already

// round(x * multiplier * 2^(exponent - 31)), where that is below 2^27; else at least 2^27.
struct IntegerScale {
  int32_t multiplier, limit;
  int left, right;

  IntegerScale(int32_t factor, int exponent) : multiplier(factor) {
    left = exponent > -2 ? exponent + 2 : 0;
    right = exponent > -2 ? 1 : -1 - exponent;
    limit = INT32_MAX >> left;
  }
  // kSmall: left is 0. Below requires x >= 0; Of takes any x.
  template <bool kSmall>
  FOVEA_MEMBER integers::V Below(integers::V x) const {
    if (!kSmall) x = integers::ShiftLeft(integers::Min(x, integers::Set(limit)), left);
    return integers::ShiftRound(integers::MulHigh(x, multiplier), right);
  }
  template <bool kSmall>
  FOVEA_MEMBER integers::V Of(integers::V x) const {
    return Below<kSmall>(kSmall ? x : integers::Max(x, integers::Set(-limit)));
  }
};
// Whether loops have a version for small scales, as nearly all are.
constexpr bool kSmallScales = !kIntegerPrefersSize;

// The exponent that turns scores into steps.
FOVEA_INLINE int StepExponent(const IntegerBlock& b) {
  return b.score_shift + 6 < kMostStepShift ? b.score_shift + 6 : kMostStepShift;
}
FOVEA_INLINE int64_t StepsOf(const IntegerBlock& b, int32_t score) {
  const int64_t twice = (int64_t(score) * b.score_multiplier) >> (30 - StepExponent(b));
  return (twice + 1) >> 1;
}
// 2^-steps, as a factor.
FOVEA_INLINE int32_t FactorOf(uint64_t steps) {
  if (steps >= 31 * kSteps) return 0;
  return kFactors[uint32_t(steps) % kSteps] >> (uint32_t(steps) / kSteps);
}
FOVEA_INLINE uint32_t ScaledSum(uint32_t sum, int32_t factor) {
  return uint32_t((uint64_t(sum) * uint32_t(factor) + (1u << 30)) >> 31);
}

constexpr size_t kNextScores = kIntegerScoreStep * integers::kLanes;  // from a vector of a row's scores to the next
FOVEA_INLINE int32_t LargestOf(const int32_t* scores, uint32_t vectors) {
  integers::V largest = integers::Load(scores);
  FOVEA_UNROLL_LONG_LOOP(4)
  for (; vectors > 0; --vectors, scores += kNextScores) largest = integers::Max(largest, integers::Load(scores));
  return integers::LargestLane(largest);
}
template <bool kSmall>
FOVEA_INLINE void WeighScores(const IntegerScale& steps, const int32_t* scores, int32_t largest, uint32_t groups,
                              WeightCode* to) {
  for (; groups > 0; --groups, to += kNextWeights) {
    integers::V codes[kWeightVectors];
    FOVEA_UNROLL(2)
    for (size_t v = 0; v < kWeightVectors; ++v, scores += kNextScores) {
      const integers::V below = steps.Below<kSmall>(integers::Sub(integers::Set(largest), integers::Load(scores)));
      codes[v] = integers::Lookup(kWeightCodes, integers::Min(below, integers::Set(kVanished)));
    }
    StoreWeights(codes, to);
  }
}
FOVEA_SHARED void HideRange(const IntegerBlock& b, uint32_t r, uint32_t begin, uint32_t end) {
  for (; begin < end; ++begin) HideWeight(b, r, begin);
}

// Computes the weights of the keys [lo, hi) of the tile, of which there is one at least. Returns the largest score.
FOVEA_CALLED int32_t WeighKeys(const IntegerBlock& b, uint32_t r, uint32_t lo, uint32_t hi) {
  constexpr uint32_t kAtOnce = uint32_t(kWeightVectors * integers::kLanes);
  const uint32_t begin = lo / kAtOnce * kAtOnce, end = hi + (0u - hi) % kAtOnce;
  int32_t* const scores = ScoresOf(b, r) + begin * kIntegerScoreStep;
  const int32_t seen = scores[(lo - begin) * kIntegerScoreStep];
  for (uint32_t j = begin; j < lo; ++j) scores[(j - begin) * kIntegerScoreStep] = seen;
  for (uint32_t j = hi; j < end; ++j) scores[(j - begin) * kIntegerScoreStep] = seen;
  const int32_t largest = LargestOf(scores, (end - begin) / uint32_t(integers::kLanes));
  const IntegerScale steps(b.score_multiplier, StepExponent(b));
  if (kSmallScales && steps.left == 0) {
    WeighScores<true>(steps, scores, largest, (end - begin) / kAtOnce, WeightsOf(b, r, begin));
  } else {
    WeighScores<false>(steps, scores, largest, (end - begin) / kAtOnce, WeightsOf(b, r, begin));
  }
  return largest;
}
// Updates the sums of a row for the weights of a tile, in which `largest` is the largest score that it sees.
FOVEA_SHARED void GoOn(const IntegerBlock& b, uint32_t r, int32_t largest, uint32_t read) {
  IntegerRow& row = b.arrays.rows[r];
  const int64_t of_tile = StepsOf(b, largest);
  int64_t reference = of_tile;
  row.kept = 0;
  if (row.sum != 0) {
    const int64_t least = row.reference + (row.sum > kMostSum ? kSteps : 0);
    if (reference < least) reference = least;
    row.kept = FactorOf(uint64_t(reference - row.reference));
  }
  row.taken = FactorOf(uint64_t(reference - of_tile));
  row.reference = reference;
  row.sum = ScaledSum(row.sum, row.kept) + ScaledSum(SumOfWeights(b, r, read) << 14, row.taken);
}

// Computes the weights of a row. It sees the keys [lo, hi) of the tile; the products read those of `read` keys.
FOVEA_INLINE void WeighRow(const IntegerBlock& b, uint32_t r, uint32_t lo, uint32_t hi, uint32_t read) {
  IntegerRow& row = b.arrays.rows[r];
  if (lo < hi) {
    const int32_t largest = WeighKeys(b, r, lo, hi);
    HideRange(b, r, 0, lo);
    HideRange(b, r, hi, read);
    GoOn(b, r, largest, read);
  } else {
    HideRange(b, r, 0, read);
    row.kept = row.sum == 0 ? 0 : kFactorOne, row.taken = row.sum == 0 ? kFactorOne : 0;
  }
}

// What turns sums into outputs: out_multiplier * 2^(out_shift - 31) / sum. The inverse of the sum has 16 bits, since
// many processors have no division of more than 32.
FOVEA_INLINE IntegerScale OutScale(const IntegerBlock& b, uint32_t sum) {
  int zeros = 0;  // few: a row's sum has a weight of 255 in it
  for (; sum < 1u << 27; sum <<= 4) zeros += 4;
  for (; sum < 1u << 30; sum <<= 1) ++zeros;
  const uint32_t upper = (sum + (1u << 14)) >> 15;  // 2^15 to 2^16
  const uint32_t inverse = ((1u << 31) + upper / 2) / upper;
  const int exponent = b.out_shift + zeros - 22;
  return IntegerScale(int32_t((uint64_t(uint32_t(b.out_multiplier)) * inverse) >> 16), exponent > -32 ? exponent : -32);
}

template <bool kSmall>
FOVEA_INLINE void StoreOut(const IntegerScale& scale, const int32_t* sums, int32_t zero, int32_t out_zero_point,
                           int8_t* out, size_t dim) {
  const auto next = [&] {
    const integers::V x = scale.Of<kSmall>(integers::Sub(integers::Load(sums), integers::Set(zero)));
    sums += integers::kLanes;
    return integers::Saturate(integers::Add(x, integers::Set(out_zero_point)));
  };
  FOVEA_UNROLL_LONG_LOOP(4)
  for (size_t vectors = dim / integers::kLanes; vectors > 0; --vectors, out += integers::kLanes) {
    integers::StoreBytes(next(), out);
  }
  if (dim % integers::kLanes != 0) integers::StoreSomeBytes(next(), out, dim % integers::kLanes);
}
FOVEA_CALLED void EndRow(const IntegerBlock& b, uint32_t r) {
  const IntegerRow& row = b.arrays.rows[r];
  if (row.sum == 0) {
    __builtin_memset(row.out, b.out_zero_point, b.value_dim);
    return;
  }
  const IntegerScale scale = OutScale(b, row.sum);
  const int32_t zero = b.value_zero_point * int32_t((row.sum + 128) >> 8);
  if (kSmallScales && scale.left == 0) {
    StoreOut<true>(scale, SumsOf(b, r), zero, b.out_zero_point, row.out, b.value_dim);
  } else {
    StoreOut<false>(scale, SumsOf(b, r), zero, b.out_zero_point, row.out, b.value_dim);
  }
}

#endif  // FOVEA_SRC_INTEGER_SOFTMAX_INL_
