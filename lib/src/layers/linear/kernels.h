// SPDX-License-Identifier: Apache-2.0
//
// The functions of the linear kernels: y = x W^T + bias.
#ifndef FOVEA_SRC_LINEAR_KERNELS_H_
#define FOVEA_SRC_LINEAR_KERNELS_H_

#include <stddef.h>
#include <stdint.h>

#include "fovea/fovea.h"
#include "fovea/fovea_config.h"
#include "ground/base/member_if.h"
#include "ground/base/strides.h"
#include "ground/formats/formats.h"
#include "ground/targets/choice.h"

namespace fovea {

// Whether activations of outputs are compiled in.
constexpr bool kActivates = config::kLinearActivation;
// Whether kernels of f32 do ReLU before they store outputs: a pass of its own takes an eighth of the time where there are
// 64 inputs. Else all activations are passes.
constexpr bool kEndsWithRelu = kActivates && !config::kPreferSize;
// Whether products of halves are compiled in.
constexpr bool kHasF16Linear = config::kComputeF16;
constexpr bool kHasFewHalves = kHasF16Linear && config::kFewRows;  // whether few tokens have their own

// Outputs and inputs that a tile of tokens is multiplied by at a time. These inputs of three vectors of tokens, and the
// sums of these outputs, stay in a first-level cache.
constexpr uint32_t kLinearOutputs = 64;
constexpr uint32_t kLinearInputs = 128;
// Outputs whose weights are widened at a time: the largest register block.
constexpr uint32_t kLinearGrain = 8;
// Most tokens in FewTokens.
constexpr uint32_t kMostFewTokens = 4;
// Outputs in FewTokens where a call has more than kMostFewTokens tokens: their weights stay in a second-level cache
// from the first tokens to the last. A multiple of the lanes of any vector.
constexpr uint32_t kFewOutputs = 32;
// With arithmetic of halves: most tokens that have lanes run along outputs, and what the inputs of such a token are padded
// to a multiple of.
constexpr uint32_t kMostFewHalfTokens = 3, kFewHalfInputs = 8;

// A tile of tokens: a lane is a token. The first `live` ones are real; the others repeat the last one and are never
// stored.
struct TokenTile {
  uint32_t in_dim;
  uint32_t columns;  // a multiple of the lanes of a vector
  uint32_t live;
  void* x;         // [in_dim][columns] floats, or with `halves` halves
  float* sums;     // [kLinearOutputs][columns]
  float* widened;  // [kLinearGrain][kLinearInputs]: where weights are widened to; null where they are read in place
  // Inputs and weights are halves. With products of halves by f32 arithmetic they are not: all are floats.
  [[no_unique_address]] MemberIf<kHasF16Linear, bool> halves;
  // Few tokens, with arithmetic of halves: x is [token][in_dim rounded up to kFewHalfInputs], and alone.
  [[no_unique_address]] MemberIf<kHasFewHalves, bool> few;
  [[no_unique_address]] MemberIf<kEndsWithRelu, uint32_t> relu;  // 1 or 0
};

// The weights of some outputs for some inputs.
struct WeightRows {
  const void* data;  // floats, or halves as they are stored
  ptrdiff_t stride;
  uint32_t outputs, inputs;
  const float* ahead;  // f32: as many weights as these, to prefetch meanwhile: see layers/linear/call.cc
};

// Few tokens: lanes run along their inputs and the weights. Nothing is transposed.
template <class Input>
struct FewInputs {
  uint32_t tokens;  // 1 to kMostFewTokens
  uint32_t in_dim, out_dim;
  const Input* x;
  float* y;
  ptrdiff_t x_stride, y_stride;
  fovea_linear_weights weights;  // from the first output on
  [[no_unique_address]] MemberIf<kEndsWithRelu, bool> relu;
};
using FewTokens = FewInputs<float>;
using FewHalfTokens = FewInputs<uint16_t>;

struct LinearKernels {
  // Transposes the tokens of a tile into it.
  void (*begin)(const TokenTile&, const float* x, ptrdiff_t stride);
  // Sums of the outputs from `output` on += weights times the inputs from `input` on. Input 0 sets the sums instead.
  void (*multiply)(const TokenTile&, const WeightRows&, uint32_t output, uint32_t input);
  // y = sums + bias, or its ReLU, for `outputs` outputs. The bias may be null.
  void (*end)(const TokenTile&, uint32_t outputs, const float* bias, float* y, ptrdiff_t stride);
  // Null on a target without lanes.
  void (*few)(const FewTokens&);
};

FOVEA_TABLES_AND_IN_ORDER(LinearKernels, kLinear, linear_kernels)

}  // namespace fovea

#endif  // FOVEA_SRC_LINEAR_KERNELS_H_
