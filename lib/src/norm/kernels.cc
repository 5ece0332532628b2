// SPDX-License-Identifier: Apache-2.0
//
// The kernels of normalisation and activation, compiled once for each target: targets/each_target.inl includes this
// file again.
#if !defined(FOVEA_IN_TARGET)
#include "base/arithmetic.h"
#include "targets/options.inl"
#include "norm/kernels.h"
#define FOVEA_KERNELS_NAMESPACE norm_kernels
#define FOVEA_KERNELS_FILE "norm/kernels.cc"
#include "targets/each_target.inl"
#else

namespace {
// clang-format off
#include FOVEA_BACKEND_HEADER
#include "simd/common.inl"
#include "norm/norm.inl"
// clang-format on
}  // namespace

FOVEA_IN_DATA_SECTION const ActivationKernels kActivation = kActivationKernels;
FOVEA_IN_DATA_SECTION const NormKernels kNorm = kNormKernels;

#endif
