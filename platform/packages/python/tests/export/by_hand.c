/* SPDX-License-Identifier: Apache-2.0
 *
 * An encoder of two layers as a person would write it, next to the exported one: the bits must be the same. It prints how
 * the time of the exported one compares. test_export.py compiles this with the folder of the model "encoder, norm first". */
#define _POSIX_C_SOURCE 199309L
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "encoder.h"
#include "encoder_test_data.h"
#include "encoder_weights.h"

enum { TOKENS = 20, DIM = 64, HIDDEN = 128, WORKSPACE = 1 << 20, ROUNDS = 400 };

struct layer {
  const float *norm1, *norm1_bias, *qkv, *qkv_bias, *out, *out_bias, *norm2, *norm2_bias, *up, *up_bias, *down,
      *down_bias;
};

static fovea_multihead_plan plan;
static float tokens[TOKENS * DIM], normed[TOKENS * DIM], added[TOKENS * DIM], hidden[TOKENS * HIDDEN],
    by_hand[TOKENS * DIM], exported[TOKENS * DIM];
static unsigned char workspace[WORKSPACE] __attribute__((aligned(FOVEA_WORKSPACE_ALIGNMENT)));
static unsigned char arena[ENCODER_ARENA_BYTES] __attribute__((aligned(FOVEA_WORKSPACE_ALIGNMENT)));

/* tokens += residual, if there is one; normed = norm(tokens) */
static fovea_status norm(const float* x, const float* residual, const float* weight, const float* bias) {
  const fovea_norm_args args = {.struct_bytes = sizeof args,
                                .norm = FOVEA_NORM_LAYER,
                                .epsilon = 1e-5f,
                                .batch = 1,
                                .heads = 1,
                                .tokens = TOKENS,
                                .dim = DIM,
                                .y = {.data = normed, .token_stride = DIM},
                                .x = {.data = x, .token_stride = DIM},
                                .residual = {.data = residual, .token_stride = residual ? DIM : 0},
                                .sum = {.data = residual ? tokens : NULL, .token_stride = residual ? DIM : 0},
                                .weight = weight,
                                .bias = bias};
  return fovea_norm(&args);
}

static fovea_status attend(const struct layer* layer) {
  const fovea_multihead_args args = {
      .struct_bytes = sizeof args,
      .batch = 1,
      .q_tokens = TOKENS,
      .y = {.data = added, .token_stride = DIM},
      .x = {.data = normed, .token_stride = DIM},
      .weights = {.qkv = {.data = layer->qkv, .row_stride = DIM, .bias = layer->qkv_bias},
                  .out = {.data = layer->out, .row_stride = DIM, .bias = layer->out_bias}},
      .attention = {.struct_bytes = sizeof args.attention}};
  return fovea_multihead(&plan, &args, workspace, sizeof workspace);
}

static fovea_status linear(const float* x, size_t in, float* y, size_t out, const float* weight, const float* bias,
                           fovea_activation_kind activation) {
  const fovea_linear_args args = {.struct_bytes = sizeof args,
                                  .tokens = TOKENS,
                                  .in_dim = in,
                                  .out_dim = out,
                                  .x = x,
                                  .x_stride = in,
                                  .y = y,
                                  .y_stride = out,
                                  .weights = {.data = weight, .row_stride = in, .bias = bias},
                                  .activation = activation};
  return fovea_linear(&args, workspace, sizeof workspace);
}

#define TRY(call)                          \
  do {                                     \
    const fovea_status status = (call);    \
    if (status != FOVEA_OK) return status; \
  } while (0)

static fovea_status run_by_hand(const float* x, float* y) {
  const struct encoder_weights* const w = &encoder_weights;
#define LAYER(n)                                                                                           \
  {                                                                                                        \
    w->layers_##n##_norm1_weight, w->layers_##n##_norm1_bias, w->layers_##n##_self_attn_in_proj_weight,    \
        w->layers_##n##_self_attn_in_proj_bias, w->layers_##n##_self_attn_out_proj_weight,                 \
        w->layers_##n##_self_attn_out_proj_bias, w->layers_##n##_norm2_weight, w->layers_##n##_norm2_bias, \
        w->layers_##n##_linear1_weight, w->layers_##n##_linear1_bias, w->layers_##n##_linear2_weight,      \
        w->layers_##n##_linear2_bias                                                                       \
  }
  const struct layer layers[2] = {LAYER(0), LAYER(1)};
  const float* in = x;
  for (size_t i = 0; i < 2; ++i) {
    TRY(norm(in, i == 0 ? NULL : added, layers[i].norm1, layers[i].norm1_bias));
    if (i > 0) in = tokens;
    TRY(attend(&layers[i]));
    TRY(norm(in, added, layers[i].norm2, layers[i].norm2_bias));
    in = tokens;
    TRY(linear(normed, DIM, hidden, HIDDEN, layers[i].up, layers[i].up_bias, FOVEA_ACTIVATION_RELU));
    TRY(linear(hidden, HIDDEN, added, DIM, layers[i].down, layers[i].down_bias, FOVEA_ACTIVATION_IDENTITY));
  }
  const fovea_binary_args add = {.struct_bytes = sizeof add,
                               .batch = 1,
                               .heads = 1,
                               .tokens = 1,
                               .dim = TOKENS * DIM,
                               .y = {.data = y},
                               .a = {.data = tokens},
                               .b = {.data = added}};
  return fovea_add(&add);
}

static double now(void) {
  struct timespec time;
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
  return (double)time.tv_sec + 1e-9 * (double)time.tv_nsec;
}

int main(void) {
  const float* const x = encoder_test_data.given_src;
  const fovea_multihead_desc desc = {.struct_bytes = sizeof desc,
                                     .attention = {.struct_bytes = sizeof desc.attention,
                                                   .q_heads = 4,
                                                   .kv_heads = 4,
                                                   .head_dim = 16,
                                                   .value_dim = 16,
                                                   .max_batch = 1,
                                                   .max_q_tokens = TOKENS,
                                                   .max_kv_tokens = TOKENS}};
  if (fovea_multihead_plan_init(&plan, &desc) != FOVEA_OK || encoder_init() != FOVEA_OK) return 1;
  double best[2] = {1e9, 1e9};
  for (int round = 0; round < ROUNDS; ++round) {
    const double begin = now();
    if (run_by_hand(x, by_hand) != FOVEA_OK) return 1;
    const double middle = now();
    if (encoder_run(x, exported, arena) != FOVEA_OK) return 1;
    const double end = now();
    if (middle - begin < best[0]) best[0] = middle - begin;
    if (end - middle < best[1]) best[1] = end - middle;
  }
  if (memcmp(by_hand, exported, sizeof exported) != 0) {
    printf("by hand and exported differ\n");
    return 1;
  }
  printf("%.3f of the time of a sequence of calls by hand\n", best[1] / best[0]);
  return 0;
}
