// SPDX-License-Identifier: Apache-2.0
#ifndef FOVEA_SRC_MULTIHEAD_PLAN_H_
#define FOVEA_SRC_MULTIHEAD_PLAN_H_

#include "fovea/fovea.h"
#include "multihead/call.h"

namespace fovea {

// For this machine, or, where target is not FOVEA_TARGET_BEST, as on one with that target.
fovea_status make_multihead_plan(const fovea_multihead_desc& desc, fovea_target target, fovea_multihead_plan* plan);

bool is_multihead_plan(const fovea_multihead_plan& plan);

// Checks a call and lays out its steps; append_to is null, or the cache that takes its keys and values. Nothing is
// written but *steps.
fovea_status plan_multihead_call(const fovea_multihead_plan& plan, const fovea_multihead_args& args, void* workspace,
                                 size_t workspace_bytes, const fovea_kv_cache* append_to, MultiheadSteps* steps);

}  // namespace fovea

#endif  // FOVEA_SRC_MULTIHEAD_PLAN_H_
