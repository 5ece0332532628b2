// SPDX-License-Identifier: Apache-2.0
//
// The checksum of images: CRC-32 of IEEE 802.3 (reflected, polynomial 0x04c11db7), with 0 for its own four bytes.
#ifndef FOVEA_SRC_BASE_CHECKSUM_H_
#define FOVEA_SRC_BASE_CHECKSUM_H_

#include <stddef.h>
#include <stdint.h>

#include "fovea/fovea_config.h"

namespace fovea {

constexpr size_t kChecksumAt = 4;
// Whether bytes of code, or 4.8 KB of stack, count for more than speed.
constexpr bool kSlowImages = config::kPreferSize || sizeof(void*) < sizeof(uint64_t);

// Remainders of each value of Bits bits followed by 0 to Places - 1 bytes of zeros.
template <int Bits, int Places>
struct Remainders {
  uint32_t of[Places][1 << Bits] = {};
  constexpr Remainders() {
    for (uint32_t value = 0; value < 1u << Bits; ++value) {
      uint32_t rest = value;
      for (int place = 0; place < Places; ++place) {
        for (int bit = 0; bit < (place ? 8 : Bits); ++bit) rest = rest >> 1 ^ (rest & 1 ? 0xedb88320u : 0);
        of[place][value] = rest;
      }
    }
  }
};

// Four bits at a time, for images of programs where size counts.
inline uint32_t small_checksum(const uint8_t* image, size_t bytes) {
  static constexpr Remainders<4, 1> kTable;
  uint32_t crc = 0xffffffffu;
  for (size_t i = 0; i < bytes; ++i) {
    crc ^= i - kChecksumAt < 4 ? 0 : image[i];
    crc = crc >> 4 ^ kTable.of[0][crc & 15];
    crc = crc >> 4 ^ kTable.of[0][crc & 15];
  }
  return ~crc;
}

// Four bytes at a time: the remainder of more data.
inline uint32_t crc_of(uint32_t crc, const void* data, size_t bytes) {
  static constexpr Remainders<8, 4> kTable;
  const auto* at = static_cast<const uint8_t*>(data);
  for (; bytes >= 4; bytes -= 4, at += 4) {
    crc ^= at[0] | uint32_t(at[1]) << 8 | uint32_t(at[2]) << 16 | uint32_t(at[3]) << 24;
    crc = kTable.of[3][crc & 255] ^ kTable.of[2][crc >> 8 & 255] ^ kTable.of[1][crc >> 16 & 255] ^
          kTable.of[0][crc >> 24];
  }
  for (; bytes > 0; --bytes, ++at) crc = crc >> 8 ^ kTable.of[0][(crc ^ *at) & 255];
  return crc;
}

// Most of a long image at the speed of a few loads, without an instruction for it: the polynomial divides 1 + y^89 +
// y^117 + y^155 + y^300, where y is x^128. So 16 bytes may be taken away if they are added to those 145, 183, 211 and 300
// places later; the last places are divided.
inline uint32_t fast_checksum(const uint8_t* image, size_t bytes) {
  typedef uint64_t Unit __attribute__((vector_size(16)));
  constexpr size_t kUnits = 300, kPeriod = kUnits * sizeof(Unit), kLater[] = {145, 183, 211, kUnits};
  Unit taken[kUnits] = {}, unit;
  // In the place of what the first unit gets from 300 units before it: the first remainder, and 0 for the checksum.
  __builtin_memset(taken, 0xff, kChecksumAt);
  __builtin_memcpy(reinterpret_cast<uint8_t*>(taken) + kChecksumAt, image + kChecksumAt, 4);
  const auto take = [&](size_t begin, size_t end, size_t a, size_t b, size_t c) {
    for (size_t i = begin; i < end; ++i) {
      __builtin_memcpy(&unit, image + i * sizeof unit, sizeof unit);
      taken[i] ^= unit ^ taken[i - a] ^ taken[i - b] ^ taken[i - c];
    }
  };
  constexpr size_t kAfter = 0 - kUnits;  // this period's places hold the period before
  for (; bytes >= 2 * kPeriod; bytes -= kPeriod, image += kPeriod) {
    take(0, 145, 145 + kAfter, 183 + kAfter, 211 + kAfter);
    take(145, 183, 145, 183 + kAfter, 211 + kAfter);
    take(183, 211, 145, 183, 211 + kAfter);
    take(211, kUnits, 145, 183, 211);
  }
  uint32_t crc = 0;
  for (size_t i = 0; bytes >= sizeof unit; ++i, bytes -= sizeof unit, image += sizeof unit) {
    __builtin_memcpy(&unit, image, sizeof unit);
    for (const size_t later : kLater) {
      if (i < later) unit ^= taken[i + kUnits - later];
    }
    crc = crc_of(crc, &unit, sizeof unit);
  }
  return ~crc_of(crc, image, bytes);
}

// Of an image of 16 bytes or more.
inline uint32_t checksum_of(const uint8_t* image, size_t bytes) {
  return kSlowImages ? small_checksum(image, bytes) : fast_checksum(image, bytes);
}

}  // namespace fovea

#endif  // FOVEA_SRC_BASE_CHECKSUM_H_
