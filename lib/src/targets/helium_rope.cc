// SPDX-License-Identifier: Apache-2.0
//
// The rope kernels on the Helium page.
#include <arm_mve.h>
#include "simd/macros.h"
#include "targets/tables.h"

namespace fovea {
namespace helium_target {
namespace {
// clang-format off
#include "simd/helium.inl"
#include "simd/common.inl"
#include "rope/rope.inl"
// clang-format on
}  // namespace

FOVEA_IN_DATA_SECTION const RopeKernels kRope = kRopeKernels;

}  // namespace helium_target
}  // namespace fovea
