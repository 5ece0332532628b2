// SPDX-License-Identifier: Apache-2.0
#include "ground/base/arithmetic.h"
#include "fovea/fovea.h"
#include "layers/linear/call.h"
#include "layers/linear/resolve.h"

extern "C" size_t fovea_linear_workspace_bytes(const fovea_linear_args* args) {
  fovea::LinearPlan plan;
  return args && fovea::plan_linear(*args, &plan) == FOVEA_OK ? plan.worker_bytes * plan.workers : 0;
}

extern "C" fovea_status fovea_linear(const fovea_linear_args* args, void* workspace, size_t workspace_bytes) {
  if (!args) return FOVEA_ERR_NULL;
  fovea::LinearCall call;
  const fovea_status status = fovea::resolve_linear(*args, workspace, workspace_bytes, &call);
  return status == FOVEA_OK ? fovea::run_linear(call) : status;
}
