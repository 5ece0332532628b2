// SPDX-License-Identifier: Apache-2.0
//
// States as bytes that another machine can read: words of 32 bits in little-endian order, the second of which is a
// checksum.
#ifndef FOVEA_SRC_BASE_IMAGE_H_
#define FOVEA_SRC_BASE_IMAGE_H_

#include <stddef.h>
#include <stdint.h>

#include "ground/base/checksum.h"

namespace fovea {

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
