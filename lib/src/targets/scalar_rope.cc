// SPDX-License-Identifier: Apache-2.0
//
// The rope kernels on the scalar page.

#include "simd/macros.h"
#include "targets/tables.h"

namespace fovea {
namespace scalar_target {
namespace {
// clang-format off
#include "simd/scalar.inl"
#include "simd/common.inl"
#include "rope/rope.inl"
// clang-format on
}  // namespace

FOVEA_IN_DATA_SECTION const RopeKernels kRope = kRopeKernels;

}  // namespace scalar_target
}  // namespace fovea
