// SPDX-License-Identifier: Apache-2.0
//
// Conversions between numbers and their bits.
#ifndef FOVEA_TESTS_SUPPORT_BITS_H_
#define FOVEA_TESTS_SUPPORT_BITS_H_

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <vector>

namespace fovea_test {

inline uint32_t bits_of(float x) {
  uint32_t bits;
  std::memcpy(&bits, &x, sizeof bits);
  return bits;
}

inline float float_of(uint32_t bits) {
  float x;
  std::memcpy(&x, &bits, sizeof x);
  return x;
}

inline bool same_bits(const std::vector<float>& a, const std::vector<float>& b) {
  return a.size() == b.size() && (a.empty() || std::memcmp(a.data(), b.data(), a.size() * sizeof(float)) == 0);
}

}  // namespace fovea_test

#endif  // FOVEA_TESTS_SUPPORT_BITS_H_
