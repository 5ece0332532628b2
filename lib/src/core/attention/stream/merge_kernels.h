// SPDX-License-Identifier: Apache-2.0
//
// The kernel that merges partial states.
#ifndef FOVEA_SRC_ATTENTION_STREAM_MERGE_KERNELS_H_
#define FOVEA_SRC_ATTENTION_STREAM_MERGE_KERNELS_H_

#include "core/attention/kernels.h"
#include "ground/targets/choice.h"

namespace fovea {

// A program that only merges states links no other kernel of attention. Multiplications and additions are not fused: states
// of f32 and of integer products are merged alike.
struct MergeKernels {
  void (*merge)(const StateRows& into, const StateRows& from, size_t rows, size_t value_dim);
};

FOVEA_TABLES_IN(MergeKernels, kMerge, step_kernels, merge_kernels)

}  // namespace fovea

#endif  // FOVEA_SRC_ATTENTION_STREAM_MERGE_KERNELS_H_
