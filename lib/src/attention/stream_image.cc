// SPDX-License-Identifier: Apache-2.0
#include "attention/stream_image.h"

namespace fovea {
namespace {

constexpr size_t kChecksumAt = offsetof(fovea_state, checksum);

// CRC-32 of IEEE 802.3 (reflected, polynomial 0x04c11db7), four bits at a time, with the checksum's own bytes as 0.
uint32_t checksum_of(const uint8_t* image, size_t bytes) {
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

void put_word(uint32_t word, uint8_t* bytes) {
  for (int i = 0; i < 4; ++i) bytes[i] = uint8_t(word >> 8 * i);
}
uint32_t word_at(const uint8_t* bytes) {
  return bytes[0] | uint32_t(bytes[1]) << 8 | uint32_t(bytes[2]) << 16 | uint32_t(bytes[3]) << 24;
}

// The words behind the header: as they are, whatever type they are of.
constexpr size_t kWords = sizeof(fovea_state) / 4;

}  // namespace

void write_image(const fovea_state& state, size_t bytes, uint8_t* image) {
  const uint32_t header[kWords] = {state.magic,
                                   0,
                                   state.batch,
                                   state.q_heads,
                                   state.kv_heads,
                                   state.q_tokens,
                                   state.value_dim,
                                   0,
                                   uint32_t(uint64_t(state.next_key)),
                                   uint32_t(uint64_t(state.next_key) >> 32)};
  for (size_t i = 0; i < kWords; ++i) put_word(header[i], image + 4 * i);
  const unsigned char* const memory = reinterpret_cast<const unsigned char*>(&state);
  for (size_t at = sizeof(fovea_state); at < bytes; at += 4) {
    uint32_t word;
    __builtin_memcpy(&word, memory + at, 4);
    put_word(word, image + at);
  }
  put_word(checksum_of(image, bytes), image + kChecksumAt);
}

fovea_state read_image_header(const uint8_t* image) {
  fovea_state header = {};
  header.magic = word_at(image);
  header.checksum = word_at(image + kChecksumAt);
  header.batch = word_at(image + 8);
  header.q_heads = word_at(image + 12);
  header.kv_heads = word_at(image + 16);
  header.q_tokens = word_at(image + 20);
  header.value_dim = word_at(image + 24);
  header.next_key = int64_t(word_at(image + 32) | uint64_t(word_at(image + 36)) << 32);
  return header;
}

bool image_is_whole(const uint8_t* image, size_t bytes) {
  return checksum_of(image, bytes) == word_at(image + kChecksumAt);
}

void read_image(const uint8_t* image, size_t bytes, fovea_state* state) {
  *state = read_image_header(image);
  state->checksum = 0;
  unsigned char* const memory = reinterpret_cast<unsigned char*>(state);
  for (size_t at = sizeof(fovea_state); at < bytes; at += 4) {
    const uint32_t word = word_at(image + at);
    __builtin_memcpy(memory + at, &word, 4);
  }
}

}  // namespace fovea
