// SPDX-License-Identifier: Apache-2.0
//
// Checks the states of streams: their memory, and what may be done with them.
#ifndef FOVEA_SRC_ATTENTION_STREAM_RESOLVE_H_
#define FOVEA_SRC_ATTENTION_STREAM_RESOLVE_H_

#include "core/attention/stream/state.h"
#include "fovea/fovea.h"

namespace fovea {

// Checks a new state of these counts in this memory, and makes its header.
fovea_status check_new_state(const fovea_plan& plan, uint32_t batch, uint32_t q_tokens, int64_t first_key,
                             const void* memory, size_t bytes, fovea_state* header);

// Whether the memory holds a state, and whether it fits the plan.
fovea_status check_state(const fovea_state* state);
fovea_status check_state_of(const fovea_plan& plan, const fovea_state* state);

// Whether two states are partial results for the same rows.
fovea_status check_mergeable(const fovea_state& into, const fovea_state& from);

fovea_status check_export(const fovea_state* state, const void* image, size_t image_bytes);
// Reads all of the image, but not past image_bytes: its checksum must be right.
fovea_status check_import(const fovea_state* state, size_t bytes, const uint8_t* image, size_t image_bytes);

// Whether keys can be pushed at this position. Key tiles that follow pages begin where the push does, and dropout makes
// random numbers for four keys at a time.
bool push_served(const fovea_attention_desc& desc, int64_t next_key);

}  // namespace fovea

#endif  // FOVEA_SRC_ATTENTION_STREAM_RESOLVE_H_
