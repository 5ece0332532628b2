// SPDX-License-Identifier: Apache-2.0
//
// The rope kernels on the xsimd page.
#include <xsimd/xsimd.hpp>
#include "simd/macros.h"
#include "targets/tables.h"

namespace fovea {
namespace xsimd_target {
namespace {
// clang-format off
#include "simd/xsimd.inl"
#include "simd/common.inl"
#include "rope/rope.inl"
// clang-format on
}  // namespace

FOVEA_IN_DATA_SECTION const RopeKernels kRope = kRopeKernels;

}  // namespace xsimd_target
}  // namespace fovea
