// SPDX-License-Identifier: Apache-2.0
//
// The seam of the linear family: y = x W^T + bias.
#ifndef FOVEA_SRC_LINEAR_KERNELS_H_
#define FOVEA_SRC_LINEAR_KERNELS_H_

#include <stddef.h>
#include <stdint.h>

#include "fovea/fovea.h"
#include "targets/choice.h"

namespace fovea {

// Outputs and inputs that a tile of tokens is multiplied with at a time: what that takes of three vectors of tokens,
// and of their sums, stays in a first cache.
constexpr uint32_t kLinearOutputs = 64;
constexpr uint32_t kLinearInputs = 128;
// Outputs whose weights are widened at a time: the largest register block.
constexpr uint32_t kLinearGrain = 8;
// Most tokens of FewTokens.
constexpr uint32_t kMostFewTokens = 4;
// Outputs of FewTokens, where there are more tokens: their weights stay in a second cache from the first tokens to the
// last. A multiple of the lanes of any vector.
constexpr uint32_t kFewOutputs = 32;

// A tile of tokens: a lane is a token. The first `live` ones are real; the others repeat the last one and are never
// stored.
struct TokenTile {
  uint32_t in_dim;
  uint32_t columns;  // a multiple of the lanes of a vector
  uint32_t live;
  float* x;     // [in_dim][columns]
  float* sums;  // [kLinearOutputs][columns]
};

// Weights of some outputs for some inputs.
struct WeightRows {
  const float* data;
  ptrdiff_t stride;
  uint32_t outputs, inputs;
  const float* ahead;  // what is asked for meanwhile, as much as these weights are: see linear/call.cc
};

// Few tokens, whose inputs and weights lanes run along. Nothing is transposed.
struct FewTokens {
  uint32_t tokens;  // 1 to kMostFewTokens
  uint32_t in_dim, out_dim;
  const float* x;
  float* y;
  ptrdiff_t x_stride, y_stride;
  fovea_linear_weights weights;  // from the first output on
};

struct LinearKernels {
  // The tokens of a tile.
  void (*begin)(const TokenTile&, const float* x, ptrdiff_t stride);
  // Sums from `output` of the tile on += weights times the inputs from `input` on; the first ones (input 0) are set.
  void (*multiply)(const TokenTile&, const WeightRows&, uint32_t output, uint32_t input);
  // y of `outputs` outputs = sums + bias, which may be null.
  void (*end)(const TokenTile&, uint32_t outputs, const float* bias, float* y, ptrdiff_t stride);
  // Null on a target without lanes.
  void (*few)(const FewTokens&);
};

FOVEA_TABLES(LinearKernels, kLinear, linear_kernels)

}  // namespace fovea

#endif  // FOVEA_SRC_LINEAR_KERNELS_H_
