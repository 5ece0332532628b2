// SPDX-License-Identifier: Apache-2.0
#ifndef FOVEA_SRC_MULTIHEAD_RESOLVE_H_
#define FOVEA_SRC_MULTIHEAD_RESOLVE_H_

#include "fovea/fovea.h"
#include "layers/multihead/call.h"

namespace fovea {

// Checks a call, and all of its steps but the projections. append_to is null, or the cache that the keys and values of
// the call are appended to.
fovea_status check_multihead(const fovea_multihead_plan& plan, const fovea_multihead_args& args, void* workspace,
                             size_t workspace_bytes, const fovea_kv_cache* append_to);
// Checks the projections, too, before any step runs; then *steps are ready to run.
fovea_status resolve_projections(const fovea_multihead_plan& plan, const fovea_multihead_args& args, void* workspace,
                                 const fovea_kv_cache* append_to, ProjectionSteps* steps);
// Make the other steps of a call that was checked.
fovea_status resolve_attention_step(const fovea_multihead_plan& plan, const fovea_multihead_args& args, void* workspace,
                                    AttentionStep* step);
fovea_status resolve_out_step(const fovea_multihead_plan& plan, const fovea_multihead_args& args, void* workspace,
                              LinearStep* step);

}  // namespace fovea

#endif  // FOVEA_SRC_MULTIHEAD_RESOLVE_H_
