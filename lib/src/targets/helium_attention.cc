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
#include "kernels/few_rows.inl"
// clang-format on
}  // namespace

FOVEA_IN_DATA_SECTION const AttentionKernels kAttention = {kLanes, hn::kBlockVectors, kTileKernels, kFewRowsKernels};

}  // namespace helium_target
}  // namespace fovea
