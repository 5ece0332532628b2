// SPDX-License-Identifier: Apache-2.0
#ifndef FOVEA_SRC_CACHE_CALL_H_
#define FOVEA_SRC_CACHE_CALL_H_

#include "formats/formats.h"
#include "fovea/fovea.h"
#include "fovea/fovea_config.h"

namespace fovea {

// Always null in builds without ragged batches.
inline const uint32_t* offsets_of(const fovea_kv_append_args& a) { return config::kRagged ? a.offsets : nullptr; }

// The new tokens of entry args.entry + b: where they are in the arrays, how many there are, and how many are appended.
struct NewTokens {
  uint32_t entry, first, all, count;
};
inline NewTokens new_tokens(const fovea_kv_append_args& a, uint32_t b) {
  const uint32_t* const offsets = offsets_of(a);
  const uint32_t first = offsets ? offsets[b] : 0, all = offsets ? offsets[b + 1] - first : a.tokens;
  return {offsets ? 0 : b, first, all, a.counts ? a.counts[b] : all};
}

// Whether new keys, or new values, pass through the workspace as f32 rows.
inline bool is_staged(const fovea_kv_cache& c, const fovea_kv_append_args& a, bool keys) {
  return !is_f32<kUnscaledFormats>(a.dtype) || (keys && (a.rope || c.key_center));
}

// The first element of a key that may be turned: with values in keys, the first one after the value.
inline uint32_t first_turned(const fovea_kv_cache& c) { return c.values_in_keys ? c.value_dim : 0; }

// The arguments that turn the new keys [first, first + count) of entry args.entry + b, which are in the workspace as
// [kv_heads][count][head_dim].
fovea_rope_args turning_args(const fovea_kv_cache& cache, const fovea_kv_append_args& args, uint32_t b, uint32_t first,
                             uint32_t count);

// Requires that all checks were made.
void append_to_cache(fovea_kv_cache& cache, const fovea_kv_append_args& args);

// Sets an entry's length and, in a ring, the oldest token after the pinned ones that it still has.
inline void set_length(fovea_kv_cache& c, uint32_t entry, uint32_t length, uint32_t first_token) {
  c.lengths[entry] = length;
  if (c.first_tokens) c.first_tokens[entry] = length <= c.pinned_tokens ? c.pinned_tokens : first_token;
}

// Requires that all checks were made. Copies the rows, but does not set the length.
void copy_tokens(fovea_kv_cache& to, uint32_t to_entry, const fovea_kv_cache& from, uint32_t from_entry,
                 uint32_t tokens);

}  // namespace fovea

#endif  // FOVEA_SRC_CACHE_CALL_H_
