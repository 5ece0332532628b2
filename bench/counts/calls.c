/* SPDX-License-Identifier: Apache-2.0
 *
 * The program whose instructions bench/counts.py and bench/size.py count:
 *   fovea_calls CALLS [fovea | naive] [HEADS Q_TOKENS KV_TOKENS DIM] [mask] [f16] [i8] [integers] [tensors] [linear] [delta]
 *               [general] [FORMAT] [codes] [prefix] [relu] [layer_norm] [gelu] [integer_LAYER] [encoder] [TARGET]
 * It makes CALLS attention calls, by the library or by plain loops; the default shape is 4 heads x 64 queries x
 * 64 keys x dim 64. "mask": a mask of floats that hides every fourth key. "f16" or "i8": keys and values in half
 * precision or int8. "halves": f16 and products of halves. "integers": int8 and products of integers. "tensors": fovea_integer_attention. "linear": a linear
 * layer for Q_TOKENS tokens, with KV_TOKENS outputs and DIM inputs; HEADS is 1. FORMAT is that of its weights, as in kBlocks. "codes":
 * its inputs and outputs are int8, too. "relu", "gelu": its activation. "prefix": all keys but the last 64 are a prefix.
 * "delta": linear attention by the gated delta rule, or with "general" by the general one, where each call continues the
 * one before: Q_TOKENS tokens, head_dim KV_TOKENS, value_dim DIM.
 * "layer_norm", "gelu": layer normalisation, with weights and biases, or an activation of HEADS x Q_TOKENS rows of DIM
 * elements; KV_TOKENS is 1. "integer_norm" and others: a layer of fovea/integer_layers.h for Q_TOKENS rows of DIM codes;
 * HEADS and KV_TOKENS are 1. "encoder": an encoder layer on int8 tensors, of Q_TOKENS tokens, with KV_TOKENS units between
 * its linear layers; DIM is that of a head. TARGET is the name of a target. All memory is static, so the program runs on
 * every machine. The exit status is 3 if the library does not support the call.
 */
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "fovea/fovea.h"
#include "encoder.h"
#include "integer_layers.h"
#include "naive.h"

enum {
#if defined(__linux__)
  kMaxDim = 128,
  kMaxInputs = 576, /* of linear layers */
  kMaxQueries = 128 * 1536,
  kMaxKeys = 1536 * kMaxInputs,
#else
  kMaxDim = 64,
  kMaxInputs = 512,
  kMaxQueries = 4 * 64 * 64,
  kMaxKeys = 4 * 256 * 64,
#endif
  kMaxKeyTokens = 1024,
  kMaxKeyRows = 4 * kMaxKeyTokens,
  kMaxMask = 64 * 64,
  kMaxDeltaHeads = 4,
  kNotServed = 3 /* an exit status */
};

static float queries[kMaxQueries], keys[kMaxKeys], values[kMaxKeys], out[kMaxQueries];
static float mask[kMaxMask], weights[kMaxKeyTokens];
static int8_t query_codes[kMaxQueries], key_codes[kMaxKeys], value_codes[kMaxKeys], out_codes[kMaxQueries];
static uint16_t key_halves[kMaxKeys], value_halves[kMaxKeys];
static float key_scales[kMaxKeyRows], value_scales[kMaxKeyRows];
/* Larger than any call needs. */
static _Alignas(FOVEA_WORKSPACE_ALIGNMENT) unsigned char
    workspace[FOVEA_ATTENTION_I8_WORKSPACE_BYTES(kMaxDim, kMaxDim) +
              FOVEA_INTEGER_ATTENTION_WORKSPACE_BYTES(kMaxDim, kMaxDim, 64) + FOVEA_LINEAR_I8_WORKSPACE_BYTES(kMaxInputs)];
