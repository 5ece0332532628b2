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
#include "kernels/common.inl"
#include "kernels/math.inl"
#include "kernels/formats.inl"
#include "kernels/rows.inl"
#include "kernels/block.inl"
#include "kernels/additive.inl"
#include "kernels/tile.inl"
#include "kernels/stages.inl"
#include "kernels/philox.inl"
#include "kernels/dropout.inl"
#include "kernels/attention.inl"
// clang-format on
}  // namespace

FOVEA_IN_DATA_SECTION const AttentionKernels kAttention = {kLanes, hn::kBlockVectors, kTileKernels, {}};

}  // namespace scalar_target
}  // namespace fovea
