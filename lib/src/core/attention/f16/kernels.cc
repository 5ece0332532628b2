// SPDX-License-Identifier: Apache-2.0
//
// The attention kernels with products of halves, compiled once for each target: ground/targets/each_target.inl includes this
// file again. Where processors of the target may have arithmetic of halves, there is a kernel for those that have it,
// and one for the others, which computes the same bits by f32 arithmetic. FMLAL, whose sums are floats, would take more
// instructions. AVX512-FP16 has a tile kernel alone: few rows would transpose 32 lanes, by another text.
#if !defined(FOVEA_IN_TARGET)
#include "ground/base/arithmetic.h"
#define FOVEA_FILLS_REGISTERS
#include "ground/targets/options.inl"
#include "core/attention/steps/kernels.h"
#define FOVEA_KERNELS_NAMESPACE f16_kernels
#define FOVEA_KERNELS_FILE "core/attention/f16/kernels.cc"
#include "ground/targets/each_target.inl"
#else

namespace {
// clang-format off
#include FOVEA_BACKEND_HEADER
#include "ground/simd/common.inl"
#include "core/attention/steps/called.inl"
namespace f16 {
#include "ground/simd/apart.inl"
#include "core/attention/f16/few_rows.inl"
#include "core/attention/f16/products.inl"

// Nothing where there are no words.
template <class Half>
constexpr AttentionKernel TileOf(FormatSet formats) {
  if constexpr (kHasF16Products && Half::kRows != 0) {
    return TileKernel<HalfTile<Half>>::Kernel(formats, nullptr, nullptr);
  }
  return {};
}
template <class Half>
constexpr AttentionKernel FewRowsOf() {
  if constexpr (kHasF16Products && Half::kServesFewRows) {
    return FewRowsKernel<HalfFewRows<Half>>::Kernel(kF16Rows, nullptr, nullptr);
  }
  return {};
}
constexpr F16Kernels kTable = {{TileOf<FloatHalves>(kOnlyF32), TileOf<OwnHalves>(kF16Rows)}, FewRowsOf<OwnHalves>()};
}  // namespace f16
// clang-format on
}  // namespace

FOVEA_IN_DATA_SECTION const F16Kernels kF16 = f16::kTable;

#endif
