// SPDX-License-Identifier: Apache-2.0
//
// The attention kernels, compiled once for each target: ground/targets/each_target.inl includes this file again.
#if !defined(FOVEA_IN_TARGET)
#include "ground/base/arithmetic.h"
#define FOVEA_FILLS_REGISTERS
#include "ground/targets/options.inl"
#include "core/attention/steps/kernels.h"
#define FOVEA_KERNELS_NAMESPACE attention_kernels
#define FOVEA_KERNELS_FILE "core/attention/kernels.cc"
#include "ground/targets/each_target.inl"
#else

namespace {
// clang-format off
#include FOVEA_BACKEND_HEADER
#include "ground/simd/common.inl"
#include "core/attention/tile.inl"
#include "core/attention/tile_kernel.inl"
#include "core/attention/few_whole.inl"
// clang-format on
constexpr AttentionKernels KernelsOfTarget() {
  AttentionKernels kernels = {kLanes, hn::kBlockVectors, {}};
  if (kFewRowsServed) kernels.list[kFewRowsKernel] = F32FewWhole::Kernel();
  kernels.list[kFewRowsServed ? uint32_t(kTileKernel) : 0] = TileKernel<F32Tile>::Kernel(kOnlyF32, nullptr, nullptr);
  return kernels;
}
}  // namespace

FOVEA_IN_DATA_SECTION const AttentionKernels kAttention = KernelsOfTarget();

#endif
