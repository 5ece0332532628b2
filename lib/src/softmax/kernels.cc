// SPDX-License-Identifier: Apache-2.0
//
// The softmax kernels, compiled once for each target: targets/each_target.inl includes this file again.
#if !defined(FOVEA_IN_TARGET)
#include "base/arithmetic.h"
#include "targets/options.inl"
#include "softmax/kernels.h"
#define FOVEA_KERNELS_NAMESPACE softmax_kernels
#define FOVEA_KERNELS_FILE "softmax/kernels.cc"
#include "targets/each_target.inl"
#else

namespace {
// clang-format off
#include FOVEA_BACKEND_HEADER
#include "simd/common.inl"
#include "softmax/softmax.inl"
// clang-format on
}  // namespace

FOVEA_IN_DATA_SECTION const SoftmaxKernels kSoftmax = kSoftmaxKernels;

#endif
