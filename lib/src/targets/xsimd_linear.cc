// SPDX-License-Identifier: Apache-2.0
//
// The linear kernels on the xsimd page.
#include <xsimd/xsimd.hpp>
#include "simd/macros.h"
#include "targets/tables.h"

namespace fovea {
namespace xsimd_target {
namespace {
// clang-format off
#include "simd/xsimd.inl"
#include "kernels/common.inl"
#include "kernels/formats.inl"
#include "kernels/block.inl"
#include "kernels/linear.inl"
// clang-format on
}  // namespace

FOVEA_IN_DATA_SECTION const LinearKernels kLinear = kLinearKernels;

}  // namespace xsimd_target
}  // namespace fovea
