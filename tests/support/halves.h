// SPDX-License-Identifier: Apache-2.0
//
// Arithmetic of halves by its definition.
#ifndef FOVEA_TESTS_SUPPORT_HALVES_H_
#define FOVEA_TESTS_SUPPORT_HALVES_H_

#include <cmath>
#include <limits>

#include "support/formats.h"

namespace fovea_test {

// a * b + c, rounded once to f16. The product of two halves has 22 bits, so in double it and the sum are exact for
// numbers that are not far apart.
inline double half_multiply_add(double a, double b, double c) {
  const double sum = a * b + c;
  const double magnitude = std::fabs(sum), infinity = std::numeric_limits<double>::infinity();
  if (magnitude >= 65520.0) return sum < 0 ? -infinity : infinity;
  int exponent;
  std::frexp(magnitude, &exponent);
  const double place = std::ldexp(1.0, (exponent < -13 ? -13 : exponent) - 11);
  return std::nearbyint(sum / place) * place;
}

// x rounded to f16.
inline double to_half(float x) { return value_of(kF16, nearest_of(kF16, x)); }

}  // namespace fovea_test

#endif  // FOVEA_TESTS_SUPPORT_HALVES_H_
