// SPDX-License-Identifier: Apache-2.0
//
// Checks descriptions, and makes every choice before any work.
#ifndef FOVEA_SRC_ATTENTION_PLAN_H_
#define FOVEA_SRC_ATTENTION_PLAN_H_

#include "core/attention/layout.h"
#include "fovea/fovea.h"
#include "ground/base/key_places.h"

namespace fovea {

fovea_status make_plan(const fovea_attention_desc& desc, MadePlan* plan);

// The plan that make_plan would make on a machine with this target. FOVEA_TARGET_BEST is not a target here.
fovea_status make_plan_for(const fovea_attention_desc& desc, fovea_target target, MadePlan* plan);

[[gnu::pure]] bool is_plan(const MadePlan& plan);
inline bool is_plan(const fovea_attention_plan& plan) { return is_plan(made(plan)); }

// Checks a tensor's scale and zero point against its type. Without a scale the type may be any.
fovea_status check_scale_and_zero(float scale, int32_t zero, fovea_dtype dtype);

// Bytes of slow_workspace that a call needs in addition to a workspace of workspace_bytes.
size_t slow_workspace_bytes(const MadePlan& plan, size_t workspace_bytes);

}  // namespace fovea

#endif  // FOVEA_SRC_ATTENTION_PLAN_H_
