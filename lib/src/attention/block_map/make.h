// SPDX-License-Identifier: Apache-2.0
//
// Makes block maps and tree masks for the caller, before calls. All arguments were checked.
#ifndef FOVEA_SRC_ATTENTION_BLOCK_MAP_MAKE_H_
#define FOVEA_SRC_ATTENTION_BLOCK_MAP_MAKE_H_

#include <stddef.h>
#include <stdint.h>

#include "fovea/fovea.h"

namespace fovea {

// Counts the map blocks that a map of these arguments lists. FOVEA_ERR_ENUM if the kind of one is not in the enum.
fovea_status count_blocks(const fovea_block_map_args& args, uint64_t* count);
fovea_status make_block_map(const fovea_block_map_args& args, fovea_block_map* map);
void make_tree_mask(const int32_t* parents, uint32_t tokens, uint8_t* mask, size_t row_stride);

}  // namespace fovea

#endif  // FOVEA_SRC_ATTENTION_BLOCK_MAP_MAKE_H_
