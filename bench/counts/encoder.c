/* SPDX-License-Identifier: Apache-2.0 */
#include "encoder.h"

#include <math.h>
#include <string.h>

enum { kTokens = kEncoderMostTokens, kDim = kEncoderMostDim, kHidden = kEncoderMostHidden };

static int8_t x[kTokens * kDim], normal[kTokens * kDim], mixed[kTokens * kDim], heads_out[kTokens * 3 * kDim];
static int8_t between[kTokens * kHidden], table[256];
static int8_t to_heads[3 * kDim * kDim], from_heads[kDim * kDim], widen[kHidden * kDim], narrow[kDim * kHidden];
static float row_scales[3 * kDim + kHidden];
static int32_t row_bias[3 * kDim + kHidden];
static int16_t norm_weight[kDim], norm_bias[kDim];
static _Alignas(FOVEA_WORKSPACE_ALIGNMENT) unsigned char
    workspace[FOVEA_LINEAR_I8_WORKSPACE_BYTES(kHidden) + FOVEA_INTEGER_ATTENTION_WORKSPACE_BYTES(kDim, kDim, kTokens)];
/* One scale for all tensors, so that codes from -127 to 127 stand for -4 to 4. */
static const float kScale = 4.0f / 127;

static void draw_codes(int8_t* codes, int count, uint32_t state) {
  for (int i = 0; i < count; ++i) {
    state = state * 1664525u + 1013904223u;
    codes[i] = (int8_t)((int)(state >> 24) - 128);
  }
}

static fovea_in rows(const int8_t* data, int stride, int head) {
  const fovea_in in = {data, 0, head, stride};
  return in;
}
static fovea_out out_rows(int8_t* data, int stride, int head) {
  const fovea_out out = {data, 0, head, stride};
  return out;
}

static fovea_status normalise(const int8_t* from, int8_t* to, int tokens, int dim) {
  fovea_integer_norm_args args;
  memset(&args, 0, sizeof args);
  args.struct_bytes = sizeof args;
  args.norm = FOVEA_NORM_LAYER;
  args.batch = args.heads = 1;
  args.tokens = (uint32_t)tokens;
  args.dim = (uint32_t)dim;
  args.y = out_rows(to, dim, 0);
  args.x = rows(from, dim, 0);
  args.weight = norm_weight;
  args.bias = norm_bias;
  fovea_status status = fovea_integer_multiplier(0x1p-14 / (double)kScale, &args.weight_multiplier, &args.weight_shift);
  if (status == FOVEA_OK) {
    status = fovea_integer_multiplier(1e-5 / (double)(kScale * kScale), &args.epsilon_multiplier, &args.epsilon_shift);
  }
  return status == FOVEA_OK ? fovea_integer_norm(&args) : status;
}

static fovea_status multiply(const int8_t* from, int in_dim, const int8_t* weights, int8_t* to, int out_dim, int tokens) {
  fovea_linear_args args;
  memset(&args, 0, sizeof args);
  args.struct_bytes = sizeof args;
  args.compute = FOVEA_COMPUTE_I8;
  args.tokens = (uint32_t)tokens;
  args.in_dim = (uint32_t)in_dim;
  args.out_dim = (uint32_t)out_dim;
  args.x_dtype = args.y_dtype = FOVEA_I8;
  args.x = from;
  args.x_stride = in_dim;
  args.y = to;
  args.y_stride = out_dim;
  args.weights.dtype = FOVEA_I8;
  args.weights.data = weights;
  args.weights.row_stride = in_dim;
  args.weights.scales = row_scales;
  args.weights.bias_i32 = row_bias;
  args.x_scales = &kScale;
  args.y_scale = kScale;
  return fovea_linear(&args, workspace, sizeof workspace);
}

