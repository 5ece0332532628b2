// SPDX-License-Identifier: Apache-2.0
#include "ground/base/arithmetic.h"
#include "core/attention/call.h"
#include "core/attention/plan.h"
#include "core/attention/resolve.h"
#include "fovea/fovea.h"
#include "ground/targets/registry.h"

extern "C" fovea_status fovea_plan_init(fovea_plan* plan, const fovea_attention_desc* desc) {
  if (!plan || !desc) return FOVEA_ERR_NULL;
  return fovea::make_plan(*desc, plan);
}

extern "C" size_t fovea_workspace_bytes(const fovea_plan* plan) {
  return plan && fovea::is_plan(*plan) ? plan->workspace_bytes : 0;
}

extern "C" size_t fovea_slow_workspace_bytes(const fovea_plan* plan, size_t workspace_bytes) {
  return plan && fovea::is_plan(*plan) ? fovea::slow_workspace_bytes(*plan, workspace_bytes) : 0;
}

extern "C" size_t fovea_workspace_bytes_for(const fovea_attention_desc* desc, fovea_target target) {
  if (!desc) return 0;
  return fovea::largest_for(target, [=](fovea_target one) {
    fovea_plan plan;
    return fovea::make_plan_for(*desc, one, &plan) == FOVEA_OK ? plan.workspace_bytes : 0;
  });
}

extern "C" fovea_status fovea_attention(const fovea_plan* plan, const fovea_attention_args* args, void* workspace,
                                        size_t workspace_bytes) {
  if (!plan || !args) return FOVEA_ERR_NULL;
  const fovea::Workspace parts = {workspace, workspace_bytes, args->slow_workspace, args->slow_workspace_bytes};
  const fovea::AttentionCall call(*plan, *args, parts, nullptr);
  const fovea_status status = fovea::check_attention(call);
  return status == FOVEA_OK ? fovea::run_attention(call) : status;
}
