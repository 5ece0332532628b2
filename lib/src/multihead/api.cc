// SPDX-License-Identifier: Apache-2.0
#include "base/arithmetic.h"
#include "cache/resolve.h"
#include "fovea/fovea.h"
#include "multihead/call.h"
#include "multihead/plan.h"
#include "multihead/resolve.h"
#include "targets/registry.h"

extern "C" fovea_status fovea_multihead_plan_init(fovea_multihead_plan* plan, const fovea_multihead_desc* desc) {
  if (!plan || !desc) return FOVEA_ERR_NULL;
  return fovea::make_multihead_plan(*desc, FOVEA_TARGET_BEST, plan);
}

extern "C" size_t fovea_multihead_workspace_bytes(const fovea_multihead_plan* plan) {
  return plan && fovea::is_multihead_plan(*plan) ? plan->workspace_bytes : 0;
}

extern "C" size_t fovea_multihead_workspace_bytes_for(const fovea_multihead_desc* desc, fovea_target target) {
  if (!desc) return 0;
  return fovea::largest_for(target, [=](fovea_target one) {
    fovea_multihead_plan plan;
    return fovea::make_multihead_plan(*desc, one, &plan) == FOVEA_OK ? plan.workspace_bytes : 0;
  });
}

extern "C" fovea_status fovea_multihead(const fovea_multihead_plan* plan, const fovea_multihead_args* args,
                                        void* workspace, size_t workspace_bytes) {
  if (!plan || !args) return FOVEA_ERR_NULL;
  fovea::MultiheadSteps steps;
  const fovea_status status = fovea::resolve_multihead(*plan, *args, workspace, workspace_bytes, nullptr, &steps);
  return status == FOVEA_OK ? fovea::run_multihead(*plan, &steps, nullptr) : status;
}

extern "C" fovea_status fovea_multihead_append(const fovea_multihead_plan* plan, fovea_kv_cache* cache,
                                               const fovea_multihead_args* args, void* workspace,
                                               size_t workspace_bytes) {
  if (!plan || !args) return FOVEA_ERR_NULL;
  fovea_status status = fovea::check_cache(cache);
  if (status != FOVEA_OK) return status;
  fovea::MultiheadSteps steps;
  status = fovea::resolve_multihead(*plan, *args, workspace, workspace_bytes, cache, &steps);
  return status == FOVEA_OK ? fovea::run_multihead(*plan, &steps, cache) : status;
}
