/* SPDX-License-Identifier: Apache-2.0
 *
 * A layer of a transformer's encoder, as in BERT, ViT or Whisper, as a sequence of calls: with the normalisation after
 * each sum, as in the first transformer, and before each part, as in most since; in f32, and in int8 from end to end.
 *
 *     after     x = norm(x + attention(x)),     x = norm(x + down(gelu(up(x))))
 *     before    x = x + attention(norm(x)),     x = x + down(gelu(up(norm(x))))
 *
 * All memory is static. Weights are random numbers here. The program fails if int8 and f32 differ by more than the
 * rounding to codes explains, or if int8 does not have the same bits as on every other processor. Exit code: 0, or 1.
 * */
#include <math.h>
#include <stdio.h>

#include "fovea/fovea.h"

enum { TOKENS = 16, HEADS = 4, HEAD_DIM = 16, DIM = HEADS * HEAD_DIM, HIDDEN = 2 * DIM };
static const float kEpsilon = 1e-5f;
static const float kLargestDifference = 0.15f; /* of int8 and f32, where outputs are up to about 4 */
static const uint32_t kDigest = 0x6081390c;    /* of the codes of both layers */

/* ---- Weights: random numbers, and their codes. */

typedef struct Linear {
  uint32_t outputs, inputs;
  float *weights, *bias; /* [outputs][inputs], [outputs] */
  int8_t* codes;         /* [outputs][inputs] */
  float* scales;         /* [outputs]: of a row of codes */
} Linear;