static _Alignas(FOVEA_WORKSPACE_ALIGNMENT) unsigned char
    delta_state[FOVEA_DELTA_STATE_BYTES(1, kMaxDeltaHeads, kMaxDim, kMaxDim, FOVEA_DELTA_GENERAL_DIM(kMaxDim))],
    delta_workspace[FOVEA_DELTA_GENERAL_WORKSPACE_BYTES(kMaxDim, 1)];
static float decays[kMaxDeltaHeads * kMaxDim * kMaxDim], betas[kMaxDeltaHeads * kMaxDim];

/* Formats of a linear layer's weights in groups. */
static const struct blocks {
  const char* word;
  fovea_dtype dtype;
  int elements, bytes;
} kBlocks[] = {{"q4_1", FOVEA_Q4_1, 32, 20},   {"q4_k", FOVEA_Q4_K, 256, 144},     {"q6_k", FOVEA_Q6_K, 256, 210},
               {"q5_0", FOVEA_Q5_0, 32, 22},   {"q5_1", FOVEA_Q5_1, 32, 24},       {"q5_k", FOVEA_Q5_K, 256, 176},
               {"q3_k", FOVEA_Q3_K, 256, 110}, {"q2_k", FOVEA_Q2_K, 256, 84},      {"iq4_nl", FOVEA_IQ4_NL, 32, 18},
               {"mxfp4", FOVEA_MXFP4, 32, 17}, {"iq4_xs", FOVEA_IQ4_XS, 256, 136}, {"tq2_0", FOVEA_TQ2_0, 256, 66}};

struct options {
  int f16;
  int i8;
  int prefix; /* all keys but the last 64 */
  int tensors;
  int linear;
  int delta;
  int general;
  const struct blocks* blocks; /* of a linear layer's weights, or NULL */
  int codes;                   /* a linear layer's inputs and outputs are */
  int relu;
  int layer_norm;
  int gelu;
  int encoder;
  const char* integer_layer; /* its word, or NULL */
  fovea_compute compute;
  fovea_target target;
};

/* Uniform over [-1.7, 1.7), with a variance of about 1. */
static void draw(float* data, int count, uint32_t state) {
  for (int i = 0; i < count; ++i) {
    state = state * 1664525u + 1013904223u;
    data[i] = ((float)(state >> 8) * 0x1p-23f - 1.0f) * 1.7f;
  }
}

static void narrow(const float* data, int rows, int dim, int8_t* codes, float* scales) {
  for (int r = 0; r < rows; ++r) {
    float largest = 0;
    for (int d = 0; d < dim; ++d) largest = fmaxf(largest, fabsf(data[r * dim + d]));
    scales[r] = largest / 127;
    for (int d = 0; d < dim; ++d) codes[r * dim + d] = (int8_t)rintf(data[r * dim + d] / scales[r]);
  }
}

/* Converts to half precision, towards zero; magnitudes below 2^-14 become 0. */
static void halve(const float* data, int count, uint16_t* halves) {
  for (int i = 0; i < count; ++i) {
    uint32_t bits;
    memcpy(&bits, &data[i], sizeof bits);
    const uint32_t magnitude = bits & 0x7fffffffu, sign = bits >> 16 & 0x8000u;
    halves[i] = (uint16_t)(magnitude < 0x38800000u ? sign : sign | (magnitude - 0x38000000u) >> 13);
  }
}

static fovea_in dense(const void* data, int tokens, int dim) {
  const fovea_in in = {data, 0, (ptrdiff_t)tokens * dim, dim};
  return in;
}

static fovea_kv_source keys_and_values(const struct naive_call* shape, const struct options* options) {
  const int tokens = shape->kv_tokens, dim = shape->dim, rows = shape->heads * tokens;
  fovea_kv_source source;
  memset(&source, 0, sizeof source);
  source.keys = dense(shape->keys, tokens, dim);
  source.values = dense(shape->values, tokens, dim);
  if (options->f16) {
    halve(shape->keys, rows * dim, key_halves);
    halve(shape->values, rows * dim, value_halves);
    source.keys.data = key_halves;
    source.values.data = value_halves;
  } else if (options->i8) {
    narrow(shape->keys, rows, dim, key_codes, key_scales);
    narrow(shape->values, rows, dim, value_codes, value_scales);
    source.keys.data = key_codes;
    source.values.data = value_codes;
    source.key_scales = dense(key_scales, tokens, 1);
    source.value_scales = dense(value_scales, tokens, 1);
  }
  return source;
}

