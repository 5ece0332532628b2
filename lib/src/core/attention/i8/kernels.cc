// SPDX-License-Identifier: Apache-2.0
//
// The attention kernels with integer products, compiled once for each target: ground/targets/each_target.inl includes this
// file again. There is a kernel for each kind of dot product that processors of the target may have.
#if !defined(FOVEA_IN_TARGET)
#include "ground/base/arithmetic.h"
#define FOVEA_KERNELS_OF_CODES
#include "ground/targets/options.inl"
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
#include "core/attention/i8/products.inl"
#include "core/attention/few_kernel.inl"
#include "core/attention/i8/few_rows.inl"
#if defined(FOVEA_OWN_I8)  // of the target's instructions
#include FOVEA_OWN_I8
#endif

template <class Dot>
constexpr void AddKernels(I8Kernels* table) {
  AttentionKernel(&list)[kF16TileKernel - kI8FewRowsKernel] = table->list[dot_row(Dot::kKind)];
  list[kI8TileKernel - kI8FewRowsKernel] =
      TileKernel<I8Tile<Dot>>::Kernel(kCodedFormats, I8Bring<Dot>::BringKeys, I8Bring<Dot>::BringValues);
  AttentionKernel& few = list[kI8FewRowsKernel - kI8FewRowsKernel];
  if constexpr (Dot::kKind == kDotSmmla) {
    few = table->list[dot_row(kDotSdot)][0];  // its processors have sdot, too
  } else if constexpr (kDotTraits[Dot::kKind].few_rows && kHasFewRows) {
    using Bring = I8FewBring<Dot>;
    few = FewRowsKernel<I8FewRows<Dot>>::Kernel(kCodedFormats, Bring::FewBringKeys, Bring::FewBringValues);
  }
}

template <class... Dot>
constexpr I8Kernels Table(DotList<Dot...>) {
  I8Kernels table = {};
  if (!kHasI8Products) return table;
  (AddKernels<Dot>(&table), ...);
  return table;
}
}  // namespace i8
// clang-format on
}  // namespace

FOVEA_IN_DATA_SECTION const I8Kernels kI8 = i8::Table(i8::DotsOfAttention());

#endif
