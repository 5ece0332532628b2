// SPDX-License-Identifier: Apache-2.0
//
// How kernels call the steps of their target: those of steps/kernels.cc, which kernels of all arithmetics share. In
// builds with one arithmetic they are part of its kernels, which then have one copy of what both need.

#include "attention/steps/asked.inl"

#if FOVEA_ENABLE_COMPUTE_F16 || FOVEA_ENABLE_COMPUTE_I8
constexpr const StepKernels& kTileSteps = FOVEA_COMMON_NAMESPACE::step_kernels::kSteps.tile;
constexpr const StepKernels& kFewSteps = FOVEA_COMMON_NAMESPACE::step_kernels::kSteps.few;
#else
namespace apart {
#include "simd/apart.inl"
#include "attention/steps/text.inl"
}  // namespace apart
using apart::kFewSteps;
using apart::kTileSteps;
#endif