/* Makes the first tokens of a source a prefix. */
static void take_prefix(uint32_t tokens, fovea_kv_source* source, fovea_kv_prefix* prefix) {
  memset(prefix, 0, sizeof *prefix);
  prefix->struct_bytes = sizeof *prefix;
  prefix->tokens = tokens;
  prefix->keys = source->keys;
  prefix->values = source->values;
  prefix->key_scales = source->key_scales;
  prefix->value_scales = source->value_scales;
  const size_t unit = source->key_scales.data ? sizeof(int8_t) : sizeof(float);
  source->keys.data = (const char*)source->keys.data + tokens * unit * (size_t)source->keys.token_stride;
  source->values.data = (const char*)source->values.data + tokens * unit * (size_t)source->values.token_stride;
  if (!source->key_scales.data) return;
  source->key_scales.data = (const float*)source->key_scales.data + tokens;
  source->value_scales.data = (const float*)source->value_scales.data + tokens;
}

static fovea_status call_fovea(const struct naive_call* shape, const struct options* options, int calls) {
  fovea_attention_desc desc;
  memset(&desc, 0, sizeof desc);
  desc.struct_bytes = sizeof desc;
  desc.q_heads = desc.kv_heads = (uint32_t)shape->heads;
  desc.head_dim = desc.value_dim = (uint32_t)shape->dim;
  desc.max_batch = 1;
  desc.max_q_tokens = (uint32_t)shape->q_tokens;
  desc.max_kv_tokens = (uint32_t)shape->kv_tokens;
  desc.key_dtype = desc.value_dtype = options->f16 ? FOVEA_F16 : options->i8 ? FOVEA_I8 : FOVEA_F32;
  desc.compute = options->compute;
  desc.target = options->target;
  /* So that TARGET can be any. */
  desc.processor_features = FOVEA_FEATURE_NEON_DOTPROD | FOVEA_FEATURE_NEON_I8MM | FOVEA_FEATURE_NEON_FP16;
  desc.max_prefix_tokens = options->prefix ? desc.max_kv_tokens - 64 : 0;
  desc.max_kv_tokens -= (uint32_t)desc.max_prefix_tokens;
  fovea_attention_plan plan;
  fovea_status status = fovea_attention_plan_init(&plan, &desc);

  fovea_attention_args args;
  memset(&args, 0, sizeof args);
  args.struct_bytes = sizeof args;
  args.batch = 1;
  args.q_tokens = (uint32_t)shape->q_tokens;
  args.kv_tokens = desc.max_kv_tokens;
  args.q = dense(shape->queries, shape->q_tokens, shape->dim);
  args.kv = keys_and_values(shape, options);
  fovea_kv_prefix prefix;
  const fovea_kv_prefix* const prefixes[] = {&prefix};
  if (options->prefix) take_prefix((uint32_t)desc.max_prefix_tokens, &args.kv, &prefix), args.kv.prefixes = prefixes;
  args.out.data = shape->out;
  args.out.batch_stride = (ptrdiff_t)shape->heads * shape->q_tokens * shape->dim;
  args.out.head_stride = (ptrdiff_t)shape->q_tokens * shape->dim;
  args.out.token_stride = shape->dim;
  if (shape->mask) {
    args.mask.kind = FOVEA_MASK_F32;
    args.mask.data = shape->mask;
    args.mask.q_stride = shape->kv_tokens;
    args.mask.kv_tokens = args.kv_tokens;
  }
  for (; calls > 0 && status == FOVEA_OK; --calls) status = fovea_attention(&plan, &args, workspace, sizeof workspace);
  return status;
}

