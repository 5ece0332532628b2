// SPDX-License-Identifier: Apache-2.0
//
// The linear kernels on the scalar page.

#include "simd/macros.h"
#include "targets/tables.h"

namespace fovea {
namespace scalar_target {
namespace {
// clang-format off
#include "simd/scalar.inl"
#include "kernels/common.inl"
#include "kernels/formats.inl"
#include "kernels/block.inl"
#include "kernels/linear.inl"
// clang-format on
}  // namespace

FOVEA_IN_DATA_SECTION const LinearKernels kLinear = kLinearKernels;

}  // namespace scalar_target
}  // namespace fovea
