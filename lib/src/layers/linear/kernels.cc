// SPDX-License-Identifier: Apache-2.0
//
// The linear kernels, compiled once for each target: ground/targets/each_target.inl includes this file again.
#if !defined(FOVEA_IN_TARGET)
#include "ground/base/arithmetic.h"
#define FOVEA_FILLS_REGISTERS
#include "ground/targets/options.inl"
#include "layers/linear/kernels.h"
#define FOVEA_KERNELS_NAMESPACE linear_kernels
#define FOVEA_KERNELS_FILE "layers/linear/kernels.cc"
#include "ground/targets/each_target.inl"
#else

namespace {
// clang-format off
#include FOVEA_BACKEND_HEADER
#include "ground/simd/common.inl"
#include "layers/linear/linear.inl"
// clang-format on
}  // namespace

FOVEA_IN_DATA_SECTION const LinearKernels kLinear = kLinearKernels;

#endif