#define LINEAR(name, outputs, inputs)                                      \
  static float name##_weights[(outputs) * (inputs)], name##_bias[outputs]; \
  static int8_t name##_codes[(outputs) * (inputs)];                        \
  static float name##_scales[outputs];                                     \
  static const Linear name = {outputs, inputs, name##_weights, name##_bias, name##_codes, name##_scales}

LINEAR(qkv, 3 * DIM, DIM);
LINEAR(out, DIM, DIM);
LINEAR(up, HIDDEN, DIM);
LINEAR(down, DIM, HIDDEN);
static float norm_weight[2][DIM], norm_bias[2][DIM];

static float random_number(void) { /* -1 to 1, the same on every machine */
  static uint32_t state = 1;
  state = state * 1664525u + 1013904223u;
  return (float)((int32_t)(state >> 16) - 32768) / 32768;
}

static void make(const Linear* linear) {
  for (uint32_t o = 0; o < linear->outputs; ++o) {
    float* const row = linear->weights + o * linear->inputs;
    float largest = 0;
    for (uint32_t i = 0; i < linear->inputs; ++i) {
      row[i] = random_number() * 2 / sqrtf((float)linear->inputs);
      largest = fmaxf(largest, fabsf(row[i]));
    }
    linear->scales[o] = largest / 127;
    for (uint32_t i = 0; i < linear->inputs; ++i) {
      linear->codes[o * linear->inputs + i] = (int8_t)floorf(row[i] / linear->scales[o] + 0.5f);
    }
    linear->bias[o] = random_number() / 4;
  }
}

/* ---- Memory. The tensors of f32 are also what the scales of int8 are taken from. */

enum { X, NORMED, QKV, SEEN, PROJECTED, SUM, NORMED_2, RAISED, ACTIVE, LOWERED, SUM_2, Y, TENSORS };
static float f32[TENSORS][TOKENS][3 * DIM]; /* rows are as long as the longest tensor's */
static int8_t int8[TENSORS][TOKENS][3 * DIM];
static float scale[TENSORS];
#define ROW (3 * DIM)

#define LARGER(a, b) ((a) > (b) ? (a) : (b))
static _Alignas(FOVEA_WORKSPACE_ALIGNMENT) unsigned char workspace[LARGER(
    LARGER(FOVEA_ATTENTION_WORKSPACE_BYTES(HEAD_DIM, HEAD_DIM), FOVEA_LINEAR_WORKSPACE_BYTES(HIDDEN, FOVEA_F32)),
    LARGER(FOVEA_INTEGER_ATTENTION_WORKSPACE_BYTES(HEAD_DIM, HEAD_DIM, TOKENS),
           FOVEA_LINEAR_I8_WORKSPACE_BYTES(HIDDEN)))];

static fovea_status first_fault = FOVEA_OK;
static void expect(fovea_status status) {
  if (first_fault == FOVEA_OK) first_fault = status;
}

/* ---- f32. */

static void linear_f32(int y, int x, const Linear* linear) {
  fovea_linear_args args = {.struct_bytes = sizeof args,
                            .tokens = TOKENS,
                            .in_dim = linear->inputs,
                            .out_dim = linear->outputs,
                            .x = f32[x],
                            .x_stride = ROW,
                            .y = f32[y],
                            .y_stride = ROW};
  args.weights = (fovea_linear_weights){.data = linear->weights, .row_stride = linear->inputs, .bias = linear->bias};
  expect(fovea_linear(&args, workspace, sizeof workspace));
}

/* y = norm(x), or where there is a residual, sum = x + residual and y = norm(sum). */
static void norm_f32(int y, int x, int residual, int sum, int number) {
  fovea_norm_args args = {.struct_bytes = sizeof args,
                          .norm = FOVEA_NORM_LAYER,
                          .epsilon = kEpsilon,
                          .batch = 1,
                          .heads = 1,
                          .tokens = TOKENS,
                          .dim = DIM,
                          .weight = norm_weight[number],
                          .bias = norm_bias[number]};
  args.x = (fovea_in){.data = f32[x], .token_stride = ROW};
  args.y = (fovea_out){.data = f32[y], .token_stride = ROW};
  if (residual >= 0) {
    args.residual = (fovea_in){.data = f32[residual], .token_stride = ROW};
    args.sum = (fovea_out){.data = f32[sum], .token_stride = ROW};
  }
  expect(fovea_norm(&args));
}

static void attend_f32(void) {
  fovea_attention_desc desc = {.struct_bytes = sizeof desc,
                               .q_heads = HEADS,
                               .kv_heads = HEADS,
                               .head_dim = HEAD_DIM,
                               .value_dim = HEAD_DIM,
                               .max_batch = 1,
                               .max_q_tokens = TOKENS,
                               .max_kv_tokens = TOKENS};
  fovea_attention_plan plan;
  expect(fovea_attention_plan_init(&plan, &desc));
  fovea_attention_args args = {.struct_bytes = sizeof args, .batch = 1, .q_tokens = TOKENS, .kv_tokens = TOKENS};
  args.q = (fovea_in){.data = f32[QKV][0], .head_stride = HEAD_DIM, .token_stride = ROW};
  args.kv.keys = (fovea_in){.data = f32[QKV][0] + DIM, .head_stride = HEAD_DIM, .token_stride = ROW};
  args.kv.values = (fovea_in){.data = f32[QKV][0] + 2 * DIM, .head_stride = HEAD_DIM, .token_stride = ROW};
  args.out = (fovea_out){.data = f32[SEEN], .head_stride = HEAD_DIM, .token_stride = ROW};
  expect(fovea_attention(&plan, &args, workspace, sizeof workspace));
}

static void gelu_f32(int y, int x) {
  fovea_activation_args args = {.struct_bytes = sizeof args,
                                .activation = FOVEA_ACTIVATION_GELU,
                                .batch = 1,
                                .heads = 1,
                                .tokens = TOKENS,
                                .dim = HIDDEN};
  args.x = (fovea_in){.data = f32[x], .token_stride = ROW};
  args.y = (fovea_out){.data = f32[y], .token_stride = ROW};
  expect(fovea_activation(&args));
}

static void add_f32(int y, int a, int b) {
  fovea_binary_args args = {.struct_bytes = sizeof args, .batch = 1, .heads = 1, .tokens = TOKENS, .dim = DIM};
  args.y = (fovea_out){.data = f32[y], .token_stride = ROW};
  args.a = (fovea_in){.data = f32[a], .token_stride = ROW};
  args.b = (fovea_in){.data = f32[b], .token_stride = ROW};
  expect(fovea_add(&args));
}

static void layer_f32(int norm_first) {
  if (norm_first) norm_f32(NORMED, X, -1, -1, 0);
  linear_f32(QKV, norm_first ? NORMED : X, &qkv);
  attend_f32();
  linear_f32(PROJECTED, SEEN, &out);
  norm_f32(NORMED_2, PROJECTED, X, SUM, 1);
  linear_f32(RAISED, NORMED_2, &up);
  gelu_f32(ACTIVE, RAISED);
  linear_f32(LOWERED, ACTIVE, &down);
  if (norm_first) {
    add_f32(Y, LOWERED, SUM);
  } else {
    norm_f32(Y, LOWERED, NORMED_2, SUM_2, 0);
  }
}

/* ---- int8: the same calls, with the scales of the tensors. */

/* The scale with which all elements fit into codes. It is rounded up to seven bits, since the last bits of f32 are not the
 * same on all processors. */
static void set_scale(int tensor, uint32_t dim) {
  float largest = 0;
  for (uint32_t t = 0; t < TOKENS; ++t) {
    for (uint32_t d = 0; d < dim; ++d) largest = fmaxf(largest, fabsf(f32[tensor][t][d]));
  }
  int exponent;
  const float fraction = frexpf(largest / 127, &exponent);
  scale[tensor] = ldexpf(ceilf(fraction * 128) / 128, exponent);
}

static void linear_i8(int y, int x, const Linear* linear) {
  fovea_linear_args args = {.struct_bytes = sizeof args,
                            .compute = FOVEA_COMPUTE_I8,
                            .tokens = TOKENS,
                            .in_dim = linear->inputs,
                            .out_dim = linear->outputs,
                            .x_dtype = FOVEA_I8,
                            .y_dtype = FOVEA_I8,
                            .x = int8[x],
                            .x_stride = ROW,
                            .x_scales = &scale[x],
                            .y = int8[y],
                            .y_stride = ROW,
                            .y_scale = scale[y]};
  args.weights = (fovea_linear_weights){.dtype = FOVEA_I8,
                                        .data = linear->codes,
                                        .row_stride = linear->inputs,
                                        .scales = linear->scales,
                                        .bias = linear->bias};
  expect(fovea_linear(&args, workspace, sizeof workspace));
}

static void norm_i8(int y, int x, int number) {
  static int16_t weight[DIM], bias[DIM]; /* firmware has them as constants */
  const float weight_scale = 0x1p-14f;
  for (int d = 0; d < DIM; ++d) {
    weight[d] = (int16_t)floorf(norm_weight[number][d] / weight_scale + 0.5f);
    bias[d] = (int16_t)floorf(128 * norm_bias[number][d] / scale[y] + 0.5f);
  }
  fovea_integer_norm_args args = {.struct_bytes = sizeof args,
                                  .norm = FOVEA_NORM_LAYER,
                                  .batch = 1,
                                  .heads = 1,
                                  .tokens = TOKENS,
                                  .dim = DIM,
                                  .weight = weight,
                                  .bias = bias};
  args.x = (fovea_in){.data = int8[x], .token_stride = ROW};
  args.y = (fovea_out){.data = int8[y], .token_stride = ROW};
  expect(fovea_integer_multiplier(weight_scale / scale[y], &args.weight_multiplier, &args.weight_shift));
  expect(fovea_integer_multiplier(kEpsilon / (scale[x] * scale[x]), &args.epsilon_multiplier, &args.epsilon_shift));
  expect(fovea_integer_norm(&args));
}

static void attend_i8(void) {
  fovea_integer_attention_args args = {.struct_bytes = sizeof args,
                                       .batch = 1,
                                       .q_heads = HEADS,
                                       .kv_heads = HEADS,
                                       .q_tokens = TOKENS,
                                       .kv_tokens = TOKENS,
                                       .head_dim = HEAD_DIM,
                                       .value_dim = HEAD_DIM};
  args.q = (fovea_in){.data = int8[QKV][0], .head_stride = HEAD_DIM, .token_stride = ROW};
  args.keys = (fovea_in){.data = int8[QKV][0] + DIM, .head_stride = HEAD_DIM, .token_stride = ROW};
  args.values = (fovea_in){.data = int8[QKV][0] + 2 * DIM, .head_stride = HEAD_DIM, .token_stride = ROW};
  args.out = (fovea_out){.data = int8[SEEN], .head_stride = HEAD_DIM, .token_stride = ROW};
  const double octaves = 0.25 * 1.44269504; /* 1 / sqrt(HEAD_DIM) * log2(e) */
  expect(fovea_integer_multiplier(octaves * scale[QKV] * scale[QKV], &args.score_multiplier, &args.score_shift));
  expect(fovea_integer_multiplier(scale[QKV] / scale[SEEN], &args.out_multiplier, &args.out_shift));
  expect(fovea_integer_attention(&args, workspace, sizeof workspace));
}

static void gelu_i8(int y, int x) {
  static int8_t table[256]; /* firmware has it as a constant */
  expect(fovea_integer_activation_table(FOVEA_ACTIVATION_GELU, 0, scale[x], 0, scale[y], 0, table));
  fovea_integer_activation_args args = {
      .struct_bytes = sizeof args, .batch = 1, .heads = 1, .tokens = TOKENS, .dim = HIDDEN, .table = table};
  args.x = (fovea_in){.data = int8[x], .token_stride = ROW};
  args.y = (fovea_out){.data = int8[y], .token_stride = ROW};
  expect(fovea_integer_activation(&args));
}

static void add_i8(int y, int a, int b) {
  fovea_integer_binary_args args = {.struct_bytes = sizeof args, .batch = 1, .heads = 1, .tokens = TOKENS, .dim = DIM};
  args.y = (fovea_out){.data = int8[y], .token_stride = ROW};
  args.a = (fovea_in){.data = int8[a], .token_stride = ROW};
  args.b = (fovea_in){.data = int8[b], .token_stride = ROW};
  expect(fovea_integer_multiplier(scale[a] / scale[y], &args.a_multiplier, &args.a_shift));
  expect(fovea_integer_multiplier(scale[b] / scale[y], &args.b_multiplier, &args.b_shift));
  expect(fovea_integer_add(&args));
}

static void layer_i8(int norm_first) {
  if (norm_first) norm_i8(NORMED, X, 0);
  linear_i8(QKV, norm_first ? NORMED : X, &qkv);
  attend_i8();
  linear_i8(PROJECTED, SEEN, &out);
  add_i8(SUM, PROJECTED, X);
  norm_i8(NORMED_2, SUM, 1);
  linear_i8(RAISED, NORMED_2, &up);
  gelu_i8(ACTIVE, RAISED);
  linear_i8(LOWERED, ACTIVE, &down);
  if (norm_first) {
    add_i8(Y, LOWERED, SUM);
  } else {
    add_i8(SUM_2, LOWERED, NORMED_2);
    norm_i8(Y, SUM_2, 0);
  }
}

/* ---- Both, compared. */

static float largest_difference(void) {
  float largest = 0;
  for (int t = 0; t < TOKENS; ++t) {
    for (int d = 0; d < DIM; ++d) {
      const float difference = fabsf(scale[Y] * (float)int8[Y][t][d] - f32[Y][t][d]);
      if (difference > largest) largest = difference; /* gcc 12 fails on fmaxf here, for AArch64 with -O3 */
    }
  }
  return largest;
}

int main(void) {
  static const uint32_t dims[TENSORS] = {DIM, DIM, 3 * DIM, DIM, DIM, DIM, DIM, HIDDEN, HIDDEN, DIM, DIM, DIM};
  make(&qkv), make(&out), make(&up), make(&down);
  for (int d = 0; d < DIM; ++d) {
    for (int i = 0; i < 2; ++i) norm_weight[i][d] = 1 + random_number() / 2, norm_bias[i][d] = random_number() / 2;
    for (int t = 0; t < TOKENS; ++t) f32[X][t][d] = 2 * random_number();
  }
  int failure = 0;
  uint32_t digest = 2166136261u;
  for (int norm_first = 0; norm_first < 2; ++norm_first) {
    layer_f32(norm_first);
    for (int i = 0; i < TENSORS; ++i) set_scale(i, dims[i]);
    for (int t = 0; t < TOKENS; ++t) {
      for (int d = 0; d < DIM; ++d) int8[X][t][d] = (int8_t)floorf(f32[X][t][d] / scale[X] + 0.5f);
    }
    layer_i8(norm_first);
    const float difference = largest_difference();
    printf("normalisation %s: the largest difference of int8 and f32 is %ld thousandths\n",
           norm_first ? "before" : "after", (long)(1000 * difference));
    failure |= !(difference <= kLargestDifference);
    for (int t = 0; t < TOKENS; ++t) {
      for (int d = 0; d < DIM; ++d) digest = (digest ^ (uint8_t)int8[Y][t][d]) * 16777619u; /* FNV-1a */
    }
  }
  failure |= digest != kDigest || first_fault != FOVEA_OK;
  printf("%s; digest of int8 %08lx; %s\n", fovea_status_string(first_fault), (unsigned long)digest,
         failure ? "WRONG" : "right");
  return failure;
}
