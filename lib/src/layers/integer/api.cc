// SPDX-License-Identifier: Apache-2.0
#include "ground/base/arithmetic.h"
#include "fovea/fovea.h"
#include "ground/base/status.h"
#include "layers/integer/call.h"
#include "layers/integer/resolve.h"

extern "C" size_t fovea_integer_attention_workspace_bytes(const fovea_integer_attention_args* args) {
  fovea::IntegerPlan plan;
  return args && fovea::plan_integer_attention(*args, &plan) == FOVEA_OK ? plan.workspace_bytes : 0;
}

extern "C" fovea_status fovea_integer_attention(const fovea_integer_attention_args* args, void* workspace,
                                                size_t workspace_bytes) {
  if (!args) return FOVEA_ERR_NULL;
  fovea::IntegerCall call;
  FOVEA_RETURN_IF_ERROR(fovea::resolve_integer_attention(*args, workspace, workspace_bytes, &call));
  fovea::run_integer_attention(&call);
  return FOVEA_OK;
}
