// SPDX-License-Identifier: Apache-2.0
//
// The attention kernels with integer products, compiled once for each target: ground/targets/each_target.inl includes this
// file again. There is a kernel for each kind of dot product that processors of the target may have.
#if !defined(FOVEA_IN_TARGET)
#include "ground/base/arithmetic.h"
#include "ground/targets/options.inl"
#if FOVEA_FOR_SCALAR
// g++ 12 makes vectors of loads that are not adjacent, and then reads past the end.
FOVEA_GNU_OPTIONS("no-tree-loop-vectorize")
#elif FOVEA_FOR_NEON
// The softmax takes as long as the products. If registers are renamed, and scheduled only after that, its loop takes
// 482 cycles on a Cortex-A55 instead of 765, by llvm-mca.
FOVEA_GNU_OPTIONS("no-schedule-insns", "rename-registers")
#endif
#include "core/attention/steps/kernels.h"
#include "ground/formats/kernels.h"
#include "ground/math/byte_kernels.h"
#define FOVEA_KERNELS_NAMESPACE i8_kernels
#define FOVEA_KERNELS_FILE "core/attention/i8/kernels.cc"
#include "ground/targets/each_target.inl"
#else

namespace {
// clang-format off
#include FOVEA_BACKEND_HEADER
#include "ground/simd/common.inl"
#include "core/attention/rows.inl"
#include "core/attention/steps/called.inl"
#include "ground/math/block.inl"
// Multiply-adds of the texts before apart.inl stay fused. What only i8 includes has Mul, then Add.
namespace i8 {
#include "ground/simd/apart.inl"
#include "ground/simd/dots.inl"
#include "core/attention/i8/bring.inl"
#include "core/attention/i8/tile.inl"
#if !FOVEA_FOR_ONE_LANE
#include "core/attention/few_kernel.inl"
#include "core/attention/i8/few_rows.inl"
#endif
#if FOVEA_FOR_HELIUM
#include "ground/simd/dot_helium_row.inl"
using DotsOfAttention = DotList<HeliumRow>;
#else
using DotsOfAttention = Dots;
#endif

template <class Dot>
constexpr void AddKernels(I8Kernels* table) {
  AttentionKernel(&list)[kF16TileKernel - kI8FewRowsKernel] = table->list[dot_row(Dot::kKind)];
  list[kI8TileKernel - kI8FewRowsKernel] =
      TileKernel<I8Tile<Dot>>::Kernel(kCodedFormats, I8Bring<Dot>::BringKeys, I8Bring<Dot>::BringValues);
#if !FOVEA_FOR_ONE_LANE  // a single lane is never empty
  // For few rows smmla takes sdot's kernel, and the user's instruction the tile kernel.
  if constexpr (Dot::kKind != kDotSmmla && Dot::kKind != kDotOwn) {
    using Bring = I8FewBring<Dot>;
    list[kI8FewRowsKernel - kI8FewRowsKernel] =
        FewRowsKernel<I8FewRows<Dot>>::Kernel(kCodedFormats, Bring::FewBringKeys, Bring::FewBringValues);
  }
#endif
}

template <class... Dot>
constexpr I8Kernels Table(DotList<Dot...>) {
  I8Kernels table = {};
  if (!kHasI8Products) return table;
  (AddKernels<Dot>(&table), ...);
#if defined(FOVEA_HAS_NEON_MATRIX_DOT)
  table.list[kDotSmmla][0] = table.list[kDotSdot][0];  // its processors have sdot, too
#endif
  return table;
}
}  // namespace i8
// clang-format on
}  // namespace

FOVEA_IN_DATA_SECTION const I8Kernels kI8 = i8::Table(i8::DotsOfAttention());

#endif
