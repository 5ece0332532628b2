// SPDX-License-Identifier: Apache-2.0
//
// The functions around the products and the softmax of an attention kernel. Kernels of f32 and of integer products share
// them: multiplications and additions are not fused, so that both compute the same, on every target.
#ifndef FOVEA_SRC_ATTENTION_STEPS_KERNELS_H_
#define FOVEA_SRC_ATTENTION_STEPS_KERNELS_H_

#include "core/attention/kernels.h"
#include "ground/targets/choice.h"

// Whether kernels call functions of the steps that they would otherwise have themselves: where size counts and there are
// kernels of several arithmetics.
#define FOVEA_SHARES_STEPS (FOVEA_PREFER_SIZE && (FOVEA_ENABLE_COMPUTE_F16 || FOVEA_ENABLE_COMPUTE_I8))

namespace fovea {

struct StepTables {
  StepKernels tile, few;  // for tiles whose lanes are rows, and for those of the few-rows kernels
};

FOVEA_TABLES(StepTables, kSteps, step_kernels)

// The kernel that merges partial states, without fusing, because states of f32 and of integer products are merged alike. A program that only merges links no other kernel of attention.
struct MergeKernels {
  void (*merge)(const StateRows& into, const StateRows& from, size_t rows, size_t value_dim);
};

FOVEA_TABLES_IN(MergeKernels, kMerge, step_kernels, merge_kernels)

#if FOVEA_SHARES_STEPS
// In the namespace of each target's steps. `lanes` and `vector` are vectors of f32 in memory.
#define FOVEA_DECLARE_SHARED_(nothing, id, name, kernels, backend, target_namespace, ...)            \
  namespace target_namespace {                                                                       \
  namespace step_kernels {                                                                           \
  void exp2_of(float* vector);                                                                       \
  void load_transposed(const char* const* rows, fovea_dtype dtype, size_t d, size_t n, void* lanes); \
  ptrdiff_t row_offset(const QueryTile& t, size_t r, ptrdiff_t token_stride, ptrdiff_t head_stride); \
  bool clip_to_rows(const QueryTile& t, size_t first_row, size_t last_row, KeySpan* keys);           \
  }                                                                                                  \
  }
FOVEA_TARGETS(FOVEA_DECLARE_SHARED_, )
#undef FOVEA_DECLARE_SHARED_
#endif

}  // namespace fovea

#endif  // FOVEA_SRC_ATTENTION_STEPS_KERNELS_H_
