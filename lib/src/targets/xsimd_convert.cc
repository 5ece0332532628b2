// SPDX-License-Identifier: Apache-2.0
//
// The conversion kernels on the xsimd page.
#include <xsimd/xsimd.hpp>
#include "simd/macros.h"
#include "targets/tables.h"

namespace fovea {
namespace xsimd_target {
namespace {
// clang-format off
#include "simd/xsimd.inl"
#include "simd/common.inl"
#include "formats/rows.inl"
#include "formats/convert.inl"
// clang-format on
}  // namespace

FOVEA_IN_DATA_SECTION const ConvertKernels kConvert = kConvertKernels;

}  // namespace xsimd_target
}  // namespace fovea
