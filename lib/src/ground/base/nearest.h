// SPDX-License-Identifier: Apache-2.0
#ifndef FOVEA_SRC_BASE_NEAREST_H_
#define FOVEA_SRC_BASE_NEAREST_H_

namespace fovea {

// The nearest integer, of two the even one, where |x| is below 2^22.
inline float nearest(float x) {
  constexpr float kBias = 12582912.0f;  // 1.5 * 2^23
  const float biased = x + kBias;
  return biased - kBias;
}

}  // namespace fovea

#endif  // FOVEA_SRC_BASE_NEAREST_H_
