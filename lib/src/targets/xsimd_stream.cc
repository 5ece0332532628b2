// SPDX-License-Identifier: Apache-2.0
//
// The kernels of streams on the xsimd page.
#include <xsimd/xsimd.hpp>
#include "simd/macros.h"
#include "targets/tables.h"

namespace fovea {
namespace xsimd_target {
namespace {
// clang-format off
#include "simd/xsimd.inl"
#include "simd/common.inl"
#include "math/math.inl"
#include "formats/rows.inl"
#include "attention/rows.inl"
#include "attention/stream.inl"
// clang-format on
}  // namespace

FOVEA_IN_DATA_SECTION const StreamKernels kStream = kStreamKernels;

}  // namespace xsimd_target
}  // namespace fovea