/* Codes of the drawn numbers, each array with one scale. */
static void narrow_tensor(const float* data, int count, int8_t* codes) {
  for (int i = 0; i < count; ++i) codes[i] = (int8_t)rintf(data[i] * (127 / 1.7f));
}

static fovea_status call_tensors(const struct naive_call* shape, int calls) {
  const int outputs = shape->heads * shape->q_tokens * shape->dim, inputs = shape->heads * shape->kv_tokens * shape->dim;
  narrow_tensor(shape->queries, outputs, query_codes);
  narrow_tensor(shape->keys, inputs, key_codes);
  narrow_tensor(shape->values, inputs, value_codes);
  fovea_integer_attention_args args;
  memset(&args, 0, sizeof args);
  args.struct_bytes = sizeof args;
  args.batch = 1;
  args.q_heads = args.kv_heads = (uint32_t)shape->heads;
  args.q_tokens = (uint32_t)shape->q_tokens;
  args.kv_tokens = (uint32_t)shape->kv_tokens;
  args.head_dim = args.value_dim = (uint32_t)shape->dim;
  args.q = dense(query_codes, shape->q_tokens, shape->dim);
  args.keys = dense(key_codes, shape->kv_tokens, shape->dim);
  args.values = dense(value_codes, shape->kv_tokens, shape->dim);
  args.out.data = out_codes;
  args.out.head_stride = (ptrdiff_t)shape->q_tokens * shape->dim;
  args.out.token_stride = shape->dim;
  const double scale = 1.7 / 127;
  fovea_status status = fovea_integer_multiplier(scale * scale * 1.4426950408889634 / sqrt(shape->dim),
                                                 &args.score_multiplier, &args.score_shift);
  if (status == FOVEA_OK) status = fovea_integer_multiplier(2.8, &args.out_multiplier, &args.out_shift);
  for (; calls > 0 && status == FOVEA_OK; --calls) status = fovea_integer_attention(&args, workspace, sizeof workspace);
  for (int i = 0; i < outputs; ++i) shape->out[i] = (float)out_codes[i];
  return status;
}

/* Fills in weights of random bytes below 64, which are scales between 0 and 2 in all formats. */
static void draw_blocks(const struct blocks* format, int count, fovea_linear_weights* of) {
  uint8_t* const blocks = (uint8_t*)key_codes;
  uint32_t state = 2;
  for (int i = 0; i < count / format->elements * format->bytes; ++i) {
    state = state * 1664525u + 1013904223u;
    blocks[i] = (uint8_t)(state >> 26);
  }
  of->dtype = format->dtype;
  of->data = blocks;
  of->row_stride = of->row_stride / format->elements * format->bytes;
  of->scales = NULL;
}

