// SPDX-License-Identifier: Apache-2.0
#ifndef FOVEA_SRC_LINEAR_RESOLVE_H_
#define FOVEA_SRC_LINEAR_RESOLVE_H_

#include "fovea/fovea.h"
#include "linear/call.h"

namespace fovea {

// Looks at no pointer but the executor's. The target need not be one of this machine, but where it is the best.
fovea_status plan_linear(const fovea_linear_args& args, LinearPlan* plan);

fovea_status check_linear_args(const fovea_linear_args& args, const LinearPlan& plan, const void* workspace,
                               size_t workspace_bytes);

}  // namespace fovea

#endif  // FOVEA_SRC_LINEAR_RESOLVE_H_
