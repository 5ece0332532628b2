// SPDX-License-Identifier: Apache-2.0
//
// States as bytes that another machine can read: words of 32 bits in little-endian order, the second of which is a
// checksum.
#ifndef FOVEA_SRC_BASE_IMAGE_H_
#define FOVEA_SRC_BASE_IMAGE_H_

#include <stddef.h>
#include <stdint.h>

namespace fovea {

constexpr size_t kChecksumAt = 4;

// CRC-32 of IEEE 802.3, computed with 0 for the checksum's own bytes.
uint32_t checksum_of(const uint8_t* image, size_t bytes);

inline void put_word(uint32_t word, uint8_t* bytes) {
  for (int i = 0; i < 4; ++i) bytes[i] = uint8_t(word >> 8 * i);
}
inline uint32_t word_at(const uint8_t* bytes) {
  return bytes[0] | uint32_t(bytes[1]) << 8 | uint32_t(bytes[2]) << 16 | uint32_t(bytes[3]) << 24;
}

}  // namespace fovea

#endif  // FOVEA_SRC_BASE_IMAGE_H_
