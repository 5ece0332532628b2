// SPDX-License-Identifier: Apache-2.0
//
// The linear kernels with products of halves, compiled once for each target: targets/each_target.inl includes this file
// again. Where processors of the target may have arithmetic of halves, there is a kernel for those that have it, and
// one for the others, which computes the same bits by f32 arithmetic.
#if !defined(FOVEA_IN_TARGET)
#include "base/arithmetic.h"
#define FOVEA_FILLS_REGISTERS
#include "targets/options.inl"
#include "linear/f16_kernels.h"
#define FOVEA_KERNELS_NAMESPACE f16_linear_kernels
#define FOVEA_KERNELS_FILE "linear/f16_kernels.cc"
#include "targets/each_target.inl"
#else

namespace {
// clang-format off
#include FOVEA_BACKEND_HEADER
#include "simd/common.inl"
#include "formats/rows.inl"
namespace f16 {
#include "simd/apart.inl"
#define FOVEA_HALF_FILE "linear/f16_linear.inl"
#include "simd/each_half.inl"
#if defined(FOVEA_HAS_FEW_HALVES)
#define FOVEA_HALF_NAMESPACE of_halves
#include "linear/f16_few.inl"
#undef FOVEA_HALF_NAMESPACE
#endif

constexpr F16LinearTable Table() {
  F16LinearTable table = {};
  if (!kHasF16Linear) return table;
#if !FOVEA_FOR_HELIUM
  table.list[::fovea::kHalvesByFloats] = of_floats::kKernel;
#endif
#if defined(FOVEA_HAS_HALVES)
  table.list[::fovea::kHalves] = of_halves::kKernel;
#endif
#if defined(FOVEA_HAS_FEW_HALVES)
  table.list[::fovea::kFewHalves] = of_halves::kFewKernel;
#endif
  return table;
}
#undef FOVEA_HAS_HALVES
#undef FOVEA_HAS_FEW_HALVES
}  // namespace f16
// clang-format on
}  // namespace

FOVEA_IN_DATA_SECTION const F16LinearTable kF16Linear = f16::Table();

#endif
