/* SPDX-License-Identifier: Apache-2.0
 *
 * Functions that the recipes share: a plain call, to which each adds its own options; random inputs, one query's
 * attention by plain loops in double, a clock, the verdict. */
#ifndef FOVEA_EXAMPLES_RECIPES_RECIPE_H_
#define FOVEA_EXAMPLES_RECIPES_RECIPE_H_

#include <math.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "fovea/fovea.h"

static inline void recipe_check(fovea_status status, const char* call) {
  if (status == FOVEA_OK) return;
  printf("%s: %s\n", call, fovea_status_string(status));
  exit(1);
}

/* Makes a plan and a call. */
static inline void recipe_attend(const fovea_attention_desc* desc, const fovea_attention_args* args, void* workspace,
                                 size_t workspace_bytes) {
  fovea_attention_plan plan;
  recipe_check(fovea_attention_plan_init(&plan, desc), "fovea_attention_plan_init");
  recipe_check(fovea_attention(&plan, args, workspace, workspace_bytes), "fovea_attention");
}

/* The description that most recipes begin with: each head has its own keys, and there is a key for each query. */
static inline fovea_attention_desc recipe_desc(uint32_t heads, uint32_t dim, uint32_t batch, uint32_t tokens) {
  return (fovea_attention_desc){
      .struct_bytes = sizeof(fovea_attention_desc),
      .q_heads = heads,
      .kv_heads = heads,
      .head_dim = dim,
      .value_dim = dim,
      .max_batch = batch,
      .max_q_tokens = tokens,
      .max_kv_tokens = tokens,
  };
}

/* Queries, keys, values and outputs with the same strides: of an entry, a head and a token. */
typedef struct recipe_arrays {
  const void *q, *keys, *values;
  void* out;
  ptrdiff_t batch_stride, head_stride, token_stride;
} recipe_arrays;
static inline fovea_attention_args recipe_args(const recipe_arrays* a, uint32_t batch, uint32_t tokens) {
  return (fovea_attention_args){
      .struct_bytes = sizeof(fovea_attention_args),
      .batch = batch,
      .q_tokens = tokens,
      .kv_tokens = tokens,
      .q = {a->q, a->batch_stride, a->head_stride, a->token_stride},
      .out = {a->out, a->batch_stride, a->head_stride, a->token_stride},
      .kv = {.keys = {a->keys, a->batch_stride, a->head_stride, a->token_stride},
             .values = {a->values, a->batch_stride, a->head_stride, a->token_stride}},
  };
}

/* A block map for one entry and all heads. The caller adds a mask or a function. */
static inline fovea_block_map_args recipe_map_args(uint32_t tokens, uint32_t q_block, uint32_t kv_block,
                                                   uint32_t* offsets, uint32_t* blocks, uint32_t most_blocks) {
  return (fovea_block_map_args){
      .struct_bytes = sizeof(fovea_block_map_args),
      .batch = 1,
      .q_heads = 1,
      .kv_heads = 1,
      .q_tokens = tokens,
      .kv_tokens = tokens,
      .q_block = q_block,
      .kv_block = kv_block,
      .offsets = offsets,
      .blocks = blocks,
      .most_blocks = most_blocks,
  };
}

/* The place of a score or a weight: the query's head, its position, and the key. */
typedef struct recipe_place {
  uint32_t head;
  int64_t query, key;
} recipe_place;

/* Changes each element of a block that a modifier gets. */
static inline void recipe_change(const fovea_score_block* block, float (*change)(float x, recipe_place at)) {
  for (uint32_t r = 0; r < block->rows; ++r) {
    recipe_place at = {block->heads[r], block->first_position + block->tokens[r], block->first_key};
    for (uint32_t k = 0; k < block->keys; ++k, ++at.key) {
      float* const x = &block->data[(ptrdiff_t)r * block->row_stride + (ptrdiff_t)k * block->key_stride];
      *x = change(*x, at);
    }
  }
}

/* Numbers from -1 to 1, the same on every machine. */
static inline void recipe_fill(float* numbers, size_t count) {
  static uint32_t state = 1;
  for (size_t i = 0; i < count; ++i) {
    state = state * 1664525u + 1013904223u;
    numbers[i] = (float)(state >> 8) / 8388608.0f - 1.0f;
  }
}
#define RECIPE_FILL(array) recipe_fill((float*)(array), sizeof(array) / sizeof(float))

/* Rows of keys and values: dense floats, a stride apart. */
typedef struct recipe_rows {
  int dim;
  ptrdiff_t stride;
  double scale; /* of scores */
} recipe_rows;

/* One query's scores of `count` keys. */
static inline void recipe_scores(const recipe_rows* rows, const float* q, const float* keys, int count,
                                 double* scores) {
  for (int j = 0; j < count; ++j) {
    double dot = 0;
    for (int d = 0; d < rows->dim; ++d) dot += (double)q[d] * keys[j * rows->stride + d];
    scores[j] = rows->scale * dot;
  }
}

/* Replaces scores by weights. A score of -INFINITY hides its key; if all are hidden, the weights are 0. */
static inline void recipe_softmax(double* scores, int count) {
  double largest = -INFINITY, sum = 0;
  for (int j = 0; j < count; ++j) largest = scores[j] > largest ? scores[j] : largest;
  for (int j = 0; j < count; ++j) {
    scores[j] = scores[j] == -INFINITY ? 0 : exp(scores[j] - largest);
    sum += scores[j];
  }
  for (int j = 0; j < count && sum > 0; ++j) scores[j] /= sum;
}

/* The largest difference of out[dim] from the weighted sum of `count` values. */
static inline double recipe_off(const recipe_rows* rows, const float* out, const float* values, int count,
                                const double* weights) {
  double worst = 0;
  for (int d = 0; d < rows->dim; ++d) {
    double want = 0;
    for (int j = 0; j < count; ++j) want += weights[j] * values[j * rows->stride + d];
    const double off = fabs(out[d] - want);
    if (!(off <= worst)) worst = off; /* a NaN too */
  }
  return worst;
}

/* The same from softmax(scale * q k + bias) v over `count` keys, at most 1024. A bias of -INFINITY hides a key. If all
 * are hidden, out should be 0. */
static inline double recipe_difference(const recipe_rows* rows, const float* out, const float* q, const float* keys,
                                       const float* values, const double* bias, int count) {
  double weights[1024];
  recipe_scores(rows, q, keys, count, weights);
  for (int j = 0; j < count; ++j) weights[j] += bias[j];
  recipe_softmax(weights, count);
  return recipe_off(rows, out, values, count, weights);
}

static inline void recipe_worst(double* worst, double off) {
  if (!(off <= *worst)) *worst = off;
}

/* Seconds that a call takes: the smallest of several measurements. */
static inline double recipe_seconds(void (*call)(void)) {
  double least = INFINITY;
  for (int trial = 0; trial < 20; ++trial) {
    const clock_t begin = clock();
    for (int i = 0; i < 10; ++i) call();
    const double seconds = (double)(clock() - begin) / CLOCKS_PER_SEC / 10;
    if (seconds < least) least = seconds;
  }
  return least;
}

/* Prints the result of a recipe. Returns the exit code. */
static inline int recipe_verdict(const char* name, const char* what, double worst) {
  const double allowed = 2e-6; /* outputs are below 1 */
  const int right = worst <= allowed;
  printf("%s: %s; largest difference %.1e, %s %.0e\n", name, what, worst, right ? "allowed" : "TOO MUCH, allowed",
         allowed);
  return right ? 0 : 1;
}

#endif /* FOVEA_EXAMPLES_RECIPES_RECIPE_H_ */
