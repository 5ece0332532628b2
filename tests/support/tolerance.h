// SPDX-License-Identifier: Apache-2.0
//
// Every tolerance of the tests, in epsilons of f32 (2^-23), with its reason. A result may differ from the double
// reference by what single precision explains, and by no more; a wrong key, head or stride is off by 10^5 times as
// much.
#ifndef FOVEA_TESTS_SUPPORT_TOLERANCE_H_
#define FOVEA_TESTS_SUPPORT_TOLERANCE_H_

#include <algorithm>
#include <cfloat>
#include <cmath>
#include <cstddef>

namespace fovea_test {

constexpr double kEpsilon = FLT_EPSILON;

// Numbers below the smallest normal one may be flushed, and a weight below it is 0: differences of this size mean
// nothing.
constexpr double kTiny = 2.0 * FLT_MIN;

// Absolute error of one score before the bias. `magnitude` is |scale| * sum_d |q[d] * k[d]|: the partial sums are not
// larger. A chain of head_dim multiply-adds loses at most head_dim / 2 epsilons of it, and roundings of both signs
// leave about sqrt(head_dim); 3 are for the rounding of scale, of log2(e) and of the query times both.
inline double score_error(double magnitude, size_t head_dim) {
  return kEpsilon * magnitude * (3.0 + std::sqrt(static_cast<double>(head_dim)));
}

// The same of an additive score, where `magnitude` is |scale| * sum_d |v[d]|. 2 more are for tanh, of 1.5 ulp, and for
// the rounding of q[d] + k[d], of which tanh leaves a quarter at most.
inline double additive_error(double magnitude, size_t head_dim) {
  return score_error(magnitude, head_dim) + kEpsilon * 2.0 * magnitude;
}

// What a softcap adds: a division and a product by it, and a tanh of 2 ulp, of a result that is neither above the
// softcap nor above the score.
inline double softcap_error(double capped) { return kEpsilon * 4.0 * std::fabs(capped); }

// What an added bias (mask or ALiBi) adds: the rounding of the bias itself in base 2, and the rounding of the sum.
inline double bias_error(double bias, double sum) { return kEpsilon * (2.0 * std::fabs(bias) + std::fabs(sum)); }

// Sums of n positive terms in chains, and exp2 of 1 to 2 ulp, as a relative error.
inline double sum_error(size_t terms) { return kEpsilon * (6.0 + std::sqrt(static_cast<double>(terms))); }

// Absolute error of an output element. A score that is off by e makes its weight wrong by the factor 1 + e, in the
// numerator and in the sum. `weighted_score_error` is the mean of the keys' score errors, by weight; `largest_value`
// the largest |value| that the query sees.
inline double out_tolerance(double weighted_score_error, double largest_value, size_t visible_keys) {
  return kTiny + largest_value * (2.0 * weighted_score_error + 2.0 * sum_error(visible_keys));
}

// The relative error of the shorter exp2 between integer products: of each weight, and of their sum. Their scores are
// as exact as others, since the reference takes the rows that queries and keys are converted to.
constexpr double kShortExp2Error = 1.2e-4;

// What the rounding of the weights of a key tile adds to the error of an output element. A weight times the scale of
// its value row is rounded to a multiple of the 255th part of the largest such product, `top`; `codes` is the sum of
// the codes of the element over the keys, in size. One part in 500 is for the other roundings.
inline double rounded_weights_error(double top, double codes) { return top * codes * (0.501 / 255.0); }

// The least top: values so small that all products are below it become 0.
constexpr double kLeastTop = 0x1p-116;

// Absolute error of the log of the sum: the relative error of the sum, and the roundings of max + log in base 2 and in
// base e.
inline double lse_tolerance(double weighted_score_error, double lse, size_t visible_keys) {
  if (std::isinf(lse)) return 0.0;
  return kTiny + weighted_score_error + sum_error(visible_keys) + kEpsilon * 3.0 * std::fabs(lse);
}

// Absolute error of a weight w = exp(x - lse): relative to w by the errors of x and lse and the rounding of their
// difference.
inline double weight_tolerance(double weight, double error_of_score, double error_of_lse, double score, double lse) {
  const double difference = std::isfinite(score) && std::isfinite(lse) ? std::fabs(score) + std::fabs(lse) : 0.0;
  return kTiny + weight * (error_of_score + error_of_lse + kEpsilon * (4.0 + 2.0 * difference));
}

// Absolute error of a score that is written out: its own and the way back from base 2.
inline double score_tolerance(double error_of_score, double score) {
  return kTiny + error_of_score + kEpsilon * 2.0 * std::fabs(score);
}

// Softmax of a plain array. x = scale * in + mask is computed by one multiply-add or two roundings; exp has 3 ulp
// (fovea.h), the sum half an ulp for each doubling of the axis.
inline double softmax_tolerance(double weight, double magnitude_of_x, size_t axis) {
  const double doublings = std::log2(static_cast<double>(std::max<size_t>(axis, 2)));
  return kTiny + weight * kEpsilon * (4.0 + doublings + 2.0 * magnitude_of_x);
}

// The same for its logarithm, which is as large as the difference to the maximum.
inline double log_softmax_tolerance(double log_weight, double magnitude_of_x, size_t axis) {
  const double doublings = std::log2(static_cast<double>(std::max<size_t>(axis, 2)));
  return kTiny + kEpsilon * (4.0 + doublings + 2.0 * magnitude_of_x + 2.0 * std::fabs(log_weight));
}

// Absolute error of cos and sin of an angle that is known exactly (fovea.h states 2e-7).
constexpr double kTurnError = 1.5e-7;

// Absolute error of an element of a pair (a, b) that is turned: a product is rounded, then a sum; where multiply-adds
// are not fused, the other product too. `angle_error` is the error of cos and sin.
inline double rope_tolerance(double a, double b, double angle_error) {
  return kTiny + (std::fabs(a) + std::fabs(b)) * (angle_error + 1.5 * kEpsilon);
}

// Absolute error of an output of a linear layer. `magnitude` is |bias| + sum_i |x[i] * w[i]|: see score_error. 2 are
// for the rounding of a weight that has a scale, and for the bias.
inline double linear_tolerance(double magnitude, size_t in_dim) {
  return kTiny + kEpsilon * magnitude * (2.0 + std::sqrt(static_cast<double>(in_dim)));
}

// Absolute error of what comes of some tens of keys whose scores are sums of some tens of projected numbers, all of
// them near 1. What is measured is below 10.
constexpr double kProjectedError = 20.0 * kEpsilon;

// Absolute error of an output of a multi-head layer, or of a weight, whose largest number is this: sums over a few tens
// of numbers of its projections, scores, values and output, one after the other. What is measured is below 6.
inline double multihead_tolerance(double largest) { return kEpsilon * 10.0 * largest; }

// How much larger than its tolerance a difference must be, to show that an option has an effect that a test can see.
constexpr double kVisibleEffect = 100.0;

}  // namespace fovea_test

#endif  // FOVEA_TESTS_SUPPORT_TOLERANCE_H_
