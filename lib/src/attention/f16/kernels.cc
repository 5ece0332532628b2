// SPDX-License-Identifier: Apache-2.0
//
// The attention kernels with products of halves, compiled once for each target: targets/each_target.inl includes this
// file again. Where processors of the target may have arithmetic of halves, there is a kernel for those that have it,
// and one for the others, which computes the same bits by f32 arithmetic.
#if !defined(FOVEA_IN_TARGET)
#include "base/arithmetic.h"
#define FOVEA_FILLS_REGISTERS
#include "targets/options.inl"
#include "attention/steps/kernels.h"
#define FOVEA_KERNELS_NAMESPACE f16_kernels
#define FOVEA_KERNELS_FILE "attention/f16/kernels.cc"
#include "targets/each_target.inl"
#else

namespace {
// clang-format off
#include FOVEA_BACKEND_HEADER
#include "simd/common.inl"
#include "math/plain.inl"
#include "formats/rows.inl"
#include "attention/rows.inl"
#include "attention/steps/called.inl"
namespace f16 {
#include "simd/apart.inl"
#include "math/math.inl"
#include "attention/few_kernel.inl"
#include "attention/queries.inl"
#include "attention/softmax.inl"
#define FOVEA_HALF_FILE "attention/f16/tile.inl"
#include "simd/each_half.inl"
#if defined(FOVEA_HAS_FEW_HALVES)
#define FOVEA_HALF_NAMESPACE of_halves
#include "attention/f16/few.inl"
#undef FOVEA_HALF_NAMESPACE
#endif

constexpr F16Kernels Table() {
  F16Kernels table = {};
  if (!kHasF16Products) return table;
#if !FOVEA_FOR_HELIUM
  table.tile[0] = TileKernel<of_floats::TileParts>::Kernel(kOnlyF32, nullptr, nullptr);
#endif
#if defined(FOVEA_HAS_HALVES)
  table.tile[1] = TileKernel<of_halves::TileParts>::Kernel(kF16Rows, nullptr, nullptr);
#endif
#if defined(FOVEA_HAS_FEW_HALVES)
  table.few = FewRowsKernel<of_halves::FewParts>::Kernel(kF16Rows, nullptr, nullptr);
#endif
  return table;
}
#undef FOVEA_HAS_HALVES
#undef FOVEA_HAS_FEW_HALVES
}  // namespace f16
// clang-format on
}  // namespace

FOVEA_IN_DATA_SECTION const F16Kernels kF16 = f16::Table();

#endif
