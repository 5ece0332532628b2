/* SPDX-License-Identifier: Apache-2.0 */
#include "integer_layers.h"

#include <stdint.h>
#include <string.h>

enum { kMostDim = 768, kMostCodes = 64 * 768 };

static int8_t a[kMostCodes], b[kMostCodes], y[kMostCodes], table[256];
static int16_t weight[kMostDim], bias[kMostDim];

static fovea_in input(const int8_t* codes, int dim) {
  const fovea_in in = {codes, 0, 0, dim};
  return in;
}
static fovea_out output(int8_t* codes, int dim) {
  const fovea_out out = {codes, 0, 0, dim};
  return out;
}
/* Sets the fields that the arguments of all layers have. */
#define SET_ROWS(args)                \
  memset(&(args), 0, sizeof(args));   \
  (args).struct_bytes = sizeof(args); \
  (args).batch = (args).heads = 1;    \
  (args).tokens = (uint32_t)tokens;   \
  (args).dim = (uint32_t)dim;         \
  (args).y = output(y, dim)

static fovea_status call_norm(fovea_norm_kind kind, int tokens, int dim, int calls) {
  fovea_integer_norm_args args;
  SET_ROWS(args);
  args.norm = kind;
  args.x = input(a, dim);
  args.weight = weight;
  args.bias = bias;
  fovea_status status = fovea_integer_multiplier(0x1p-14 / 0.03, &args.weight_multiplier, &args.weight_shift);
  if (status == FOVEA_OK) status = fovea_integer_multiplier(0.01, &args.epsilon_multiplier, &args.epsilon_shift);
  for (; calls > 0 && status == FOVEA_OK; --calls) status = fovea_integer_norm(&args);
  return status;
}

static fovea_status call_pair(fovea_status (*call)(const fovea_integer_binary_args*), double factor, int tokens,
                              int dim, int calls) {
  fovea_integer_binary_args args;
  SET_ROWS(args);
  args.a = input(a, dim);
  args.b = input(b, dim);
  fovea_status status = fovea_integer_multiplier(factor, &args.a_multiplier, &args.a_shift);
  if (status == FOVEA_OK) status = fovea_integer_multiplier(0.7, &args.b_multiplier, &args.b_shift);
  for (; calls > 0 && status == FOVEA_OK; --calls) status = call(&args);
  return status;
}

static fovea_status call_table(int tokens, int dim, int calls) {
  fovea_integer_activation_args args;
  SET_ROWS(args);
  args.x = input(a, dim);
  args.table = table;
  fovea_status status = FOVEA_OK;
  for (; calls > 0 && status == FOVEA_OK; --calls) status = fovea_integer_activation(&args);
  return status;
}

static fovea_status call_hard_swish(int tokens, int dim, int calls) {
  fovea_integer_hard_swish_args args;
  SET_ROWS(args);
  args.x = input(a, dim);
  fovea_status status = fovea_integer_multiplier(3 / 0.05, &args.three_multiplier, &args.three_shift);
  if (status == FOVEA_OK) status = fovea_integer_multiplier(0.05 / 6, &args.out_multiplier, &args.out_shift);
  for (; calls > 0 && status == FOVEA_OK; --calls) status = fovea_integer_hard_swish(&args);
  return status;
}

static fovea_status call_mean(int tokens, int dim, int calls) {
  fovea_integer_mean_args args;
  SET_ROWS(args);
  args.x = input(a, dim);
  fovea_status status = fovea_integer_multiplier(1, &args.multiplier, &args.shift);
  for (; calls > 0 && status == FOVEA_OK; --calls) status = fovea_integer_mean(&args);
  return status;
}

int is_integer_layer(const char* word) { return strncmp(word, "integer_", 8) == 0; }

fovea_status call_integer_layer(const char* layer, int tokens, int dim, int calls, double* sum) {
  if (dim > kMostDim || tokens * dim > kMostCodes) return FOVEA_ERR_SIZE;
  uint32_t state = 1;
  for (int i = 0; i < kMostCodes; ++i) {
    state = state * 1664525u + 1013904223u;
    a[i] = (int8_t)(state >> 24), b[i] = (int8_t)(state >> 16);
  }
  for (int i = 0; i < kMostDim; ++i) weight[i] = (int16_t)(16384 + i), bias[i] = (int16_t)(i % 64);
  for (int i = 0; i < 256; ++i) table[i] = (int8_t)(i / 2);
  const char* const name = layer + 8;
  fovea_status status = FOVEA_ERR_ENUM;
  if (strcmp(name, "norm") == 0) status = call_norm(FOVEA_NORM_LAYER, tokens, dim, calls);
  if (strcmp(name, "rms_norm") == 0) status = call_norm(FOVEA_NORM_RMS, tokens, dim, calls);
  if (strcmp(name, "add") == 0) status = call_pair(fovea_integer_add, 0.6, tokens, dim, calls);
  if (strcmp(name, "multiply") == 0) status = call_pair(fovea_integer_multiply, 0.01, tokens, dim, calls);
  if (strcmp(name, "table") == 0) status = call_table(tokens, dim, calls);
  if (strcmp(name, "hard_swish") == 0) status = call_hard_swish(tokens, dim, calls);
  if (strcmp(name, "mean") == 0) status = call_mean(tokens, dim, calls);
  *sum = 0;
  for (int i = 0; i < kMostCodes; ++i) *sum += y[i];
  return status;
}
