// SPDX-License-Identifier: Apache-2.0
//
// Facts about numbers, and functions of them that use neither libm nor double.
#ifndef FOVEA_SRC_BASE_NUMBERS_H_
#define FOVEA_SRC_BASE_NUMBERS_H_

#include <stdint.h>

namespace fovea {

// Neither NaN nor infinite.
inline bool is_finite(float x) { return x - x == 0.0f; }

// x, or NaN if x is infinite.
inline float finite_or_nan(float x) { return x + (x - x); }

constexpr float kLeastNormal = 0x1p-126f;
// Whether a number can be a scale of codes: the inverse of a larger one is subnormal, which 32-bit Arm's vectors treat as 0.
inline bool is_scale(float x) { return x >= kLeastNormal && x <= 0x1p126f; }

// An element of an added mask hides its key if it is not above this: -FLT_MAX / 2, and in f16 the lowest number.
constexpr float kHidingMask = -1.70141173e38f, kHidingMaskF16 = -65504.0f;

// Whether a zero point is a code of a tensor of I8.
inline bool is_i8_code(int32_t zero) { return zero >= INT8_MIN && zero <= INT8_MAX; }

// Whether a number is in the form that fovea_integer_multiplier gives, and its shift in a range.
inline bool is_multiplier(int32_t multiplier, int32_t shift, int32_t least = -31, int32_t most = 31) {
  return multiplier >= 1 << 30 && shift >= least && shift <= most;
}

// The nearest integer, of two the even one, where |x| is below 2^22.
inline float nearest(float x) {
  constexpr float kBias = 12582912.0f;  // 1.5 * 2^23
  const float biased = x + kBias;
  return biased - kBias;
}

// 1 / sqrt(x) for x >= 1, to the nearest float. It uses neither libm nor double, which an M4F lacks. It finds the root
// bit by bit, as one does by hand: root is the integer part of 2^k / sqrt(x), rest is 4^k - root^2 x.
inline float inverse_square_root(uint32_t x) {
  uint64_t root = x == 1, rest = x != 1;
  float unit = 1.0f;         // 2^-k
  while (root >> 24 == 0) {  // 24 bits, and one to round by
    unit *= 0.5f;
    root *= 2;
    rest *= 4;
    const uint64_t step = (2 * root + 1) * x;
    if (step > rest) continue;
    rest -= step;
    ++root;
  }
  return float(uint32_t((root + 1) / 2)) * (2.0f * unit);
}

}  // namespace fovea

#endif  // FOVEA_SRC_BASE_NUMBERS_H_
