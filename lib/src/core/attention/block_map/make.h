// SPDX-License-Identifier: Apache-2.0
//
// Makes block maps and tree masks for the caller, before calls.
#ifndef FOVEA_SRC_ATTENTION_BLOCK_MAP_MAKE_H_
#define FOVEA_SRC_ATTENTION_BLOCK_MAP_MAKE_H_

#include <stddef.h>
#include <stdint.h>

#include "fovea/fovea.h"

namespace fovea {

// A checked call: the map blocks of queries and keys, who says what of them is seen, and the memory of the lists.
struct BlockMapCall {
  uint32_t batch, kv_heads, q_tokens, kv_tokens;
  uint32_t q_block, kv_block;
  uint32_t group;  // query heads that share a key head
  const fovea_in* mask;
  fovea_block_kind (*classify)(void* self, const fovea_block* block);  // null = by the mask
  void* self;
  uint32_t *offsets, *blocks;
  uint32_t most_blocks;
};

// Counts the map blocks that a map lists. FOVEA_ERR_ENUM if the kind of one is not in the enum.
fovea_status count_blocks(const BlockMapCall& call, uint64_t* count);
fovea_status make_block_map(const BlockMapCall& call, fovea_block_map* map);
void make_tree_mask(const int32_t* parents, uint32_t tokens, uint8_t* mask, size_t row_stride);

}  // namespace fovea

#endif  // FOVEA_SRC_ATTENTION_BLOCK_MAP_MAKE_H_
