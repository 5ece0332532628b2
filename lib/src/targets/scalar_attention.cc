// SPDX-License-Identifier: Apache-2.0
//
// The attention kernels on the scalar page.

#include "simd/macros.h"
#include "targets/tables.h"

namespace fovea {
namespace scalar_target {
namespace {
// clang-format off
#include "simd/scalar.inl"
#include "kernels/common.inl"
#include "kernels/math.inl"
#include "kernels/rows.inl"
#include "kernels/tile.inl"
#include "kernels/stages.inl"
#include "kernels/attention.inl"
// clang-format on
}  // namespace

const AttentionKernels kAttention = kAttentionKernels;

}  // namespace scalar_target
}  // namespace fovea
