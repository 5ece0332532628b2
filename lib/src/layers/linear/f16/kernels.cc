// SPDX-License-Identifier: Apache-2.0
//
// The linear kernels with products of halves, compiled once for each target: ground/targets/each_target.inl includes this file
// again. Where processors of the target may have arithmetic of halves, there is a kernel for those that have it, and
// one for the others, which computes the same bits by f32 arithmetic.
#if !defined(FOVEA_IN_TARGET)
#include "ground/base/arithmetic.h"
#define FOVEA_FILLS_REGISTERS
#include "ground/targets/options.inl"
#include "layers/linear/f16/kernels.h"
#define FOVEA_KERNELS_NAMESPACE f16_linear_kernels
#define FOVEA_KERNELS_FILE "layers/linear/f16/kernels.cc"
#include "ground/targets/each_target.inl"
#else

namespace {
// clang-format off
#include FOVEA_BACKEND_HEADER
#include "ground/simd/common.inl"
#include "ground/formats/rows.inl"
namespace f16 {
#include "ground/simd/apart.inl"
#include "layers/linear/f16/linear.inl"
#include "layers/linear/f16/few.inl"

constexpr F16LinearTable kTable = {
    {KernelOfHalves<FloatHalves>(), KernelOfHalves<OwnHalves>(), FewKernelOfHalves<OwnHalves>()}};
}  // namespace f16
// clang-format on
}  // namespace

FOVEA_IN_DATA_SECTION const F16LinearTable kF16Linear = f16::kTable;

#endif
