// SPDX-License-Identifier: Apache-2.0
#ifndef FOVEA_SRC_ATTENTION_BLOCK_MAP_RESOLVE_H_
#define FOVEA_SRC_ATTENTION_BLOCK_MAP_RESOLVE_H_

#include "attention/call.h"
#include "base/buffers.h"
#include "fovea/fovea.h"

namespace fovea {

// Adds the arrays of a call's block map, where the longest entry has this many queries.
fovea_status add_block_map(Buffers& buffers, const fovea_block_map& map, size_t batch, size_t kv_heads,
                           uint32_t queries);

// Checks what stands in the arrays of a call's block map: the longest entry has this many queries, and blocks are of so
// many keys.
fovea_status check_block_map(const AttentionCall& call, uint32_t queries, uint32_t keys);

// The same for what makes a map; without its arrays, where only the blocks are counted.
fovea_status check_block_map_args(const fovea_block_map_args& args, bool writes);
fovea_status check_tree(const int32_t* parents, uint32_t tokens, uint8_t* mask, size_t row_stride);

}  // namespace fovea

#endif  // FOVEA_SRC_ATTENTION_BLOCK_MAP_RESOLVE_H_
