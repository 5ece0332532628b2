// SPDX-License-Identifier: Apache-2.0
//
// Every rejection, and every choice, before any work.
#ifndef FOVEA_SRC_ATTENTION_PLAN_H_
#define FOVEA_SRC_ATTENTION_PLAN_H_

#include "attention/layout.h"
#include "base/buffers.h"
#include "base/key_places.h"
#include "fovea/fovea.h"

namespace fovea {

// Of queries and keys, in size.
constexpr int64_t kMostPosition = int64_t(1) << 62;

fovea_status make_plan(const fovea_attention_desc& desc, fovea_plan* plan);

// The plan that make_plan would make on a machine with this target. FOVEA_TARGET_BEST is not a target here.
fovea_status make_plan_for(const fovea_attention_desc& desc, fovea_target target, fovea_plan* plan);

bool is_plan(const fovea_plan& plan);

// What a call needs of slow_workspace beside a workspace of this many bytes.
size_t slow_workspace_bytes(const fovea_plan& plan, size_t workspace_bytes);

// A call that works on the state of a stream, in this memory, rather than from keys to outputs: it takes in keys, or
// ends with outputs. The arguments that it does not look at are 0.
struct StreamState {
  void* state;
  size_t bytes;
  bool ends;
};

fovea_status check_attention_args(const fovea_plan& plan, const fovea_attention_args& args, const Workspace& workspace,
                                  const StreamState* stream);

// The arrays of a call's mask, of which a row covers at most so many keys.
fovea_status add_mask(Buffers& buffers, const fovea_mask& mask, size_t batch, size_t q_heads, size_t queries,
                      uint32_t keys);

}  // namespace fovea

#endif  // FOVEA_SRC_ATTENTION_PLAN_H_
