// SPDX-License-Identifier: Apache-2.0
#ifndef FOVEA_SRC_MULTIHEAD_PLAN_H_
#define FOVEA_SRC_MULTIHEAD_PLAN_H_

#include "fovea/fovea.h"

namespace fovea {

// Plans for this machine or, if target is not FOVEA_TARGET_BEST, for a machine with that target.
fovea_status make_multihead_plan(const fovea_multihead_desc& desc, fovea_target target, fovea_multihead_plan* plan);

bool is_multihead_plan(const fovea_multihead_plan& plan);

}  // namespace fovea

#endif  // FOVEA_SRC_MULTIHEAD_PLAN_H_
