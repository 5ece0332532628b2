// SPDX-License-Identifier: Apache-2.0
//
// The linear kernels with integer products, compiled once for each target: ground/targets/each_target.inl includes this file
// again. There is a kernel for each kind of dot product that processors of the target may have.
#if !defined(FOVEA_IN_TARGET)
#include "ground/base/arithmetic.h"
#include "ground/targets/options.inl"
#include "layers/linear/i8/kernels.h"
#include "ground/math/byte_kernels.h"
#define FOVEA_KERNELS_NAMESPACE i8_linear_kernels
#define FOVEA_KERNELS_FILE "layers/linear/i8/kernels.cc"
#include "ground/targets/each_target.inl"
#else

namespace {
// clang-format off
#include FOVEA_BACKEND_HEADER
#include "ground/simd/common.inl"
#include "ground/formats/rows.inl"
#include "ground/math/block.inl"
// Multiply-adds of the texts before apart.inl stay fused. What only i8 includes has Mul, then Add.
namespace i8 {
#include "ground/simd/apart.inl"
#include "ground/simd/dots.inl"
#include "layers/linear/i8/dot_kernels.inl"

template <class... Dot>
constexpr I8LinearTable Table(DotList<Dot...>) {
  I8LinearTable table = {};
  if (!kHasI8Linear) return table;
  (AddKernels<Dot>(&table), ...);
  return table;
}
template <class... Dot>
constexpr I8LinearTable WithFourBits(I8LinearTable table, DotList<Dot...>) {
  if (kHasI8Linear) (AddGroupKernels<Dot>(&table), ...);
  return table;
}
}  // namespace i8
// clang-format on
}  // namespace

FOVEA_IN_DATA_SECTION const I8LinearTable kI8Linear = i8::WithFourBits(i8::Table(i8::Dots()), i8::FourBitDots());

#endif
