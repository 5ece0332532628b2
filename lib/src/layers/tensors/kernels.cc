// SPDX-License-Identifier: Apache-2.0
//
// The kernels of sums, products and pooling, compiled once for each target: ground/targets/each_target.inl includes this file
// again.
#if !defined(FOVEA_IN_TARGET)
#include "ground/base/arithmetic.h"
#include "ground/targets/options.inl"
#include "layers/tensors/kernels.h"
#define FOVEA_KERNELS_NAMESPACE tensor_kernels
#define FOVEA_KERNELS_FILE "layers/tensors/kernels.cc"
#include "ground/targets/each_target.inl"
#else

namespace {
// clang-format off
#include FOVEA_BACKEND_HEADER
#include "ground/simd/common.inl"
#include "layers/tensors/tensors.inl"
// clang-format on
}  // namespace

FOVEA_IN_DATA_SECTION const TensorKernels kTensors = kTensorKernels;

#endif
