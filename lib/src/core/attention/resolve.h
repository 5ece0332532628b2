// SPDX-License-Identifier: Apache-2.0
#ifndef FOVEA_SRC_ATTENTION_RESOLVE_H_
#define FOVEA_SRC_ATTENTION_RESOLVE_H_

#include "core/attention/call.h"
#include "fovea/fovea.h"
#include "ground/base/buffers.h"

namespace fovea {

// Whether a call may run: every rejection, before anything is written.
fovea_status check_attention(const AttentionCall& call);

// Adds the arrays of a call's mask. A row of it covers at most `keys` keys.
fovea_status add_mask(Buffers& buffers, const fovea_mask& mask, size_t batch, size_t q_heads, size_t queries,
                      uint32_t keys);

}  // namespace fovea

#endif  // FOVEA_SRC_ATTENTION_RESOLVE_H_
