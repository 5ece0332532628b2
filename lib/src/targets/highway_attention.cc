// SPDX-License-Identifier: Apache-2.0
//
// The attention kernels on each of Highway's targets: foreach_target includes this file once for each.
#include "simd/highway_targets.h"
#include "targets/tables.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "targets/highway_attention.cc"
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
#include "math/block.inl"
#include "attention/additive.inl"
#include "attention/tile.inl"
#include "attention/score_steps.inl"
#include "math/philox.inl"
#include "attention/dropout.inl"
#include "attention/tile_kernel.inl"
#include "attention/few_rows.inl"
// clang-format on
}  // namespace

extern const AttentionKernels kAttention;
FOVEA_IN_DATA_SECTION const AttentionKernels kAttention = {kLanes, hn::kBlockVectors, kTileKernels, kFewRowsKernels};

}  // namespace HWY_NAMESPACE
}  // namespace fovea
HWY_AFTER_NAMESPACE();
#endif
