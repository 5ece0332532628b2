// SPDX-License-Identifier: Apache-2.0
//
// The kernels of sums, products and pooling, compiled once for each target: targets/each_target.inl includes this file
// again.
#if !defined(FOVEA_IN_TARGET)
#include "base/arithmetic.h"
#include "targets/options.inl"
#include "tensors/kernels.h"
#define FOVEA_KERNELS_NAMESPACE tensor_kernels
#define FOVEA_KERNELS_FILE "tensors/kernels.cc"
#include "targets/each_target.inl"
#else

namespace {
// clang-format off
#include FOVEA_BACKEND_HEADER
#include "simd/common.inl"
#include "tensors/tensors.inl"
// clang-format on
}  // namespace

FOVEA_IN_DATA_SECTION const TensorKernels kTensors = kTensorKernels;

#endif
