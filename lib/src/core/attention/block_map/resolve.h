// SPDX-License-Identifier: Apache-2.0
#ifndef FOVEA_SRC_ATTENTION_BLOCK_MAP_RESOLVE_H_
#define FOVEA_SRC_ATTENTION_BLOCK_MAP_RESOLVE_H_

#include "core/attention/block_map/make.h"
#include "core/attention/call.h"
#include "fovea/fovea.h"
#include "ground/base/buffers.h"

namespace fovea {

// Adds the arrays of a call's block map. `queries`: of the longest entry.
fovea_status add_block_map(Buffers& buffers, const fovea_block_map& map, size_t batch, size_t kv_heads,
                           uint32_t queries);

// Checks the elements of these arrays. `queries` and `keys`: the numbers that the lists, and the map blocks of a list, must
// cover.
fovea_status check_block_map(const AttentionCall& call, uint32_t queries, uint32_t keys);

// Performs every check of the arguments that make a map, and makes *call ready to run. Without `writes`, only map blocks
// are counted, and the output arrays are not checked.
fovea_status resolve_block_map(const fovea_block_map_args& args, bool writes, BlockMapCall* call);
fovea_status check_tree(const int32_t* parents, uint32_t tokens, uint8_t* mask, size_t row_stride);

}  // namespace fovea

#endif  // FOVEA_SRC_ATTENTION_BLOCK_MAP_RESOLVE_H_
