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
#include "simd/common.inl"
#include "formats/rows.inl"
#include "math/block.inl"
#include "linear/linear.inl"
// clang-format on
}  // namespace

FOVEA_IN_DATA_SECTION const LinearKernels kLinear = kLinearKernels;

}  // namespace scalar_target
}  // namespace fovea