static fovea_status call_linear(const struct naive_call* shape, const struct options* options, int calls) {
  fovea_linear_args args;
  memset(&args, 0, sizeof args);
  args.struct_bytes = sizeof args;
  args.target = options->target;
  args.processor_features = FOVEA_FEATURE_NEON_DOTPROD | FOVEA_FEATURE_NEON_I8MM | FOVEA_FEATURE_NEON_FP16;
  args.compute = options->compute;
  args.tokens = (uint32_t)shape->q_tokens;
  args.in_dim = (uint32_t)shape->dim;
  args.out_dim = (uint32_t)shape->kv_tokens;
  args.x = shape->queries;
  args.x_stride = shape->dim;
  args.y = shape->out;
  args.y_stride = shape->kv_tokens;
  args.weights.data = shape->keys;
  args.weights.row_stride = shape->dim;
  if (options->i8) {
    narrow(shape->keys, shape->kv_tokens, shape->dim, key_codes, key_scales);
    args.weights.dtype = FOVEA_I8;
    args.weights.data = key_codes;
    args.weights.scales = key_scales;
  } else if (options->f16) {
    halve(shape->keys, shape->kv_tokens * shape->dim, key_halves);
    args.weights.dtype = FOVEA_F16;
    args.weights.data = key_halves;
  }
  if (options->blocks) {
    if (shape->dim % 256 != 0) return FOVEA_ERR_DIM;
    draw_blocks(options->blocks, shape->kv_tokens * shape->dim, &args.weights);
  }
  static const float x_scale = 1.7f / 127;
  if (options->codes) { /* with the zero points of codes that have both signs, and outputs as large as they are */
    narrow_tensor(shape->queries, shape->q_tokens * shape->dim, query_codes);
    args.x_dtype = args.y_dtype = FOVEA_I8;
    args.x = query_codes;
    args.x_scales = &x_scale;
    args.x_zero_point = 3;
    args.y = out_codes;
    args.y_scale = 0.03f * sqrtf((float)shape->dim);
    args.y_zero_point = -5;
  }
  args.activation = options->relu   ? FOVEA_ACTIVATION_RELU
                    : options->gelu ? FOVEA_ACTIVATION_GELU
                                    : FOVEA_ACTIVATION_IDENTITY;
  fovea_status status = FOVEA_OK;
  for (; calls > 0 && status == FOVEA_OK; --calls) status = fovea_linear(&args, workspace, sizeof workspace);
  for (int i = 0; options->codes && i < shape->q_tokens * shape->kv_tokens; ++i) shape->out[i] = (float)out_codes[i];
  return status;
}

static fovea_status call_delta(const struct naive_call* shape, const struct options* options, int calls) {
  const int heads = shape->heads, tokens = shape->q_tokens, head_dim = shape->kv_tokens, value_dim = shape->dim;
  const int rows = heads * tokens;
  draw(queries, rows * head_dim, 1);
  draw(keys, rows * head_dim, 2);
  draw(values, rows * value_dim, 3);
  const int decay_dim = options->general ? head_dim : 1;
  draw(decays, rows * decay_dim, 4);
  draw(betas, rows, 5);
  for (int i = 0; i < rows * head_dim; ++i) keys[i] *= 1 / sqrtf((float)head_dim); /* of length about 1 */
  for (int i = 0; i < rows * decay_dim; ++i) decays[i] = 0.05f * (decays[i] - 1.7f);
  for (int i = 0; i < rows; ++i) betas[i] = 0.5f + 0.25f * betas[i];
  fovea_delta_args args;
  memset(&args, 0, sizeof args);
  args.struct_bytes = sizeof args;
  args.target = options->target;
  args.rule = options->general ? FOVEA_DELTA_RULE_GENERAL : FOVEA_DELTA_RULE_GATED_DELTA;
  args.batch = 1;
  args.q_heads = args.k_heads = args.v_heads = (uint32_t)heads;
  args.head_dim = (uint32_t)head_dim;
  args.value_dim = (uint32_t)value_dim;
  args.decay_dim = options->general ? FOVEA_DELTA_GENERAL_DIM((uint32_t)head_dim) : 1;
  args.tokens = (uint32_t)tokens;
  args.q = dense(shape->queries, tokens, head_dim);
  args.k = dense(shape->keys, tokens, head_dim);
  args.v = dense(shape->values, tokens, value_dim);
  args.decay = dense(decays, tokens, decay_dim);
  args.beta = dense(betas, tokens, 1);
  if (options->general) { /* a and b are after the values */
    float *const a = values + rows * value_dim, *const b = a + rows * head_dim;
    for (int i = 0; i < rows * head_dim; ++i) a[i] = -keys[i], b[i] = 0.5f * keys[i];
    args.a = dense(a, tokens, head_dim);
    args.b = dense(b, tokens, head_dim);
  }
  args.out.data = shape->out;
  args.out.head_stride = (ptrdiff_t)tokens * value_dim;
  args.out.token_stride = value_dim;
  fovea_delta_state* const state = (fovea_delta_state*)(void*)delta_state;
  fovea_status status =
      fovea_delta_begin(state, sizeof delta_state, 1, args.v_heads, args.head_dim, args.value_dim, args.decay_dim);
  for (; calls > 0 && status == FOVEA_OK; --calls) {
    status = fovea_delta(state, &args, delta_workspace, sizeof delta_workspace);
  }
  return status;
}

