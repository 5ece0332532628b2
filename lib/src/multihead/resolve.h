// SPDX-License-Identifier: Apache-2.0
#ifndef FOVEA_SRC_MULTIHEAD_RESOLVE_H_
#define FOVEA_SRC_MULTIHEAD_RESOLVE_H_

#include "fovea/fovea.h"
#include "multihead/call.h"

namespace fovea {

// Performs every check of a call; then *steps are ready to run. append_to is null, or the cache that the keys and
// values of the call are appended to. Nothing is written but *steps.
fovea_status resolve_multihead(const fovea_multihead_plan& plan, const fovea_multihead_args& args, void* workspace,
                               size_t workspace_bytes, const fovea_kv_cache* append_to, MultiheadSteps* steps);

}  // namespace fovea

#endif  // FOVEA_SRC_MULTIHEAD_RESOLVE_H_
