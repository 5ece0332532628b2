// SPDX-License-Identifier: Apache-2.0
//
// The kernels of normalisation and activation, compiled once for each target: ground/targets/each_target.inl includes this
// file again.
#if !defined(FOVEA_IN_TARGET)
#include "ground/base/arithmetic.h"
#include "ground/targets/options.inl"
#include "layers/norm/kernels.h"
#define FOVEA_KERNELS_NAMESPACE norm_kernels
#define FOVEA_KERNELS_FILE "layers/norm/kernels.cc"
#include "ground/targets/each_target.inl"
#else

namespace {
// clang-format off
#include FOVEA_BACKEND_HEADER
#include "ground/simd/common.inl"
#include "layers/norm/norm.inl"
// clang-format on
}  // namespace

FOVEA_IN_DATA_SECTION const ActivationKernels kActivation = kActivationKernels;
FOVEA_IN_DATA_SECTION const NormKernels kNorm = kNormKernels;

#endif
