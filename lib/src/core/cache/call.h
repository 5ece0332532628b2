// SPDX-License-Identifier: Apache-2.0
#ifndef FOVEA_SRC_CACHE_CALL_H_
#define FOVEA_SRC_CACHE_CALL_H_

#include "core/rope/call.h"
#include "fovea/fovea.h"
#include "fovea/fovea_config.h"
#include "ground/formats/formats.h"

namespace fovea {

// What is in the storage of a cache.
struct MadeCache : fovea_kv_cache_desc, fovea_kv_arrays {
  uint32_t magic;
  void* memory;  // as fovea_kv_cache_init got it
  size_t memory_bytes;
};
static_assert(sizeof(MadeCache) <= sizeof(fovea_kv_cache) && alignof(MadeCache) <= alignof(fovea_kv_cache));

inline MadeCache& made(fovea_kv_cache& cache) { return *reinterpret_cast<MadeCache*>(cache.bytes); }
inline const MadeCache& made(const fovea_kv_cache& cache) { return *reinterpret_cast<const MadeCache*>(cache.bytes); }

// Whether keys, or values, are rotated.
inline bool rotates(const MadeCache& c, bool keys) {
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
  bool is_staged(const MadeCache& c, bool of_keys) const {
    return !is_f32<kUnscaledFormats>(dtype) || rotates(c, of_keys) || (of_keys && (turns || c.key_center));
  }
};

// The first element of a key that may be turned: with values in keys, the first one after the value.
inline uint32_t first_turned(const MadeCache& c) { return c.values_in_keys ? c.value_dim : 0; }

// Appends the tokens, and sets the lengths.
void append_to_cache(MadeCache& cache, AppendCall* call);

// Marks all pages of the page tables as missing.
void forget_pages(MadeCache& cache);

// Makes all entries empty.
void empty_entries(MadeCache& cache);

// The tokens of the longest entry.
uint32_t longest_entry(const MadeCache& cache);

// Sets an entry's length and, in a ring, the oldest token after the pinned ones that it still has.
void set_length(MadeCache& cache, uint32_t entry, uint32_t length, uint32_t first_token);

// Requires that all checks were made. Copies the rows of tokens from to_first and from_first on, but does not set the length. Tokens
// before `oldest` are not copied unless they are pinned.
void copy_tokens(MadeCache& to, uint32_t to_entry, uint32_t to_first, const MadeCache& from, uint32_t from_entry,
                 uint32_t from_first, uint32_t tokens, uint32_t oldest);

// The same: moves token kept[i] into the place of token i.
void keep_tokens(MadeCache& cache, uint32_t entry, const uint32_t* kept, uint32_t count);

// A checked call that turns keys by a difference.
struct ShiftCall {
  fovea_target target;
  uint32_t entry, first, tokens;
  float* workspace;
  size_t workspace_bytes;
  RopeCall turning;  // of one token, all but its heads
};
void shift_keys(const MadeCache& cache, ShiftCall& call);

constexpr bool kHasImages = config::kImages;

// The first bytes of an image.
struct ImageHeader {
  uint32_t magic, checksum, tokens;
  uint32_t parts, key_dtype, value_dtype, kv_heads, head_dim, value_dim, hadamard;
  uint64_t hadamard_seed;
  int64_t position;
  uint64_t fingerprint;
};

// A checked call that writes tokens [first, first + tokens) of an entry into an image, or appends the first tokens of it.
struct ImageCall {
  uint32_t entry, first, tokens;
  ImageHeader header;  // without a checksum
  MadeCache rows;      // of the image
  void* center;        // in the image, if the cache has one
  size_t bytes;        // of the image
};

inline size_t center_bytes(const MadeCache& c) { return size_t(c.kv_heads) * c.head_dim * sizeof(float); }
uint32_t image_checksum(const void* image, size_t bytes);
void export_tokens(const MadeCache& cache, ImageCall& call, uint8_t* image);
void import_tokens(MadeCache& cache, const ImageCall& call);

}  // namespace fovea

#endif  // FOVEA_SRC_CACHE_CALL_H_
