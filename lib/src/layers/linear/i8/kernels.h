// SPDX-License-Identifier: Apache-2.0
//
// The functions of the linear kernels with integer products: sums of products of codes, which are exact, then y = sum *
// scale of the token * scale of the weights + bias. Where weights are in groups, each group of f32 inputs has its own
// scale, too: the sum of a group is multiplied by both scales, and these products are added in f32, in the order of the
// groups. For inputs that are codes, the group's scale is 1; for f32 inputs, the token's scale is 1.
#ifndef FOVEA_SRC_LINEAR_I8_KERNELS_H_
#define FOVEA_SRC_LINEAR_I8_KERNELS_H_

#include <stddef.h>
#include <stdint.h>

#include "fovea/fovea.h"
#include "ground/base/numbers.h"
#include "ground/formats/formats.h"
#include "ground/targets/choice.h"
#include "ground/targets/dot_traits.h"
#include "layers/linear/kernels.h"

namespace fovea {

// Whether integer products are compiled in, and for which formats of weights in groups.
constexpr bool kHasI8Linear = config::kComputeI8 && config::kI8;
constexpr FormatSet kI8GroupedFormats = kHasI8Linear ? kGroupedFormats : 0;
// Of these, codes of 4 bits.
constexpr FormatSet kI8FourBitFormats = kI8GroupedFormats & (FormatSet{1} << FOVEA_I4 | FormatSet{1} << FOVEA_Q4_0 |
                                                             FormatSet{1} << FOVEA_Q4_1 | FormatSet{1} << FOVEA_Q4_K);
// Where a target has kDotPmaddwd and wide vectors, kDotMaddubs multiplies codes of 4 bits. Of few tokens, whose sums have
// fewer products, it multiplies all codes but bytes.
constexpr FormatSet kI8ByteCodes =
    kI8GroupedFormats & (FormatSet{1} << FOVEA_Q8_0 | FormatSet{1} << FOVEA_IQ4_NL | FormatSet{1} << FOVEA_IQ4_XS);
constexpr FormatSet maddubs_formats(bool few) { return few ? kI8GroupedFormats & ~kI8ByteCodes : kI8FourBitFormats; }
constexpr bool has_maddubs(DotKind dot, uint32_t lanes) { return kHasMaddubs && dot == kDotPmaddwd && lanes > 4; }
constexpr DotKind i8_dot(DotKind dot, uint32_t lanes, bool few, fovea_dtype weights) {
  const FormatSet set = maddubs_formats(few);
  return has_maddubs(dot, lanes) && contains(set, weights) ? kDotMaddubs : dot;
}
constexpr FormatSet i8_grouped_formats(DotKind dot, uint32_t lanes, bool few) {
  return dot == kDotMaddubs        ? maddubs_formats(few)
         : has_maddubs(dot, lanes) ? kI8GroupedFormats & ~maddubs_formats(few)
                                   : kI8GroupedFormats;
}
constexpr FormatSet kI8SuperFormats = kI8GroupedFormats & kSuperFormats;
// Whether ReLU and ReLU6 are limits of codes. Where size counts they are activations like the others.
constexpr bool kLimitsOutputs = kActivates && !config::kPreferSize;
// The limit of inputs that keeps a sum below 2^31: 255 * 128 * 2^16.
constexpr uint32_t kMostI8Inputs = 65536;
// Inputs that weights are multiplied by at a time. Where codes are wider than bytes, kLinearGrain rows of this many
// inputs are brought, into as many bytes as rows of f32 are widened to.
constexpr uint32_t i8_inputs(const DotTraits& dot) { return kLinearInputs * 4 / dot.code_bytes; }
// Outputs that a tile computes at a time where weights are in groups. After their sums there is room for the sums of
// kLinearGrain more outputs, and for the sums of the tokens' codes in as many groups.
constexpr uint32_t kGroupedOutputs = kLinearOutputs - 2 * kLinearGrain;
// The few-tokens kernel reads up to this many codes of a token at once.
constexpr uint32_t kFewReads = 64;

// Where a tile has several register blocks of tokens, these are of this many columns: the last token fills up the last
// block. Each block has its own codes and sums, and the tile computes fewer outputs at a time. A build has only targets
// of this kind, or none.
constexpr uint32_t kI8BlockColumns = 4;
constexpr bool kI8TilesHaveBlocks = kOneDot && (kCompiledDots >> kDotSmlad & 1) != 0;
constexpr uint32_t i8_columns(DotKind kind, uint32_t tokens) {
  const bool in_blocks = kI8TilesHaveBlocks && kDotTraits[kind].blocks > 1 && tokens > kI8BlockColumns;
  return in_blocks ? uint32_t(round_up(tokens, kI8BlockColumns)) : tokens;
}
constexpr uint32_t i8_blocks(DotKind kind, uint32_t columns) {
  const bool in_blocks = kI8TilesHaveBlocks && kDotTraits[kind].blocks > 1 && columns > kI8BlockColumns;
  return in_blocks ? columns / kI8BlockColumns : 1;
}

// The formats of inputs and outputs, and the scales and zero points of their codes.
struct I8Inputs {
  fovea_dtype dtype;    // F32 or I8
  int32_t zero;         // of codes
  const float* scales;  // of codes: a scale for each token, scales_stride apart
  ptrdiff_t scales_stride;
};
struct OutputLimits {
  float least, most;  // of a quotient, output / scale, before it is rounded
};
struct I8Outputs {
  fovea_dtype dtype;  // F32 or I8
  int32_t zero;
  float scale;
  fovea_activation_kind activation;  // before the code is made; none that limits do
  [[no_unique_address]] MemberIf<kLimitsOutputs, OutputLimits> limits;
};

// Tokens from which a tile is made.
struct I8Tokens {
  const void* x;
  ptrdiff_t stride;
  I8Inputs in;
};

// A tile of tokens. Two kernels use it. In the tile kernel a lane is a token; the first `live` ones are real, the
// others repeat the last one and are never stored. In the few-tokens kernel lanes run along the inputs.
struct I8TokenTile {
  uint32_t in_dim;
  uint32_t columns;  // tile kernel: a multiple of the lanes of a vector; see i8_columns
  uint32_t live;
  uint32_t scaled_groups;  // as in LinearPlan
  uint32_t sum_step;       // as in LinearPlan
  void* x;          // codes [in_dim / group][column][group] of each block; few: [token][in_dim rounded up to kFewReads]
  float* scales;    // [columns]
  float* sums;      // tile kernel: [kLinearOutputs][columns] the bits of int32, or floats where weights are in groups;
                    // [blocks][kLinearOutputs / blocks][kI8BlockColumns]
  int32_t* starts;  // tile kernel: [kLinearOutputs] what is added to an output's sums
  void* rows;       // [kLinearGrain][i8_inputs] weights that were brought; null where they are read in place
  // Weights in groups, else null: scales of inputs, [scaled_groups][columns]; few tokens: [token][scaled_groups].
  float* group_scales;
  // Weights in groups, where the kernels need it, else null: sums of codes. [group][columns], the bits of int32; few
  // tokens: [token][group], floats, minus their zero point. Here a group is sum_step inputs.
  float* group_sums;
};

// The sums that a token's codes have.
constexpr size_t sum_step_of(const I8TokenTile& t) { return kI8SuperFormats ? t.sum_step : kScaleGroup; }
constexpr size_t sums_of(const I8TokenTile& t) { return (t.in_dim + sum_step_of(t) - 1) / sum_step_of(t); }

// The weights of some outputs, and where these are stored.
struct I8Rows {
  fovea_linear_weights weights;  // from the first output on
  uint32_t outputs;              // tile kernel: at most kLinearOutputs
  void* y;
  ptrdiff_t y_stride;
  I8Outputs out;
  int32_t x_zero_point;
};

// A kernel: null functions where the target lacks it.
struct I8LinearKernel {
  void (*begin)(const I8TokenTile&, const I8Tokens&);
  void (*multiply)(const I8TokenTile&, const I8Rows&);  // weights of I8
  // Weights in groups; at most kGroupedOutputs in a tile.
  void (*begin_groups)(const I8TokenTile&, const I8Tokens&);
  void (*multiply_groups)(const I8TokenTile&, const I8Rows&);
};
enum I8LinearIndex : uint32_t { kI8FewTokens, kI8TokenTile, kI8LinearKernels };

// For each kind of dot product that the target may have.
struct I8LinearTable {
  I8LinearKernel list[kDotRows][kI8LinearKernels];
};
FOVEA_TABLES(I8LinearTable, kI8Linear, i8_linear_kernels)

}  // namespace fovea

#endif  // FOVEA_SRC_LINEAR_I8_KERNELS_H_
