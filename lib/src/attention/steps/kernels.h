// SPDX-License-Identifier: Apache-2.0
//
// The functions around the products and the softmax of an attention kernel. Kernels of f32 and of integer products share
// them: multiplications and additions are not fused, so that both compute the same, on every target.
#ifndef FOVEA_SRC_ATTENTION_STEPS_KERNELS_H_
#define FOVEA_SRC_ATTENTION_STEPS_KERNELS_H_

#include "attention/kernels.h"
#include "targets/choice.h"

namespace fovea {

struct StepTables {
  StepKernels tile, few;  // for tiles whose lanes are rows, and for those of the few-rows kernels
};

FOVEA_TABLES(StepTables, kSteps, step_kernels)

}  // namespace fovea

#endif  // FOVEA_SRC_ATTENTION_STEPS_KERNELS_H_
