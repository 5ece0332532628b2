// SPDX-License-Identifier: Apache-2.0
//
// The kernel of rotations, compiled once for each target: ground/targets/each_target.inl includes this file again.
#if !defined(FOVEA_IN_TARGET)
#include "ground/base/arithmetic.h"
#include "ground/targets/options.inl"
#include "core/hadamard/kernels.h"
#define FOVEA_KERNELS_NAMESPACE hadamard_kernels
#define FOVEA_KERNELS_FILE "core/hadamard/kernels.cc"
#include "ground/targets/each_target.inl"
#else

namespace {
// clang-format off
#include FOVEA_BACKEND_HEADER
#include "ground/simd/common.inl"
#include "core/hadamard/hadamard.inl"
// clang-format on
}  // namespace

FOVEA_IN_DATA_SECTION const HadamardKernels kHadamard = {HadamardOneRow};

#endif
