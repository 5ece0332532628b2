// SPDX-License-Identifier: Apache-2.0
//
// Every tolerance of the tests, in epsilons of f32 (2^-23), with its reason. A result may differ from the double
// reference only by the rounding errors of single precision; a wrong key, head or stride makes 10^5 times as large an
// error.
#pragma once

#include <algorithm>
#include <cfloat>
#include <cmath>
#include <cstddef>

namespace fovea_test {

constexpr double kEpsilon = FLT_EPSILON;

// Numbers below the smallest normal one may be flushed, and a weight below it is 0: differences of this size are
// ignored.
constexpr double kTiny = 2.0 * FLT_MIN;

// Absolute error of one score before the bias. `magnitude` is |scale| * sum_d |q[d] * k[d]|: no partial sum is larger.
// The error of a chain of head_dim multiply-adds is at most head_dim / 2 epsilons of it; because roundings have both
// signs it is about sqrt(head_dim). 3 are for the rounding of scale, of log2(e) and of the query times both.
inline double score_error(double magnitude, size_t head_dim) {
  return kEpsilon * magnitude * (3.0 + std::sqrt(static_cast<double>(head_dim)));
}

// The same of an additive score, where `magnitude` is |scale| * sum_d |v[d]|. 3.5 more are for the 3e-7 of tanh, and
// for the rounding of q[d] + k[d], of which at most a quarter remains after tanh.
inline double additive_error(double magnitude, size_t head_dim) {
  return score_error(magnitude, head_dim) + kEpsilon * 3.5 * magnitude;
}

// The error of a softcap: a division and a product by it, and a tanh of 5e-7. The result is at most the softcap and at
// most the score.
inline double softcap_error(double capped) { return kEpsilon * 6.2 * std::fabs(capped); }

// The error of an added bias (mask or ALiBi): the rounding of the bias itself in base 2, and the rounding of the sum.
inline double bias_error(double bias, double sum) { return kEpsilon * (2.0 * std::fabs(bias) + std::fabs(sum)); }

// Sums of n positive terms in chains, and exp2 of 1 to 2 ulp, as a relative error.
inline double sum_error(size_t terms) { return kEpsilon * (6.0 + std::sqrt(static_cast<double>(terms))); }

// Absolute error of an output element. An error e of a score multiplies its weight by 1 + e, in the
// numerator and in the sum. `weighted_score_error` is the mean of the keys' score errors, by weight; `largest_value`
// the largest |value| that the query sees.
inline double out_tolerance(double weighted_score_error, double largest_value, size_t visible_keys) {
  return kTiny + largest_value * (2.0 * weighted_score_error + 2.0 * sum_error(visible_keys));
}

// The relative error of the shorter exp2 between integer products: of each weight, and of their sum. Scores have no
// other error than in f32, since the reference uses the rows that queries and keys are converted to.
constexpr double kShortExp2Error = 1.2e-4;

// The error that a chain of up to 32 multiply-adds in halves adds to one in f32: each rounds by 2^-11 of a sum of at
// most `magnitude`, and one factor of each product is rounded by as much. The errors have both signs.
inline double half_error(double magnitude) { return magnitude * 0x1p-11 * (1.0 + 5.7); }
// Elements of queries, times the scale, and products below 2^-14 are rounded to a multiple of 2^-24.
inline double small_halves_error(const float* key, size_t dim) {
  double sum = 0;
  for (size_t d = 0; d < dim; ++d) sum += 0x1p-25 * (1.0 + std::fabs(double{key[d]}));
  return sum;
}
// The same for a sum of values. A weight below 2^-14 is rounded to a multiple of 2^-24, as are products.
inline double half_values_error(double largest_value, size_t visible_keys) {
  return half_error(largest_value) + 0x1p-24 * (1.0 + largest_value) * static_cast<double>(visible_keys);
}

// The error of an output element by the rounding of the weights of a key tile. A weight times the scale of its value
// row is rounded to a multiple of 1/255 of the largest such product, `top`; `codes` is the sum, over the keys, of the
// absolute values of the element's codes. One part in 500 is for the other roundings.
inline double rounded_weights_error(double top, double codes) { return top * codes * (0.501 / 255.0); }

// The smallest top: if all products are below it they become 0.
constexpr double kLeastTop = 0x1p-116;

// Absolute error of lse: the relative error of the sum, and the roundings of max + log in base 2 and in base e.
inline double lse_tolerance(double weighted_score_error, double lse, size_t visible_keys) {
  if (std::isinf(lse)) return 0.0;
  return kTiny + weighted_score_error + sum_error(visible_keys) + kEpsilon * 3.0 * std::fabs(lse);
}

// Absolute error of a weight w = exp(x - lse): w times the errors of x, of lse and of the rounding of their difference.
inline double weight_tolerance(double weight, double error_of_score, double error_of_lse, double score, double lse) {
  const double difference = std::isfinite(score) && std::isfinite(lse) ? std::fabs(score) + std::fabs(lse) : 0.0;
  return kTiny + weight * (error_of_score + error_of_lse + kEpsilon * (4.0 + 2.0 * difference));
}

// Absolute error of a score that is an output: its own and that of the conversion from base 2.
inline double score_tolerance(double error_of_score, double score) {
  return kTiny + error_of_score + kEpsilon * 2.0 * std::fabs(score);
}

// Softmax of a plain array. x = scale * in + mask is computed by one multiply-add or two roundings; exp has 3 ulp
// (fovea.h), the sum half an ulp for each doubling of the axis.
inline double softmax_tolerance(double weight, double magnitude_of_x, size_t axis) {
  const double doublings = std::log2(static_cast<double>(std::max<size_t>(axis, 2)));
  return kTiny + weight * kEpsilon * (4.0 + doublings + 2.0 * magnitude_of_x);
}

// The same for its logarithm, whose size is about the difference from the maximum.
inline double log_softmax_tolerance(double log_weight, double magnitude_of_x, size_t axis) {
  const double doublings = std::log2(static_cast<double>(std::max<size_t>(axis, 2)));
  return kTiny + kEpsilon * (4.0 + doublings + 2.0 * magnitude_of_x + 2.0 * std::fabs(log_weight));
}

// Absolute error of cos and sin of an angle that is known exactly (fovea.h states 2e-7).
constexpr double kTurnError = 1.5e-7;

// Absolute error of an element of a pair (a, b) that is rotated: the roundings of a product and of a sum and, where
// multiply-adds are not fused, of the other product. `angle_error` is the error of cos and sin.
inline double rope_tolerance(double a, double b, double angle_error) {
  return kTiny + (std::fabs(a) + std::fabs(b)) * (angle_error + 1.5 * kEpsilon);
}

// Absolute error of an output of a linear layer. `magnitude` is |bias| + sum_i |x[i] * w[i]|: see score_error. 2 are
// for the rounding of a weight that has a scale, and for the bias.
inline double linear_tolerance(double magnitude, size_t in_dim) {
  return kTiny + kEpsilon * magnitude * (2.0 + std::sqrt(static_cast<double>(in_dim)));
}

// Absolute error of an output of a multi-head layer, or of a weight; `largest` is the largest number. Projections,
// scores, values and output are sums over a few tens of numbers. The measured error is below 6.
inline double multihead_tolerance(double largest) { return kEpsilon * 10.0 * largest; }

// An option's effect counts as visible if it is this many times the tolerance.
constexpr double kVisibleEffect = 100.0;

}  // namespace fovea_test
