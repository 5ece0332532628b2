// SPDX-License-Identifier: Apache-2.0
//
// The kernel that merges states, compiled once for each target: ground/targets/each_target.inl includes this file again. Empty
// in builds with several arithmetics, where it is part of steps/kernels.cc.
#if !defined(FOVEA_IN_TARGET)
#include "ground/base/arithmetic.h"
#include "ground/targets/options.inl"
#include "core/attention/steps/kernels.h"
#if !FOVEA_ENABLE_COMPUTE_F16 && !FOVEA_ENABLE_COMPUTE_I8
#define FOVEA_KERNELS_NAMESPACE step_kernels
#define FOVEA_KERNELS_FILE "core/attention/stream/merge_kernels.cc"
#include "ground/targets/each_target.inl"
#endif
#else

namespace {
// clang-format off
#include FOVEA_BACKEND_HEADER
#include "ground/simd/common.inl"
namespace apart {
#include "ground/simd/apart.inl"
#include "core/attention/stream/merge.inl"
}  // namespace apart
// clang-format on
}  // namespace

FOVEA_IN_DATA_SECTION const MergeKernels kMerge = {apart::MergeStates};

#endif
