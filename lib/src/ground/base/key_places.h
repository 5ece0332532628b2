// SPDX-License-Identifier: Apache-2.0
//
// In which row of the arrays a token is stored, for each kind of source.
#ifndef FOVEA_SRC_BASE_KEY_PLACES_H_
#define FOVEA_SRC_BASE_KEY_PLACES_H_

#include "fovea/fovea.h"
#include "fovea/fovea_config.h"

namespace fovea {

// Most tokens of one batch entry, and of a call of a linear layer.
constexpr uint32_t kMostTokens = 1u << 30;
// The largest position of queries and keys, in magnitude.
constexpr int64_t kMostPosition = int64_t(1) << 62;

// Whether sources may have prefixes.
constexpr bool kHasPrefixes = config::kPrefix;

// The number of keys that a row of the mask covers.
inline uint32_t mask_columns(const fovea_mask& mask, uint32_t keys) {
  return mask.kv_tokens == FOVEA_MASK_NO_KEYS ? 0 : mask.kv_tokens ? mask.kv_tokens : keys;
}

// Whether a source is of this kind. Always false in builds that leave the kind out.
inline bool is_ring(fovea_kv_kind kind) { return config::kRing && kind == FOVEA_KV_RING; }
inline bool is_paged(fovea_kv_kind kind) { return config::kPages && kind == FOVEA_KV_PAGED; }
inline bool is_loaded(fovea_kv_kind kind) { return config::kLoad && kind == FOVEA_KV_LOAD; }

// A token's row, and the number of tokens from this one on whose rows follow one another.
struct KeyPlace {
  size_t entry_or_page;
  size_t row;
  size_t count;
};

struct KeyPlacement {
  fovea_kv_kind kind;
  uint32_t ring_tokens, pinned_tokens;
  uint32_t page_tokens;
  const uint32_t* page_table;
  ptrdiff_t page_table_stride;

  KeyPlace of(uint32_t entry, uint32_t token) const {
    if (is_ring(kind)) {
      const uint32_t slots = ring_tokens - pinned_tokens;
      if (token < pinned_tokens) return {entry, token, pinned_tokens - token};
      const uint32_t slot = (token - pinned_tokens) % slots;
      return {entry, size_t(pinned_tokens) + slot, slots - slot};
    }
    if (is_paged(kind)) {
      const uint32_t row = token % page_tokens;
      const uint32_t page = page_table[ptrdiff_t(entry) * page_table_stride + ptrdiff_t(token / page_tokens)];
      return {page, row, page_tokens - row};
    }
    return {entry, token, SIZE_MAX};
  }
};

}  // namespace fovea

#endif  // FOVEA_SRC_BASE_KEY_PLACES_H_
