// SPDX-License-Identifier: Apache-2.0
//
// The attention kernels on the scalar page. A single lane leaves nothing empty, so there is no kernel for few rows.

#include "simd/macros.h"
#include "targets/tables.h"

namespace fovea {
namespace scalar_target {
namespace {
// clang-format off
#include "simd/scalar.inl"
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
// clang-format on
}  // namespace

FOVEA_IN_DATA_SECTION const AttentionKernels kAttention = {kLanes, hn::kBlockVectors, kTileKernels, {}};

}  // namespace scalar_target
}  // namespace fovea
