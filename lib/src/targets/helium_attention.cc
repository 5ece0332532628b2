// SPDX-License-Identifier: Apache-2.0
//
// The attention kernels on the Helium page.
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

FOVEA_IN_DATA_SECTION const AttentionKernels kAttention = {kLanes, hn::kBlockVectors, kTileKernels, kFewRowsKernels};

}  // namespace helium_target
}  // namespace fovea
