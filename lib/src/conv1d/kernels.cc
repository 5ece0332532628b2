// SPDX-License-Identifier: Apache-2.0
//
// The kernels of short convolutions, compiled once for each target: targets/each_target.inl includes this file again.
#if !defined(FOVEA_IN_TARGET)
#include "base/arithmetic.h"
#include "targets/options.inl"
#include "conv1d/kernels.h"
#define FOVEA_KERNELS_NAMESPACE conv1d_kernels
#define FOVEA_KERNELS_FILE "conv1d/kernels.cc"
#include "targets/each_target.inl"
#else

namespace {
// clang-format off
#include FOVEA_BACKEND_HEADER
#include "simd/common.inl"
#include "conv1d/conv1d.inl"
// clang-format on
}  // namespace

FOVEA_IN_DATA_SECTION const Conv1dKernels kConv1d = kConv1dKernels;

#endif
