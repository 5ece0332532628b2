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

// CRC-32 of IEEE 802.3, computed with 0 for the checksum's own bytes: reflected, polynomial 0x04c11db7, four bits at a time.
inline uint32_t checksum_of(const uint8_t* image, size_t bytes) {
  static constexpr uint32_t kOfNibble[16] = {0x00000000, 0x1db71064, 0x3b6e20c8, 0x26d930ac, 0x76dc4190, 0x6b6b51f4,
                                             0x4db26158, 0x5005713c, 0xedb88320, 0xf00f9344, 0xd6d6a3e8, 0xcb61b38c,
                                             0x9b64c2b0, 0x86d3d2d4, 0xa00ae278, 0xbdbdf21c};
  uint32_t crc = 0xffffffffu;
  for (size_t i = 0; i < bytes; ++i) {
    crc ^= i - kChecksumAt < 4 ? 0 : image[i];
    crc = crc >> 4 ^ kOfNibble[crc & 15];
    crc = crc >> 4 ^ kOfNibble[crc & 15];
  }
  return ~crc;
}

inline void put_word(uint32_t word, uint8_t* bytes) {
  for (int i = 0; i < 4; ++i) bytes[i] = uint8_t(word >> 8 * i);
}
inline uint32_t word_at(const uint8_t* bytes) {
  return bytes[0] | uint32_t(bytes[1]) << 8 | uint32_t(bytes[2]) << 16 | uint32_t(bytes[3]) << 24;
}

// Copies the words of a state at [begin, end) to its image, and back. Inlined, because the loop is as short as a call.
inline void put_state(const void* state, size_t begin, size_t end, uint8_t* image) {
  for (size_t at = begin; at < end; at += 4) {
    uint32_t word;
    __builtin_memcpy(&word, static_cast<const unsigned char*>(state) + at, 4);
    put_word(word, image + at);
  }
}
[[gnu::always_inline]] inline void take_state(const uint8_t* image, size_t begin, size_t end, void* state) {
  for (size_t at = begin; at < end; at += 4) {
    const uint32_t word = word_at(image + at);
    __builtin_memcpy(static_cast<unsigned char*>(state) + at, &word, 4);
  }
}

}  // namespace fovea

#endif  // FOVEA_SRC_BASE_IMAGE_H_
