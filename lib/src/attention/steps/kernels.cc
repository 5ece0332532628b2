// SPDX-License-Identifier: Apache-2.0
//
// The steps around the products, compiled once for each target: targets/each_target.inl includes this file again. Empty
// in builds with one arithmetic, whose kernels contain the steps.
#if !defined(FOVEA_IN_TARGET)
#include "base/arithmetic.h"
#include "targets/options.inl"
#include "attention/steps/kernels.h"
#define FOVEA_KERNELS_NAMESPACE step_kernels
#define FOVEA_KERNELS_FILE "attention/steps/kernels.cc"
#include "targets/each_target.inl"
#elif FOVEA_ENABLE_COMPUTE_F16 || FOVEA_ENABLE_COMPUTE_I8

namespace {
// clang-format off
#include FOVEA_BACKEND_HEADER
#include "simd/common.inl"
#include "math/plain.inl"
#include "formats/rows.inl"
#include "attention/rows.inl"
namespace apart {
#include "simd/apart.inl"
#include "attention/steps/asked.inl"
#include "attention/steps/text.inl"
}  // namespace apart
// clang-format on
}  // namespace

FOVEA_IN_DATA_SECTION const StepTables kSteps = {apart::kTileSteps, apart::kFewSteps};

#endif
