// SPDX-License-Identifier: Apache-2.0
#include "ground/base/arithmetic.h"
#include "core/attention/stream/state.h"

#include "ground/base/image.h"

namespace fovea {
namespace {

static_assert(kChecksumAt == offsetof(fovea_stream_state, checksum), "where all images have it");

// Words of the header. The words after it are copied, whatever their type.
constexpr size_t kWords = sizeof(fovea_stream_state) / 4;

}  // namespace

size_t state_row_count(const fovea_stream_state& s) { return size_t(s.batch) * s.q_heads * s.q_tokens; }

CheckedSize state_bytes(const fovea_stream_state& s) {
  CheckedSize rows{s.batch};
  rows.times(s.q_heads).times(s.q_tokens);
  CheckedSize row{s.value_dim};
  row.plus(2).times(sizeof(float));
  return row.times(rows).plus(sizeof(fovea_stream_state));
}

StateRows state_rows(const fovea_stream_state& s) {
  float* const max = reinterpret_cast<float*>(const_cast<fovea_stream_state*>(&s) + 1);
  const size_t rows = state_row_count(s);
  return {max, max + rows, max + 2 * rows};
}

void begin_state(const fovea_stream_state& header, fovea_stream_state* state) {
  *state = header;
  const StateRows rows = state_rows(*state);
  const size_t count = state_row_count(*state);
  for (size_t r = 0; r < count; ++r) rows.max[r] = -__builtin_inff();
  __builtin_memset(rows.sum, 0, count * (size_t(header.value_dim) + 1) * sizeof(float));
}

void write_image(const fovea_stream_state& state, size_t bytes, uint8_t* image) {
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
  put_state(&state, sizeof state, bytes, image);
  put_word(checksum_of(image, bytes), image + kChecksumAt);
}

fovea_stream_state read_image_header(const uint8_t* image) {
  fovea_stream_state header = {};
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

void read_image(const uint8_t* image, size_t bytes, fovea_stream_state* state) {
  *state = read_image_header(image);
  state->checksum = 0;
  take_state(image, sizeof *state, bytes, state);
}

}  // namespace fovea
