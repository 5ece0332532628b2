// SPDX-License-Identifier: Apache-2.0
//
// Every rejection, and every choice, before any work.
#ifndef FOVEA_SRC_PLAN_ATTENTION_PLAN_H_
#define FOVEA_SRC_PLAN_ATTENTION_PLAN_H_

#include "fovea/fovea.h"

namespace fovea {

fovea_status make_plan(const fovea_attention_desc& desc, fovea_plan* plan);

// The plan that make_plan would make on a machine with this target. FOVEA_TARGET_BEST is not a target here.
fovea_status make_plan_for(const fovea_attention_desc& desc, fovea_target target, fovea_plan* plan);

bool is_plan(const fovea_plan& plan);

fovea_status check_attention_args(const fovea_plan& plan, const fovea_attention_args& args, const void* workspace,
                                  size_t workspace_bytes);

}  // namespace fovea

#endif  // FOVEA_SRC_PLAN_ATTENTION_PLAN_H_
