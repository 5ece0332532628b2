// SPDX-License-Identifier: Apache-2.0
//
// A multi-head layer (Vaswani et al., arXiv 1706.03762, section 3.2.2): projections, attention, projection.
#include "ground/base/arithmetic.h"
#include "layers/multihead/call.h"

#include "core/attention/call.h"
#include "ground/base/status.h"
#include "ground/base/strides.h"

namespace fovea {

fovea_status run_linear_step(LinearStep* step) {
  for (uint32_t call = 0; call < step->calls; ++call) {
    FOVEA_RETURN_IF_ERROR(run_linear(step->call));
    if (call + 1 == step->calls) break;  // no pointer is made that may be outside of an array
    step->call.x = advanced(step->call.x, step->x_step);
    step->call.y = advanced(step->call.y, step->y_step);
  }
  return FOVEA_OK;
}

fovea_status run_projections(ProjectionSteps* steps, MadeCache* append_to) {
  FOVEA_RETURN_IF_ERROR(run_linear_step(&steps->q));
  FOVEA_RETURN_IF_ERROR(run_linear_step(&steps->k));
  FOVEA_RETURN_IF_ERROR(run_linear_step(&steps->v));
  if (append_to) {
    append_to_cache(*append_to, &steps->append);
    return FOVEA_OK;
  }
  if (steps->turns_q) run_rope(steps->turn_q);
  if (steps->turns_k) run_rope(steps->turn_k);
  return FOVEA_OK;
}

fovea_status run_attention_step(const MadePlan& plan, const AttentionStep& step) {
  return run_attention(AttentionCall(plan, step.args, step.shared, nullptr));
}

}  // namespace fovea
