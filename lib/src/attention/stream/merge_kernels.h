// SPDX-License-Identifier: Apache-2.0
//
// The kernel that merges partial states.
#ifndef FOVEA_SRC_ATTENTION_STREAM_MERGE_KERNELS_H_
#define FOVEA_SRC_ATTENTION_STREAM_MERGE_KERNELS_H_

#include "attention/kernels.h"
#include "targets/choice.h"

namespace fovea {

// A program that only merges states links no other kernel of attention.
struct MergeKernel {
  void (*merge)(const StateRows& into, const StateRows& from, size_t rows, size_t value_dim);
};
struct MergeKernels {
  MergeKernel f32;
  MergeKernel i8;  // for integer products: multiplications and additions are not fused
};

FOVEA_TABLES(MergeKernels, kMerge, merge_kernels)

}  // namespace fovea

#endif  // FOVEA_SRC_ATTENTION_STREAM_MERGE_KERNELS_H_
