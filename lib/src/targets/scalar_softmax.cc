// SPDX-License-Identifier: Apache-2.0
//
// The softmax kernels on the scalar page.

#include "simd/macros.h"
#include "targets/tables.h"

namespace fovea {
namespace scalar_target {
namespace {
// clang-format off
#include "simd/scalar.inl"
#include "simd/common.inl"
#include "math/math.inl"
#include "softmax/softmax.inl"
// clang-format on
}  // namespace

FOVEA_IN_DATA_SECTION const SoftmaxKernels kSoftmax = kSoftmaxKernels;

}  // namespace scalar_target
}  // namespace fovea
