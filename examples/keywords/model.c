/* SPDX-License-Identifier: Apache-2.0 */
#include "model.h"

#include <string.h>

#define RETURN_IF_ERROR(call)              \
  do {                                     \
    const fovea_status status = (call);    \
    if (status != FOVEA_OK) return status; \
  } while (0)

enum { kSilence = -112 }; /* each feature of silence */

void model_begin(Model* model, fovea_target target, uint64_t processor_features) {
  memset(model, 0, sizeof *model);
  memset(model->stack, kSilence, sizeof model->stack);
  model->target = target, model->processor_features = processor_features;
}

/* y = weights x + bias. Scales of x and y are part of those of the weights. */
static fovea_status linear(Model* model, int8_t* y, uint32_t outputs, const int8_t* x, uint32_t inputs,
                           const int8_t* codes, const float* scales, const float* bias) {
  static const float kOne = 1;
  fovea_linear_args args = {.struct_bytes = sizeof args,
                            .target = model->target,
                            .compute = FOVEA_COMPUTE_I8,
                            .processor_features = model->processor_features,
                            .tokens = 1,
                            .in_dim = inputs,
                            .out_dim = outputs,
                            .x_dtype = FOVEA_I8,
                            .y_dtype = FOVEA_I8,
                            .y = y,
                            .y_stride = outputs,
                            .x = x,
                            .x_stride = inputs,
                            .x_scales = &kOne,
                            .y_scale = 1};
  args.weights =
      (fovea_linear_weights){.dtype = FOVEA_I8, .data = codes, .row_stride = inputs, .scales = scales, .bias = bias};
  return fovea_linear(&args, model->workspace, sizeof model->workspace);
}
#define LINEAR_OF(model, y, x, weights)                                                                               \
  linear(model, y, sizeof(weights).codes / sizeof(weights).codes[0], x, sizeof(weights).codes[0], (weights).codes[0], \
         (weights).scales, (weights).bias)

/* x = norm(a + b) */
static fovea_status add_and_normalize(Model* model, const Sum* weights, const int8_t* a, const int8_t* b) {
  fovea_integer_binary_args add = {.struct_bytes = sizeof add,
                                   .batch = 1,
                                   .heads = 1,
                                   .tokens = 1,
                                   .dim = kDim,
                                   .y.data = model->x,
                                   .a.data = a,
                                   .b.data = b,
                                   .a_multiplier = weights->a.multiplier,
                                   .a_shift = weights->a.shift,
                                   .b_multiplier = weights->b.multiplier,
                                   .b_shift = weights->b.shift};
  RETURN_IF_ERROR(fovea_integer_add(&add));
  fovea_integer_norm_args norm = {.struct_bytes = sizeof norm,
                                  .norm = FOVEA_NORM_LAYER,
                                  .batch = 1,
                                  .heads = 1,
                                  .tokens = 1,
                                  .dim = kDim,
                                  .y.data = model->x,
                                  .x.data = model->x,
                                  .weight = weights->norm.weight,
                                  .bias = weights->norm.bias,
                                  .weight_multiplier = weights->norm.scale.multiplier,
                                  .weight_shift = weights->norm.scale.shift,
                                  .epsilon_multiplier = weights->norm.epsilon.multiplier,
                                  .epsilon_shift = weights->norm.epsilon.shift};
  return fovea_integer_norm(&norm);
}

/* x = norm(x + out(attention(x))), over the frames in the ring. A softmax of at most 64 keys does not depend on their
 * order. */
static fovea_status attend(Model* model, const Layer* weights, int8_t (*ring)[3][kDim]) {
  int8_t(*const qkv)[kDim] = ring[model->frame % kWindow];
  RETURN_IF_ERROR(LINEAR_OF(model, qkv[0], model->x, weights->qkv));
  fovea_integer_attention_args args = {.struct_bytes = sizeof args,
                                       .batch = 1,
                                       .q_heads = kHeads,
                                       .kv_heads = kHeads,
                                       .q_tokens = 1,
                                       .head_dim = kHeadDim,
                                       .value_dim = kHeadDim,
                                       .score_multiplier = weights->score.multiplier,
                                       .score_shift = weights->score.shift,
                                       .out_multiplier = weights->seen.multiplier,
                                       .out_shift = weights->seen.shift};
  args.kv_tokens = model->frame < kWindow ? model->frame + 1 : kWindow;
  args.q = (fovea_in){.data = qkv[0], .head_stride = kHeadDim};
  args.keys = (fovea_in){.data = ring[0][1], .head_stride = kHeadDim, .token_stride = 3 * kDim};
  args.values = (fovea_in){.data = ring[0][2], .head_stride = kHeadDim, .token_stride = 3 * kDim};
  args.out = (fovea_out){.data = model->hidden, .head_stride = kHeadDim, .token_stride = kDim};
  RETURN_IF_ERROR(fovea_integer_attention(&args, model->workspace, sizeof model->workspace));
  RETURN_IF_ERROR(LINEAR_OF(model, model->added, model->hidden, weights->out));
  return add_and_normalize(model, &weights->attended, model->x, model->added);
}

/* x = norm(x + down(gelu(up(x)))) */
static fovea_status think(Model* model, const Layer* weights) {
  RETURN_IF_ERROR(LINEAR_OF(model, model->hidden, model->x, weights->up));
  fovea_integer_activation_args args = {.struct_bytes = sizeof args,
                                        .batch = 1,
                                        .heads = 1,
                                        .tokens = 1,
                                        .dim = kHidden,
                                        .y.data = model->hidden,
                                        .x.data = model->hidden,
                                        .table = weights->gelu};
  RETURN_IF_ERROR(fovea_integer_activation(&args));
  RETURN_IF_ERROR(LINEAR_OF(model, model->added, model->hidden, weights->down));
  return add_and_normalize(model, &weights->thought, model->x, model->added);
}

fovea_status model_step(Model* model, const int8_t features[kFeatures]) {
  memmove(model->stack[0], model->stack[1], sizeof model->stack - sizeof model->stack[0]);
  memcpy(model->stack[kStack - 1], features, kFeatures);
  RETURN_IF_ERROR(LINEAR_OF(model, model->added, model->stack[0], kWeights.embedding));
  RETURN_IF_ERROR(add_and_normalize(model, &kWeights.placed, model->added, kWeights.places[model->frame % kPeriod]));
  for (uint32_t i = 0; i < kLayers; ++i) {
    RETURN_IF_ERROR(attend(model, &kWeights.layers[i], model->qkv[i]));
    RETURN_IF_ERROR(think(model, &kWeights.layers[i]));
  }
  ++model->frame;
  return LINEAR_OF(model, model->scores, model->x, kWeights.classes);
}