static fovea_status call_layer_norm(const struct naive_call* shape, const struct options* options, int calls) {
  fovea_norm_args args;
  memset(&args, 0, sizeof args);
  args.struct_bytes = sizeof args;
  args.target = options->target;
  args.norm = FOVEA_NORM_LAYER;
  args.epsilon = 1e-5f;
  args.batch = 1;
  args.heads = (uint32_t)shape->heads;
  args.tokens = (uint32_t)shape->q_tokens;
  args.dim = (uint32_t)shape->dim;
  args.x = dense(shape->queries, shape->q_tokens, shape->dim);
  args.y.data = shape->out;
  args.y.head_stride = args.x.head_stride;
  args.y.token_stride = args.x.token_stride;
  args.weight = shape->keys;
  args.bias = shape->values;
  fovea_status status = FOVEA_OK;
  for (; calls > 0 && status == FOVEA_OK; --calls) status = fovea_norm(&args);
  return status;
}

static fovea_status call_gelu(const struct naive_call* shape, const struct options* options, int calls) {
  fovea_activation_args args;
  memset(&args, 0, sizeof args);
  args.struct_bytes = sizeof args;
  args.target = options->target;
  args.activation = FOVEA_ACTIVATION_GELU;
  args.batch = 1;
  args.heads = (uint32_t)shape->heads;
  args.tokens = (uint32_t)shape->q_tokens;
  args.dim = (uint32_t)shape->dim;
  args.x = dense(shape->queries, shape->q_tokens, shape->dim);
  args.y.data = shape->out;
  args.y.head_stride = args.x.head_stride;
  args.y.token_stride = args.x.token_stride;
  fovea_status status = FOVEA_OK;
  for (; calls > 0 && status == FOVEA_OK; --calls) status = fovea_activation(&args);
  return status;
}

static const struct blocks* blocks_of(const char* word) {
  for (size_t i = 0; i < sizeof kBlocks / sizeof kBlocks[0]; ++i) {
    if (strcmp(word, kBlocks[i].word) == 0) return kBlocks + i;
  }
  return NULL;
}

static int is_too_large(const struct naive_call* shape, const struct options* options) {
  const int rows = shape->heads * shape->kv_tokens;
  if (options->integer_layer || options->encoder) return 0;
  if (options->delta) {
    return shape->heads > kMaxDeltaHeads || shape->q_tokens > kMaxDim || shape->kv_tokens > kMaxDim ||
           shape->dim > kMaxDim;
  }
  if (shape->heads * shape->q_tokens * shape->dim > kMaxQueries || rows * shape->dim > kMaxKeys || rows > kMaxKeyRows) {
    return 1;
  }
  if (options->layer_norm || (options->gelu && !options->linear)) return 0;
  if (options->linear) return shape->dim > kMaxInputs || shape->q_tokens * shape->kv_tokens > kMaxQueries;
  return shape->dim > kMaxDim || shape->kv_tokens > kMaxKeyTokens ||
         (shape->mask && shape->q_tokens * shape->kv_tokens > kMaxMask);
}

