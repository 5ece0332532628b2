// SPDX-License-Identifier: Apache-2.0
//
// A file of its own, so that programs with their own tables do not link it. Only integers: a processor without double
// precision needs only multiplications.
#include "ground/base/arithmetic.h"
#include "fovea/fovea.h"
#include "ground/base/buffers.h"

namespace fovea {
namespace {

// Doubles are compared as bits, which for positive numbers have the same order.
uint64_t bits_of(double x) {
  uint64_t bits;
  __builtin_memcpy(&bits, &x, sizeof bits);
  return bits;
}

fovea_status check(const uint64_t* turns, double base, double position_scale, uint32_t rotary_dim) {
  const uint64_t base_bits = bits_of(base), scale_bits = bits_of(position_scale);
  if (base_bits && (base_bits < bits_of(1.0) || base_bits >= bits_of(__builtin_inf()))) return FOVEA_ERR_NUMBER;
  if (scale_bits > bits_of(1.0)) return FOVEA_ERR_NUMBER;
  if (rotary_dim == 0 || rotary_dim % 2 != 0) return FOVEA_ERR_DIM;
  if (!turns) return FOVEA_ERR_NULL;
  return is_aligned_to_element(turns, sizeof(uint64_t)) ? FOVEA_OK : FOVEA_ERR_ALIGNMENT;
}

// A positive number, mantissa * 2^exponent, with the mantissa's top bit set.
struct Wide {
  uint64_t mantissa;
  int64_t exponent;
};

constexpr uint64_t kTopBit = uint64_t(1) << 63;
constexpr Wide kWideOne = {kTopBit, -63};
constexpr Wide kDefaultBase = {uint64_t(10000) << 50, -50};
constexpr Wide kTurnsOfRadian = {0xa2f9836e4e44152a, -66};  // 1 / (2 pi)

Wide wide_of(double x, Wide instead_of_zero) {
  const uint64_t bits = bits_of(x);
  return bits ? Wide{bits << 11 | kTopBit, int64_t(bits >> 52) - (1023 + 63)} : instead_of_zero;
}

// Rounded down, so that a larger factor never gives a smaller product.
Wide multiply(Wide x, Wide y) {
  const uint64_t x0 = uint32_t(x.mantissa), x1 = x.mantissa >> 32;
  const uint64_t y0 = uint32_t(y.mantissa), y1 = y.mantissa >> 32;
  const uint64_t low = x0 * y0, middle = x1 * y0 + (low >> 32), other_middle = x0 * y1 + uint32_t(middle);
  const uint64_t high = x1 * y1 + (middle >> 32) + (other_middle >> 32);
  const int64_t exponent = x.exponent + y.exponent + 64;
  if (high & kTopBit) return {high, exponent};
  return {high << 1 | (other_middle >> 31 & 1), exponent - 1};
}

Wide power(Wide x, uint32_t n) {
  Wide result = kWideOne;
  for (; n; n >>= 1) {
    if (n & 1) result = multiply(result, x);
    x = multiply(x, x);
  }
  return result;
}

bool above_one(Wide x) { return x.exponent > -63 || (x.exponent == -63 && x.mantissa > kTopBit); }

// base^(-1/n), found bit by bit.
Wide inverse_root(Wide base, uint32_t n) {
  Wide root = kWideOne;
  while (above_one(multiply(power(root, n), base))) --root.exponent;
  for (uint64_t bit = kTopBit >> 1; bit; bit >>= 1) {
    const Wide larger = {root.mantissa | bit, root.exponent};
    if (!above_one(multiply(power(larger, n), base))) root = larger;
  }
  return root;
}

// x < 1/2 in units of 2^-64, rounded to nearest.
uint64_t fraction_bits(Wide x) {
  const int64_t shift = -64 - x.exponent;
  return shift > 64 ? 0 : ((x.mantissa >> (shift - 1)) + 1) >> 1;
}

void find_turns(uint64_t* turns, double base, double position_scale, uint32_t rotary_dim) {
  const uint32_t pairs = rotary_dim / 2;
  const Wide ratio = inverse_root(wide_of(base, kDefaultBase), pairs);
  Wide frequency = multiply(kTurnsOfRadian, wide_of(position_scale, kWideOne));
  for (uint32_t i = 0; i < pairs; ++i) {
    turns[i] = fraction_bits(frequency);
    frequency = multiply(frequency, ratio);
  }
}

}  // namespace
}  // namespace fovea

extern "C" fovea_status fovea_rope_frequencies(uint64_t* turns, double base, double position_scale,
                                               uint32_t rotary_dim) {
  const fovea_status status = fovea::check(turns, base, position_scale, rotary_dim);
  if (status == FOVEA_OK) fovea::find_turns(turns, base, position_scale, rotary_dim);
  return status;
}
