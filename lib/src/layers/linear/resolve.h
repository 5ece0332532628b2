// SPDX-License-Identifier: Apache-2.0
#ifndef FOVEA_SRC_LINEAR_RESOLVE_H_
#define FOVEA_SRC_LINEAR_RESOLVE_H_

#include "fovea/fovea.h"
#include "layers/linear/call.h"

namespace fovea {

// Follows no pointer but the executor's. The target may be another machine's.
fovea_status plan_linear(const fovea_linear_args& args, LinearPlan* plan);

// Performs every check, and makes *call ready to run.
fovea_status resolve_linear(const fovea_linear_args& args, void* workspace, size_t workspace_bytes, LinearCall* call);

}  // namespace fovea

#endif  // FOVEA_SRC_LINEAR_RESOLVE_H_
