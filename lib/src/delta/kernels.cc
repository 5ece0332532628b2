// SPDX-License-Identifier: Apache-2.0
//
// The kernels of linear attention, compiled once for each target: targets/each_target.inl includes this file again.
#if !defined(FOVEA_IN_TARGET)
#include "base/arithmetic.h"
#include "targets/options.inl"
#include "delta/kernels.h"
#include "formats/formats.h"
#define FOVEA_KERNELS_NAMESPACE delta_kernels
#define FOVEA_KERNELS_FILE "delta/kernels.cc"
#include "targets/each_target.inl"
#else

namespace {
// clang-format off
#include FOVEA_BACKEND_HEADER
#include "simd/common.inl"
#include "delta/delta.inl"
// clang-format on
}  // namespace

FOVEA_IN_DATA_SECTION const DeltaKernels kDelta = kDeltaKernels;

#endif
