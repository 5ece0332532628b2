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
#include "kernels/common.inl"
#include "kernels/math.inl"
#include "kernels/softmax.inl"
// clang-format on
}  // namespace

FOVEA_IN_DATA_SECTION const SoftmaxKernels kSoftmax = kSoftmaxKernels;

}  // namespace scalar_target
}  // namespace fovea
