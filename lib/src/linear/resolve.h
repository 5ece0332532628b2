// SPDX-License-Identifier: Apache-2.0
#ifndef FOVEA_SRC_LINEAR_RESOLVE_H_
#define FOVEA_SRC_LINEAR_RESOLVE_H_

#include "base/buffers.h"
#include "fovea/fovea.h"
#include "linear/call.h"

namespace fovea {

// Follows no pointer but the executor's. The target may be another machine's.
fovea_status plan_linear(const fovea_linear_args& args, LinearPlan* plan);

// Adds the arrays of a layer's weights.
fovea_status add_weights(Buffers& buffers, const fovea_linear_weights& weights, size_t in_dim, size_t out_dim);

// Performs every check, and makes *call ready to run.
fovea_status resolve_linear(const fovea_linear_args& args, void* workspace, size_t workspace_bytes, LinearCall* call);

}  // namespace fovea

#endif  // FOVEA_SRC_LINEAR_RESOLVE_H_
