// SPDX-License-Identifier: Apache-2.0
//
// The functions of the linear kernels with integer products: sums of products of codes, which are exact, then
// y = sum * scale of the token * scale of the weights + bias. Where weights lie in groups, each group of inputs of f32
// has a scale of its own, too: the sum of a group is multiplied by both scales, and these products are added in f32, in
// the order of the groups. Where inputs are codes, that scale is 1, and where they are f32, that of the token is.
#ifndef FOVEA_SRC_LINEAR_I8_KERNELS_H_
#define FOVEA_SRC_LINEAR_I8_KERNELS_H_

#include <stddef.h>
#include <stdint.h>

#include "base/finite.h"
#include "formats/formats.h"
#include "fovea/fovea.h"
#include "linear/kernels.h"
#include "targets/choice.h"
#include "targets/dot_traits.h"

namespace fovea {

// Whether this build has any, and weights in groups for them.
constexpr bool kHasI8Linear = config::kComputeI8 && config::kI8;
constexpr FormatSet kI8GroupedFormats = kHasI8Linear ? kGroupedFormats : 0;
// The limit of inputs that keeps a sum below 2^31: 255 * 128 * 2^16.
constexpr uint32_t kMostI8Inputs = 65536;
// Inputs that weights are multiplied with at a time. Where codes are wider than bytes, kLinearGrain rows of so many
// inputs are brought, into as many bytes as rows of f32 are widened to.
constexpr uint32_t i8_inputs(const DotTraits& dot) { return kLinearInputs * 4 / dot.code_bytes; }
// Outputs that a tile takes at a time where weights lie in groups. Behind their sums there is room for those of
// kLinearGrain outputs more, and for the sums of the tokens' codes in as many groups.
constexpr uint32_t kGroupedOutputs = kLinearOutputs - 2 * kLinearGrain;
// The few-tokens kernel reads up to this many codes of a token at once.
constexpr uint32_t kFewReads = 64;

// What inputs are beside f32, and outputs.
struct I8Inputs {
  fovea_dtype dtype;    // F32 or I8
  int32_t zero;         // of codes
  const float* scales;  // of codes: a scale for each token, scales_stride apart
  ptrdiff_t scales_stride;
};
struct I8Outputs {
  fovea_dtype dtype;  // F32 or I8
  int32_t zero;
  float scale;
};

// Tokens on their way to a tile.
struct I8Tokens {
  const void* x;
  ptrdiff_t stride;
  I8Inputs in;
};

// A tile of tokens. Two kernels use it. In the tile kernel a lane is a token; the first `live` ones are real, the
// others repeat the last one and are never stored. In the few-tokens kernel lanes run along the inputs.
struct I8TokenTile {
  uint32_t in_dim;
  uint32_t columns;  // tile kernel: a multiple of the lanes of a vector
  uint32_t live;
  uint32_t scaled_groups;  // as in LinearPlan
  void* x;          // codes [in_dim / group][column][group]; few tokens: [token][in_dim rounded up to kFewReads]
  float* scales;    // [columns]
  float* sums;      // tile kernel: [kLinearOutputs][columns] the bits of int32, or floats where weights lie in groups
  int32_t* starts;  // tile kernel: [kLinearOutputs] what is added to an output's sums
  void* rows;       // [kLinearGrain][i8_inputs] weights that were brought; null where they are read as they lie
  // Weights in groups, else null: scales of inputs, [scaled_groups][columns]; few tokens: [token][scaled_groups].
  float* group_scales;
  // The same, where the kernels need them: sums of codes. [group][columns], the bits of int32; few tokens:
  // [token][group], floats, and less their zero.
  float* group_sums;
};

// The weights of some outputs, and where these go.
struct I8Rows {
  fovea_linear_weights weights;  // from the first output on
  uint32_t outputs;              // tile kernel: at most kLinearOutputs
  void* y;
  ptrdiff_t y_stride;
  I8Outputs out;
  int32_t x_zero;
};

// A kernel: null functions where the target lacks it.
struct I8LinearKernel {
  void (*begin)(const I8TokenTile&, const I8Tokens&);
  void (*multiply)(const I8TokenTile&, const I8Rows&);         // weights of I8
  // Weights in groups; at most kGroupedOutputs in a tile.
  void (*begin_groups)(const I8TokenTile&, const I8Tokens&);
  void (*multiply_groups)(const I8TokenTile&, const I8Rows&);
};
enum I8LinearIndex : uint32_t { kI8FewTokens, kI8TokenTile, kI8LinearKernels };

// For each kind of dot product that the target may have.
struct I8LinearTable {
  I8LinearKernel list[kDotKinds][kI8LinearKernels];
};
FOVEA_TABLES(I8LinearTable, kI8Linear, i8_linear_kernels)

}  // namespace fovea

#endif  // FOVEA_SRC_LINEAR_I8_KERNELS_H_
