// SPDX-License-Identifier: Apache-2.0
//
// The functions of the linear kernels with products of halves. What becomes of sums is that of f32: LinearKernels::end.
#ifndef FOVEA_SRC_LINEAR_F16_KERNELS_H_
#define FOVEA_SRC_LINEAR_F16_KERNELS_H_

#include "ground/targets/dot_traits.h"
#include "layers/linear/kernels.h"

namespace fovea {

// As in LinearKernels. The weights are halves as they are stored, or, without arithmetic of halves, widened to f32.
struct F16LinearKernel {
  void (*begin)(const TokenTile&, fovea_dtype, const void* x, ptrdiff_t stride);
  void (*multiply)(const TokenTile&, const WeightRows&, uint32_t output, uint32_t input);
  // Of few tokens: x are the halves that `begin` stored. Here `multiply` is null.
  void (*few)(const FewHalfTokens&);
};

// By f32 arithmetic, and for processors with arithmetic of halves: for any tokens, and for few.
enum F16LinearKind : uint8_t { kHalvesByFloats, kHalves, kFewHalves, kF16LinearKinds };
struct F16LinearTable {
  F16LinearKernel list[kF16LinearKinds];
};
FOVEA_TABLES(F16LinearTable, kF16Linear, f16_linear_kernels)

}  // namespace fovea

#endif  // FOVEA_SRC_LINEAR_F16_KERNELS_H_
