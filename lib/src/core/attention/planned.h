// SPDX-License-Identifier: Apache-2.0
//
// What is in the storage of a plan: programs see bytes.
#ifndef FOVEA_SRC_ATTENTION_PLANNED_H_
#define FOVEA_SRC_ATTENTION_PLANNED_H_

#include "fovea/fovea.h"

namespace fovea {

// A kernel that calls of a plan may take.
struct PlannedKernel {
  uint32_t index;      // of the kernel in the target's list
  uint32_t most_rows;  // most query rows of a key head; UINT32_MAX = any number, 0 = calls do not take this kernel
  uint32_t tile_rows;  // most query rows in a query tile
  uint32_t tiles;      // most query tiles that share each key tile
};

struct MadePlan {
  uint32_t magic;
  uint32_t lanes;             // floats in a vector of the target; halves, where the processor multiplies these
  uint32_t dot;               // I8: the DotKind; F16: 1 = the processor multiplies halves; else 0
  PlannedKernel kernels[2];   // for few query rows, and for any number
  size_t worker_bytes;        // of workspace, for each worker
  size_t split_bytes;         // of workspace, for the partial states of split keys, or of pushes with a loader
  size_t workspace_bytes;     // in all
  fovea_attention_desc desc;  // with a scale and a target that are never 0, and the diagonal, if causal names one
};
static_assert(sizeof(MadePlan) <= sizeof(fovea_attention_plan) && alignof(MadePlan) <= alignof(fovea_attention_plan));

inline MadePlan& made(fovea_attention_plan& plan) { return *reinterpret_cast<MadePlan*>(plan.bytes); }
inline const MadePlan& made(const fovea_attention_plan& plan) {
  return *reinterpret_cast<const MadePlan*>(plan.bytes);
}

}  // namespace fovea

#endif  // FOVEA_SRC_ATTENTION_PLANNED_H_