static fovea_status attend(int heads, int tokens, int head_dim) {
  const int dim = heads * head_dim;
  fovea_integer_attention_args args;
  memset(&args, 0, sizeof args);
  args.struct_bytes = sizeof args;
  args.batch = 1;
  args.q_heads = args.kv_heads = (uint32_t)heads;
  args.q_tokens = args.kv_tokens = (uint32_t)tokens;
  args.head_dim = args.value_dim = (uint32_t)head_dim;
  args.q = rows(heads_out, 3 * dim, head_dim);
  args.keys = rows(heads_out + dim, 3 * dim, head_dim);
  args.values = rows(heads_out + 2 * dim, 3 * dim, head_dim);
  args.out = out_rows(mixed, dim, head_dim);
  fovea_status status = fovea_integer_multiplier((double)(kScale * kScale) * 1.4426950408889634 / sqrt(head_dim),
                                                 &args.score_multiplier, &args.score_shift);
  if (status == FOVEA_OK) status = fovea_integer_multiplier(1, &args.out_multiplier, &args.out_shift);
  return status == FOVEA_OK ? fovea_integer_attention(&args, workspace, sizeof workspace) : status;
}

static fovea_status add(const int8_t* a, int8_t* to, int tokens, int dim) {
  fovea_integer_binary_args args;
  memset(&args, 0, sizeof args);
  args.struct_bytes = sizeof args;
  args.batch = args.heads = 1;
  args.tokens = (uint32_t)tokens;
  args.dim = (uint32_t)dim;
  args.y = out_rows(to, dim, 0);
  args.a = rows(a, dim, 0);
  args.b = rows(to, dim, 0);
  fovea_status status = fovea_integer_multiplier(0.5, &args.a_multiplier, &args.a_shift);
  if (status == FOVEA_OK) status = fovea_integer_multiplier(0.5, &args.b_multiplier, &args.b_shift);
  return status == FOVEA_OK ? fovea_integer_add(&args) : status;
}

static fovea_status activate(int tokens, int hidden) {
  fovea_integer_activation_args args;
  memset(&args, 0, sizeof args);
  args.struct_bytes = sizeof args;
  args.batch = args.heads = 1;
  args.tokens = (uint32_t)tokens;
  args.dim = (uint32_t)hidden;
  args.y = out_rows(between, hidden, 0);
  args.x = rows(between, hidden, 0);
  args.table = table;
  return fovea_integer_activation(&args);
}

static fovea_status layer(int heads, int tokens, int hidden, int head_dim) {
  const int dim = heads * head_dim;
  fovea_status status = normalise(x, normal, tokens, dim);
  if (status == FOVEA_OK) status = multiply(normal, dim, to_heads, heads_out, 3 * dim, tokens);
  if (status == FOVEA_OK) status = attend(heads, tokens, head_dim);
  if (status == FOVEA_OK) status = multiply(mixed, dim, from_heads, normal, dim, tokens);
  if (status == FOVEA_OK) status = add(normal, x, tokens, dim);
  if (status == FOVEA_OK) status = normalise(x, normal, tokens, dim);
  if (status == FOVEA_OK) status = multiply(normal, dim, widen, between, hidden, tokens);
  if (status == FOVEA_OK) status = activate(tokens, hidden);
  if (status == FOVEA_OK) status = multiply(between, hidden, narrow, normal, dim, tokens);
  return status == FOVEA_OK ? add(normal, x, tokens, dim) : status;
}

fovea_status call_encoder(int heads, int tokens, int hidden, int head_dim, int calls, double* sum) {
  const int dim = heads * head_dim;
  if (tokens > kTokens || dim > kDim || hidden > kHidden) return FOVEA_ERR_SIZE;
  draw_codes(x, tokens * dim, 1);
  draw_codes(to_heads, 3 * dim * dim, 2);
  draw_codes(from_heads, dim * dim, 3);
  draw_codes(widen, hidden * dim, 4);
  draw_codes(narrow, dim * hidden, 5);
  for (int i = 0; i < dim; ++i) norm_weight[i] = 16384, norm_bias[i] = (int16_t)(i - dim / 2);
  for (int i = 0; i < 3 * dim + hidden; ++i) row_scales[i] = 0.14f / 127, row_bias[i] = i;
  fovea_status status = fovea_integer_activation_table(FOVEA_ACTIVATION_GELU, 0, kScale, 0, kScale, 0, table);
  for (; calls > 0 && status == FOVEA_OK; --calls) status = layer(heads, tokens, hidden, head_dim);
  *sum = 0;
  for (int i = 0; i < tokens * dim; ++i) *sum += x[i];
  return status;
}
