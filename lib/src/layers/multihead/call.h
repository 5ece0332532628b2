// SPDX-License-Identifier: Apache-2.0
#ifndef FOVEA_SRC_MULTIHEAD_CALL_H_
#define FOVEA_SRC_MULTIHEAD_CALL_H_

#include "core/cache/call.h"
#include "core/rope/call.h"
#include "fovea/fovea.h"
#include "ground/base/carver.h"
#include "layers/linear/call.h"

namespace fovea {

struct MadePlan;

// A linear layer over tokens [batch][tokens]: one call, or one for each entry.
struct LinearStep {
  LinearCall call;
  uint32_t calls;            // 0 = nothing to do
  ptrdiff_t x_step, y_step;  // bytes from one call to the next
};

// The calls that a layer is made of, checked, in this order: those up to attention, then attention, then out. Each of
// the three is made when it runs, because all of them would need much stack below attention.
struct ProjectionSteps {
  LinearStep q, k, v;  // q computes all three where their weights are packed
  bool turns_q, turns_k;
  RopeCall turn_q, turn_k;
  AppendCall append;  // instead of turns, attention and out
};
struct AttentionStep {
  fovea_attention_args args;
  Workspace shared;  // used by each step in turn
};

// Projects queries, keys and values, and turns them; or, with a cache, projects keys and values and appends them. These
// fail only if an executor does.
fovea_status run_projections(ProjectionSteps* steps, MadeCache* append_to);

fovea_status run_attention_step(const MadePlan& plan, const AttentionStep& step);
fovea_status run_linear_step(LinearStep* step);

}  // namespace fovea

#endif  // FOVEA_SRC_MULTIHEAD_CALL_H_
