// SPDX-License-Identifier: Apache-2.0
#include "ground/base/arithmetic.h"
#include "core/attention/stream/state.h"

#include "ground/base/image.h"

namespace fovea {
namespace {

static_assert(kChecksumAt == offsetof(fovea_state, checksum), "where all images have it");

// Words of the header. The words after it are copied, whatever their type.
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
