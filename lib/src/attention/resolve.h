// SPDX-License-Identifier: Apache-2.0
#ifndef FOVEA_SRC_ATTENTION_RESOLVE_H_
#define FOVEA_SRC_ATTENTION_RESOLVE_H_

#include "attention/call.h"
#include "base/buffers.h"
#include "fovea/fovea.h"

namespace fovea {

// Whether a call may run: every rejection, before anything is written.
fovea_status check_attention(const AttentionCall& call);

// Adds the arrays of a call's mask. A row of it covers at most `keys` keys.
fovea_status add_mask(Buffers& buffers, const fovea_mask& mask, size_t batch, size_t q_heads, size_t queries,
                      uint32_t keys);

// The same for a block map, where the longest entry has this many queries.
fovea_status add_block_map(Buffers& buffers, const fovea_block_map& map, size_t batch, size_t kv_heads,
                           uint32_t queries);

}  // namespace fovea

#endif  // FOVEA_SRC_ATTENTION_RESOLVE_H_