int main(int argc, char** argv) {
  int calls = argc > 1 ? atoi(argv[1]) : 1;
  const int naive = argc > 2 && strcmp(argv[2], "naive") == 0;
  struct naive_call shape = {4, 64, 64, 64, queries, keys, values, 0, weights, out};
  if (argc > 6) {
    shape.heads = atoi(argv[3]);
    shape.q_tokens = atoi(argv[4]);
    shape.kv_tokens = atoi(argv[5]);
    shape.dim = atoi(argv[6]);
  }
  struct options options;
  memset(&options, 0, sizeof options);
  /* What a word sets, and the arithmetic that goes with it; a word may set two. */
  const struct {
    const char* word;
    int* flag;
    fovea_compute compute;
  } words[] = {
      {"f16", &options.f16, FOVEA_COMPUTE_F32},         {"halves", &options.f16, FOVEA_COMPUTE_F16},
      {"i8", &options.i8, FOVEA_COMPUTE_F32},           {"integers", &options.i8, FOVEA_COMPUTE_I8},
      {"codes", &options.i8, FOVEA_COMPUTE_I8},         {"codes", &options.codes, FOVEA_COMPUTE_F32},
      {"tensors", &options.tensors, FOVEA_COMPUTE_F32}, {"linear", &options.linear, FOVEA_COMPUTE_F32},
      {"delta", &options.delta, FOVEA_COMPUTE_F32},     {"general", &options.general, FOVEA_COMPUTE_F32},
      {"relu", &options.relu, FOVEA_COMPUTE_F32},       {"layer_norm", &options.layer_norm, FOVEA_COMPUTE_F32},
      {"gelu", &options.gelu, FOVEA_COMPUTE_F32},       {"encoder", &options.encoder, FOVEA_COMPUTE_F32},
      {"prefix", &options.prefix, FOVEA_COMPUTE_F32}};
  for (int i = 7; i < argc; ++i) {
    int known = 0;
    for (size_t w = 0; w < sizeof words / sizeof words[0]; ++w) {
      if (strcmp(argv[i], words[w].word) != 0) continue;
      known = *words[w].flag = 1;
      if (words[w].compute != FOVEA_COMPUTE_F32) options.compute = words[w].compute;
    }
    if (known) continue;
    if (strcmp(argv[i], "mask") == 0) {
      shape.mask = mask;
    } else if (blocks_of(argv[i])) {
      options.blocks = blocks_of(argv[i]);
    } else if (is_integer_layer(argv[i])) {
      options.integer_layer = argv[i];
    } else {
      options.target = fovea_target_from_name(argv[i]);
    }
  }
  int outputs = shape.heads * shape.q_tokens * shape.dim, inputs = shape.heads * shape.kv_tokens * shape.dim;
  if (options.integer_layer || options.encoder) outputs = inputs = 0;
  if (is_too_large(&shape, &options)) {
    printf("too large a shape\n");
    return 2;
  }
  draw(queries, outputs, 1);
  draw(keys, inputs, 2);
  draw(values, inputs, 3);
  for (int i = 0; i < kMaxMask; ++i) mask[i] = i % 4 == 3 ? -INFINITY : 0.5f;

  fovea_status status = FOVEA_OK;
  double sum = 0;
  if (naive) {
    for (; calls > 0; --calls) naive_attention(&shape);
  } else if (options.integer_layer) {
    status = call_integer_layer(options.integer_layer, shape.q_tokens, shape.dim, calls, &sum);
  } else if (options.encoder) {
    status = call_encoder(shape.heads, shape.q_tokens, shape.kv_tokens, shape.dim, calls, &sum);
  } else if (options.linear) {
    status = call_linear(&shape, &options, calls);
  } else if (options.delta) {
    status = call_delta(&shape, &options, calls);
  } else if (options.layer_norm) {
    status = call_layer_norm(&shape, &options, calls);
  } else if (options.gelu) {
    status = call_gelu(&shape, &options, calls);
  } else if (options.tensors) {
    status = call_tensors(&shape, calls);
  } else {
    status = call_fovea(&shape, &options, calls);
  }
  for (int i = 0; i < outputs; ++i) sum += (double)out[i];
  printf("%s, sum of the output %.6g\n", fovea_status_string(status), sum);
  return status == FOVEA_OK ? 0 : status == FOVEA_ERR_UNSUPPORTED ? kNotServed : 1;
}
