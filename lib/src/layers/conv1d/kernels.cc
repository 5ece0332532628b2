// SPDX-License-Identifier: Apache-2.0
//
// The kernels of short convolutions, compiled once for each target: ground/targets/each_target.inl includes this file again.
#if !defined(FOVEA_IN_TARGET)
#include "ground/base/arithmetic.h"
#include "ground/targets/options.inl"
#include "layers/conv1d/kernels.h"
#define FOVEA_KERNELS_NAMESPACE conv1d_kernels
#define FOVEA_KERNELS_FILE "layers/conv1d/kernels.cc"
#include "ground/targets/each_target.inl"
#else

namespace {
// clang-format off
#include FOVEA_BACKEND_HEADER
#include "ground/simd/common.inl"
#include "layers/conv1d/conv1d.inl"
// clang-format on
}  // namespace

FOVEA_IN_DATA_SECTION const Conv1dKernels kConv1d = kConv1dKernels;

#endif
