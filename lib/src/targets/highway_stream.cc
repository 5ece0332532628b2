// SPDX-License-Identifier: Apache-2.0
//
// The kernels of streams on each of Highway's targets: foreach_target includes this file once for each.
#include "simd/highway_targets.h"
#include "targets/tables.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "targets/highway_stream.cc"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#if HWY_TARGET != HWY_SCALAR && HWY_TARGET != HWY_EMU128
HWY_BEFORE_NAMESPACE();
namespace fovea {
namespace HWY_NAMESPACE {
namespace {
// clang-format off
#include "simd/highway.inl"
#include "simd/common.inl"
#include "math/math.inl"
#include "formats/rows.inl"
#include "attention/rows.inl"
#include "attention/stream.inl"
// clang-format on
}  // namespace

extern const StreamKernels kStream;
FOVEA_IN_DATA_SECTION const StreamKernels kStream = kStreamKernels;

}  // namespace HWY_NAMESPACE
}  // namespace fovea
HWY_AFTER_NAMESPACE();
#endif
