// SPDX-License-Identifier: Apache-2.0
#ifndef FOVEA_SRC_BASE_INVERSE_SQUARE_ROOT_H_
#define FOVEA_SRC_BASE_INVERSE_SQUARE_ROOT_H_

#include <stdint.h>

namespace fovea {

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

#endif  // FOVEA_SRC_BASE_INVERSE_SQUARE_ROOT_H_
