// SPDX-License-Identifier: Apache-2.0
//
// The kernels of streams on the Helium page.
#include <arm_mve.h>
#include "simd/macros.h"
#include "targets/tables.h"

namespace fovea {
namespace helium_target {
namespace {
// clang-format off
#include "simd/helium.inl"
#include "simd/common.inl"
#include "math/math.inl"
#include "formats/rows.inl"
#include "attention/rows.inl"
#include "attention/stream.inl"
// clang-format on
}  // namespace

FOVEA_IN_DATA_SECTION const StreamKernels kStream = kStreamKernels;

}  // namespace helium_target
}  // namespace fovea
