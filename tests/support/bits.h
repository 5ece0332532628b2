// SPDX-License-Identifier: Apache-2.0
//
// Conversions between numbers and their bits.
#pragma once

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

// CRC-32 of IEEE 802.3, of an image whose checksum, at byte 4, counts as 0.
inline uint32_t crc_of(std::vector<uint8_t> image) {
  std::memset(&image.at(4), 0, 4);
  uint32_t crc = 0xffffffffu;
  for (const uint8_t byte : image) {
    crc ^= byte;
    for (int bit = 0; bit < 8; ++bit) crc = crc >> 1 ^ (crc & 1 ? 0xedb88320u : 0u);
  }
  return ~crc;
}

constexpr uint64_t kHashOfNothing = 0xcbf29ce484222325u;

// FNV-1a (Fowler, Noll, Vo) of bytes.
inline uint64_t hash_bytes(const uint8_t* data, size_t bytes) {
  uint64_t hash = kHashOfNothing;
  for (size_t i = 0; i < bytes; ++i) hash = (hash ^ data[i]) * 0x100000001b3u;
  return hash;
}

// The same over 32-bit words.
inline uint64_t hash_bits(uint64_t hash, const std::vector<float>& values) {
  for (const float& value : values) hash = (hash ^ bits_of(value)) * 0x100000001b3u;
  return hash;
}

}  // namespace fovea_test
