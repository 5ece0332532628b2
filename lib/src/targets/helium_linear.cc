// SPDX-License-Identifier: Apache-2.0
//
// The linear kernels on the Helium page.
#include <arm_mve.h>
#include "simd/macros.h"
#include "targets/tables.h"

namespace fovea {
namespace helium_target {
namespace {
// clang-format off
#include "simd/helium.inl"
#include "kernels/common.inl"
#include "kernels/formats.inl"
#include "kernels/block.inl"
#include "kernels/linear.inl"
// clang-format on
}  // namespace

FOVEA_IN_DATA_SECTION const LinearKernels kLinear = kLinearKernels;

}  // namespace helium_target
}  // namespace fovea
