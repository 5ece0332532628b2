// SPDX-License-Identifier: Apache-2.0
#include "ground/base/arithmetic.h"
#include "core/cache/resolve.h"
#include "fovea/fovea.h"
#include "ground/targets/registry.h"
#include "layers/multihead/call.h"
#include "layers/multihead/plan.h"
#include "layers/multihead/resolve.h"

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

namespace {

// Not inlined: the stack of the first is free when the second begins.
__attribute__((noinline)) fovea_status project(const fovea_multihead_plan& plan, const fovea_multihead_args& args,
                                               void* workspace, fovea_kv_cache* append_to) {
  fovea::ProjectionSteps steps;
  const fovea_status status = fovea::resolve_projections(plan, args, workspace, append_to, &steps);
  return status == FOVEA_OK ? fovea::run_projections(&steps, append_to) : status;
}
__attribute__((noinline)) fovea_status attend(const fovea_multihead_plan& plan, const fovea_multihead_args& args,
                                              void* workspace) {
  union {
    fovea::AttentionStep attention;
    fovea::LinearStep out;
  };
  fovea_status status = fovea::resolve_attention_step(plan, args, workspace, &attention);
  if (status == FOVEA_OK) status = fovea::run_attention_step(plan, attention);
  if (status == FOVEA_OK) status = fovea::resolve_out_step(plan, args, workspace, &out);
  return status == FOVEA_OK ? fovea::run_linear_step(&out) : status;
}

}  // namespace

extern "C" fovea_status fovea_multihead(const fovea_multihead_plan* plan, const fovea_multihead_args* args,
                                        void* workspace, size_t workspace_bytes) {
  if (!plan || !args) return FOVEA_ERR_NULL;
  fovea_status status = fovea::check_multihead(*plan, *args, workspace, workspace_bytes, nullptr);
  if (status == FOVEA_OK) status = project(*plan, *args, workspace, nullptr);
  return status == FOVEA_OK ? attend(*plan, *args, workspace) : status;
}

extern "C" fovea_status fovea_multihead_append(const fovea_multihead_plan* plan, fovea_kv_cache* cache,
                                               const fovea_multihead_args* args, void* workspace,
                                               size_t workspace_bytes) {
  if (!plan || !args) return FOVEA_ERR_NULL;
  fovea_status status = fovea::check_cache(cache);
  if (status == FOVEA_OK) status = fovea::check_multihead(*plan, *args, workspace, workspace_bytes, cache);
  return status == FOVEA_OK ? project(*plan, *args, workspace, cache) : status;
}
