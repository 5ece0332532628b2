// SPDX-License-Identifier: Apache-2.0
#ifndef FOVEA_SRC_LINEAR_CALL_H_
#define FOVEA_SRC_LINEAR_CALL_H_

#include "fovea/fovea.h"
#include "ground/base/carver.h"
#include "ground/targets/registry.h"
#include "layers/linear/f16/kernels.h"
#include "layers/linear/i8/kernels.h"
#include "layers/linear/kernels.h"
#include "layers/norm/call.h"

namespace fovea {

// What the shape and the target of a call decide.
struct LinearPlan {
  fovea_target target;
  DotKind dot;  // with products of halves: whether by arithmetic of halves, as 1 or 0
  bool few;     // few tokens: lanes run along their inputs, and with products of halves along outputs
  // With integer products and weights in groups: the groups of a token's inputs that have their own scale, which are
  // all, or 1 for all inputs. Else 0.
  uint32_t scaled_groups;
  uint32_t sum_step;      // inputs whose codes have a sum, where weights are in groups
  uint32_t lanes;         // tokens in a vector: 1 if tokens are few
  uint32_t tile_vectors;  // most vectors of tokens in a tile; 0 = few tokens, by FewTokens and without workspace
  uint32_t workers;
  size_t worker_bytes;  // workspace of each worker
};

// A checked call. A task is one tile of tokens and one part of the outputs. The division of a call into tasks changes
// no bit, because each output of each token has its own chain of sums.
struct LinearCall {
  LinearPlan plan;
  const LinearKernels* kernels;
  uint32_t tokens, in_dim, out_dim;
  const void* x;
  void* y;
  ptrdiff_t x_stride, y_stride;
  fovea_linear_weights weights;
  const fovea_executor* executor;  // null = the tasks run in order
  char* workspace;
  uint32_t vectors;       // of tokens
  uint32_t tiles, parts;  // of tokens, of outputs

  const I8LinearKernel* i8;  // null = y is f32, and so is x but for products of halves
  I8Inputs inputs;           // with products of halves only their type
  I8Outputs outputs;

  fovea_activation_kind activation;  // of outputs in f32 arithmetic, after they are stored
  const ActivationKernels* activation_kernels;

  [[no_unique_address]] MemberIf<kHasF16Linear, const F16LinearKernel*> f16;  // null = no products of halves

  struct Scratch {};
  fovea_status run_task(size_t index, uint32_t worker, Scratch*) const;
};

// Whether few tokens have products of halves of their own, on any target.
constexpr bool kFewHalvesServed = kHasFewHalves && kFewRowsServed;

// The same weights from an output on.
fovea_linear_weights weights_from(fovea_linear_weights weights, size_t in_dim, size_t output);

// Places the arrays of a tile in a workspace, which is null to measure them: sets the pointers of *tile, and returns
// the bytes.
CheckedSize place_token_tile(void* workspace, fovea_dtype weights, TokenTile* tile);
CheckedSize place_i8_token_tile(void* workspace, const LinearPlan& plan, I8TokenTile* tile);

// Fails only if an executor does.
fovea_status run_linear(const LinearCall& call);

}  // namespace fovea

#endif  // FOVEA_SRC_LINEAR_CALL_H_
