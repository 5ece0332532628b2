// SPDX-License-Identifier: Apache-2.0
//
// The layers of fovea/integer_layers.h as it defines them, in the simplest way: each function computes a row.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <vector>

#include "fovea/fovea.h"

namespace fovea_test {

using CodeRow = std::vector<int8_t>;

// floor(x 2^exponent), round(x 2^exponent).
inline int64_t floor_scaled(int64_t x, int exponent) {
  if (exponent >= 0) return x * (int64_t{1} << exponent);
  return exponent < -63 ? (x < 0 ? -1 : 0) : x >> -exponent;
}
inline int64_t round_scaled(int64_t x, int exponent) {
  return exponent >= 0 ? floor_scaled(x, exponent) : (floor_scaled(x, exponent + 1) + 1) >> 1;
}
inline int8_t saturated(int64_t x, int64_t least = -128, int64_t most = 127) {
  return static_cast<int8_t>(std::min(most, std::max(least, x)));
}

inline CodeRow norm_of_codes(const fovea_integer_norm_args& a, const int8_t* x) {
  const int64_t n = a.dim;
  const bool centred = a.norm == FOVEA_NORM_LAYER;
  int64_t sum = 0, squares = 0, from_zero = 0;
  for (int64_t i = 0; i < n; ++i) {
    sum += x[i], squares += x[i] * x[i];
    from_zero += (x[i] - a.x_zero_point) * (x[i] - a.x_zero_point);
  }
  const int64_t deviation = centred ? n * squares - sum * sum : n * from_zero;
  const int64_t epsilon = floor_scaled(n * n * a.epsilon_multiplier, a.epsilon_shift - 15);
  const int64_t variance = deviation * 65536 + epsilon;
  const int64_t center = centred ? static_cast<int64_t>(std::floor(double(sum + n / 2) / double(n))) : a.x_zero_point;
  int64_t slope = 0, rest = 0;
  if (deviation != 0) {
    int j = 0;
    while (floor_scaled(variance, -2 * j) >= 1 << 24) ++j;
    while (floor_scaled(variance, -2 * j) < 1 << 22) --j;
    const int64_t v = floor_scaled(variance, -2 * j);
    int64_t root = 0;
    for (int64_t bit = int64_t{1} << 20; bit > 0; bit /= 2) {
      if (uint64_t(root + bit) * uint64_t(root + bit) * uint64_t(v) <= uint64_t{1} << 62) root += bit;
    }
    const int64_t p = floor_scaled(a.weight_multiplier * root, -20);
    slope = round_scaled(n * p, a.weight_shift - 3 - j);
    if (centred) rest = round_scaled((sum - n * center) * p, a.weight_shift - 3 - j);
  }
  CodeRow y;
  for (int64_t i = 0; i < n; ++i) {
    const int64_t product = floor_scaled((slope * (x[i] - center) - rest) * a.weight[i], -16);
    const int64_t bias = a.bias != nullptr ? a.bias[i] * 256 : 0;
    y.push_back(saturated(a.y_zero_point + round_scaled(product + bias, -15)));
  }
  return y;
}

inline CodeRow clamped(const fovea_integer_binary_args& a, const std::vector<int64_t>& y) {
  const bool all = a.activation_min == 0 && a.activation_max == 0;
  CodeRow codes;
  for (const int64_t code : y)
    codes.push_back(saturated(code, all ? -128 : a.activation_min, all ? 127 : a.activation_max));
  return codes;
}
inline CodeRow sum_of_codes(const fovea_integer_binary_args& a, const int8_t* x, const int8_t* other) {
  const int64_t of_a = round_scaled(a.a_multiplier, static_cast<int>(a.a_shift) + 16 - 31);
  const int64_t of_b =  // any number where there is no b
      other == nullptr ? 0 : round_scaled(a.b_multiplier, static_cast<int>(a.b_shift) + 16 - 31);
  std::vector<int64_t> y;
  for (uint32_t i = 0; i < a.dim; ++i) {
    const int64_t sum = (x[i] - a.a_zero_point) * of_a + (other != nullptr ? (other[i] - a.b_zero_point) * of_b : 0);
    y.push_back(a.y_zero_point + round_scaled(sum, -16));
  }
  return clamped(a, y);
}
inline CodeRow product_of_codes(const fovea_integer_binary_args& a, const int8_t* x, const int8_t* other) {
  const int k = std::max(0, static_cast<int>(a.a_shift) + 9);
  const int64_t factor = floor_scaled(a.a_multiplier, std::min(0, static_cast<int>(a.a_shift) + 9));
  std::vector<int64_t> y;
  for (uint32_t i = 0; i < a.dim; ++i) {
    const int64_t product = floor_scaled((x[i] - a.a_zero_point) * (other[i] - a.b_zero_point), k);
    y.push_back(a.y_zero_point + round_scaled(floor_scaled(product * factor, -32), -8));
  }
  return clamped(a, y);
}

inline CodeRow hard_swish_of_codes(const fovea_integer_hard_swish_args& a, const int8_t* x) {
  const int64_t three = round_scaled(a.three_multiplier, a.three_shift - 31 + 8);
  CodeRow y;
  for (uint32_t i = 0; i < a.dim; ++i) {
    const int64_t d = x[i] - a.x_zero_point, u = std::min(std::max(256 * d + three, int64_t{0}), 2 * three);
    y.push_back(saturated(a.y_zero_point + round_scaled(floor_scaled(d * u * a.out_multiplier, -32), a.out_shift - 7)));
  }
  return y;
}

// The sums over an entry's tokens of x - x_zero_point.
inline CodeRow mean_of_codes(const fovea_integer_mean_args& a, const std::vector<int64_t>& sums, int64_t tokens) {
  CodeRow y;
  int z = 0;
  int64_t g = 0;
  if (tokens != 0) {
    while (tokens << z < int64_t{1} << 30) ++z;
    const int64_t h = round_scaled(tokens << z, -15);
    g = floor_scaled(a.multiplier * (((int64_t{1} << 31) + h / 2) / h), -16);
  }
  for (const int64_t sum : sums) y.push_back(saturated(a.y_zero_point + round_scaled(g * sum, a.shift + z - 61)));
  return y;
}

}  // namespace fovea_test
