// SPDX-License-Identifier: Apache-2.0
//
// Key mass: query tiles keep the weights of the last queries of an entry until their sums are known.
#ifndef FOVEA_SRC_ATTENTION_KEY_MASS_H_
#define FOVEA_SRC_ATTENTION_KEY_MASS_H_

#include "core/attention/call.h"
#include "fovea/fovea.h"

namespace fovea {

// The first query of an entry whose weights count; UINT32_MAX if none do.
inline uint32_t first_massed(const AttentionCall& call, uint32_t entry) {
  if (!call.wants_mass()) return UINT32_MAX;
  const uint32_t queries = call.queries(entry).count, last = call.desc.key_mass_queries;
  return queries > last ? queries - last : 0;
}

// Whether the tile has rows of queries from first_token on.
inline bool keeps_rows(const QueryTile& tile, uint32_t first_token) {
  return tile.first_token + (tile.first_head + tile.live - 1) / tile.group >= first_token;
}

// The weights of the rows of a tile that count are kept. None are yet.
void begin_keeping(const AttentionCall& call, uint32_t entry, QueryTile* tile);

// Gives the keys that a tile is about to attend to a slot, if the tile keeps weights. At an edge, rows that see none of
// the keys leave theirs as it is here.
void find_slot(QueryTile* tile, KeyTile* keys);

// Adds the weights that a tile has kept to those of its keys.
void add_kept(const AttentionCall& call, const AttentionKernel& kernel, uint32_t entry, uint32_t kv_head,
              const QueryTile& tile);

// Row blocks whose queries count for the mass of keys must not run at the same time for one key head. Where a head has
// several row blocks, all others are tasks as usual; then each head has one task for those that count.
enum class Massed { kAny, kNone, kOnly };

}  // namespace fovea

#endif  // FOVEA_SRC_ATTENTION_KEY_MASS_H_
