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
#include "simd/halves.inl"
#include "math/half_block.inl"
#include "math/half_lanes.inl"
#if !FOVEA_FOR_HELIUM
namespace of_floats {
using Half = FloatHalves;
#include "attention/f16/tile.inl"
}  // namespace of_floats
#endif
#if FOVEA_FOR_HELIUM || defined(FOVEA_HAS_NEON_HALF) || defined(FOVEA_HAS_AVX512_HALF)
namespace of_halves {
using Half = OwnHalves;
#include "attention/f16/tile.inl"
#if !defined(FOVEA_HAS_AVX512_HALF)
#include "attention/f16/few.inl"
#endif
}  // namespace of_halves
#endif

constexpr F16Kernels Table() {
  F16Kernels table = {};
  if (!kHasF16Products) return table;
#if !FOVEA_FOR_HELIUM
  table.tile[0] = of_floats::TileKernel(kOnlyF32, nullptr, nullptr);
#endif
#if FOVEA_FOR_HELIUM || defined(FOVEA_HAS_NEON_HALF) || defined(FOVEA_HAS_AVX512_HALF)
  table.tile[1] = of_halves::TileKernel(kF16Rows, nullptr, nullptr);
#if !defined(FOVEA_HAS_AVX512_HALF)
  table.few = of_halves::FewRowsKernel(kF16Rows, nullptr, nullptr);
#endif
#endif
  return table;
}
}  // namespace f16
// clang-format on
}  // namespace

FOVEA_IN_DATA_SECTION const F16Kernels kF16 = f16::Table();

#endif
