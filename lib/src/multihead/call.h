// SPDX-License-Identifier: Apache-2.0
#ifndef FOVEA_SRC_MULTIHEAD_CALL_H_
#define FOVEA_SRC_MULTIHEAD_CALL_H_

#include "base/carver.h"
#include "cache/call.h"
#include "fovea/fovea.h"
#include "linear/call.h"
#include "rope/call.h"

namespace fovea {

// A linear layer over tokens [batch][tokens]: one call, or one for each entry.
struct LinearStep {
  LinearCall call;
  uint32_t calls;            // 0 = nothing to do
  ptrdiff_t x_step, y_step;  // bytes from one call to the next
};

// The calls that a layer is made of, checked, in this order.
struct MultiheadSteps {
  LinearStep q, k, v;  // q computes all three where their weights are packed
  bool turns_q, turns_k;
  RopeCall turn_q, turn_k;
  union {
    fovea_attention_args attention;
    AppendCall append;  // instead of attention and out
  };
  LinearStep out;
  Workspace shared;  // used by each of them in turn
};

// Runs the layer; or, with a cache, projects keys and values and appends them. Fails only if an executor does.
fovea_status run_multihead(const fovea_multihead_plan& plan, MultiheadSteps* steps, fovea_kv_cache* append_to);

}  // namespace fovea

#endif  // FOVEA_SRC_MULTIHEAD_CALL_H_
