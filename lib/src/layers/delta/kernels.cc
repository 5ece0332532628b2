// SPDX-License-Identifier: Apache-2.0
//
// The kernels of linear attention, compiled once for each target: ground/targets/each_target.inl includes this file again.
#if !defined(FOVEA_IN_TARGET)
#include "ground/base/arithmetic.h"
#include "ground/targets/options.inl"
#include "layers/delta/kernels.h"
#include "ground/formats/formats.h"
#define FOVEA_KERNELS_NAMESPACE delta_kernels
#define FOVEA_KERNELS_FILE "layers/delta/kernels.cc"
#include "ground/targets/each_target.inl"
#else

namespace {
// clang-format off
#include FOVEA_BACKEND_HEADER
#include "ground/simd/common.inl"
#include "layers/delta/delta.inl"
// clang-format on
}  // namespace

FOVEA_IN_DATA_SECTION const DeltaKernels kDelta = kDeltaKernels;

#endif
