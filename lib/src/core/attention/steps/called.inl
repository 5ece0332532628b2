// SPDX-License-Identifier: Apache-2.0
//
// How kernels call the steps of their target: those of steps/kernels.cc, which kernels of all arithmetics share. In
// builds with one arithmetic they are part of its kernels, which then have one copy of what both need.
#ifndef FOVEA_SRC_ATTENTION_STEPS_CALLED_INL_
#define FOVEA_SRC_ATTENTION_STEPS_CALLED_INL_

#include "core/attention/rows.inl"
#include "core/attention/steps/asked.inl"
#include "ground/math/plain.inl"

#if FOVEA_ENABLE_COMPUTE_F16 || FOVEA_ENABLE_COMPUTE_I8
constexpr const StepKernels& kTileSteps = FOVEA_COMMON_NAMESPACE::step_kernels::kSteps.tile;
constexpr const StepKernels& kFewSteps = FOVEA_COMMON_NAMESPACE::step_kernels::kSteps.few;
#else
#include "core/attention/few_block.inl"
#include "ground/math/math.inl"
namespace apart {
#include "ground/simd/apart.inl"

#include "core/attention/steps/tile_steps.inl"
}  // namespace apart
using apart::kFewSteps;
using apart::kTileSteps;
#endif

#endif  // FOVEA_SRC_ATTENTION_STEPS_CALLED_INL_
