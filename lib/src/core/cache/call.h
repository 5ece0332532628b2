// SPDX-License-Identifier: Apache-2.0
#ifndef FOVEA_SRC_CACHE_CALL_H_
#define FOVEA_SRC_CACHE_CALL_H_

#include "core/rope/call.h"
#include "fovea/fovea.h"
#include "fovea/fovea_config.h"
#include "ground/formats/formats.h"

namespace fovea {

// Whether keys, or values, are rotated.
inline bool rotates(const fovea_kv_cache& c, bool keys) {
  return config::kHadamard && (c.hadamard & (keys ? FOVEA_HADAMARD_KEYS : FOVEA_HADAMARD_VALUES)) != 0;
}

// The new tokens of an entry of a call: where they are in the arrays, how many there are, and how many are appended.
struct NewTokens {
  uint32_t entry, first, all, count;
};

// A checked call that appends tokens.
struct AppendCall {
  fovea_target target;
  uint32_t entry, batch;    // entries [entry, entry + batch) of the cache
  uint32_t tokens;          // of each entry
  const uint32_t* counts;   // [batch]: tokens that are appended; null = all
  const uint32_t* offsets;  // [batch + 1]: ragged; null = not. Read by ragged_offsets
  fovea_dtype dtype;
  fovea_in keys, values;
  float* workspace;
  size_t workspace_bytes;
  bool turns;        // new keys are turned, in the workspace: [kv_heads][tokens][head_dim]
  RopeCall turning;  // all but its tokens, its strides and its position, which depend on the tokens
  int64_t position_offset;
  const int64_t* position_offsets;  // [batch], in addition; null = 0

  // Always null in builds without ragged batches.
  const uint32_t* ragged_offsets() const { return config::kRagged ? offsets : nullptr; }
  NewTokens tokens_of(uint32_t b) const {
    const uint32_t* const begins = ragged_offsets();
    const uint32_t first = begins ? begins[b] : 0, all = begins ? begins[b + 1] - first : tokens;
    return {begins ? 0 : b, first, all, counts ? counts[b] : all};
  }
  // Whether new keys, or new values, pass through the workspace as f32 rows.
  bool is_staged(const fovea_kv_cache& c, bool of_keys) const {
    return !is_f32<kUnscaledFormats>(dtype) || rotates(c, of_keys) || (of_keys && (turns || c.key_center));
  }
};

// The first element of a key that may be turned: with values in keys, the first one after the value.
inline uint32_t first_turned(const fovea_kv_cache& c) { return c.values_in_keys ? c.value_dim : 0; }

// Appends the tokens, and sets the lengths.
void append_to_cache(fovea_kv_cache& cache, AppendCall* call);

// Marks all pages of the page tables as missing.
void forget_pages(fovea_kv_cache& cache);

// Makes all entries empty.
void empty_entries(fovea_kv_cache& cache);

// The tokens of the longest entry.
uint32_t longest_entry(const fovea_kv_cache& cache);

// Sets an entry's length and, in a ring, the oldest token after the pinned ones that it still has.
void set_length(fovea_kv_cache& cache, uint32_t entry, uint32_t length, uint32_t first_token);

// Requires that all checks were made. Copies the rows, but does not set the length.
void copy_tokens(fovea_kv_cache& to, uint32_t to_entry, const fovea_kv_cache& from, uint32_t from_entry,
                 uint32_t tokens);

// The same: moves token kept[i] into the place of token i.
void keep_tokens(fovea_kv_cache& cache, uint32_t entry, const uint32_t* kept, uint32_t count);

}  // namespace fovea

#endif  // FOVEA_SRC_CACHE_CALL_H_
