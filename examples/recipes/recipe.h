/* SPDX-License-Identifier: Apache-2.0
 *
 * What the recipes share: numbers to begin with, one query's attention by plain loops in double, a clock, the verdict.
 * */
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

/* A call for which a plan is made, that may serve others. */
static inline void recipe_attend(const fovea_attention_desc* desc, const fovea_attention_args* args, void* workspace,
                                 size_t workspace_bytes) {
  fovea_plan plan;
  recipe_check(fovea_plan_init(&plan, desc), "fovea_plan_init");
  recipe_check(fovea_attention(&plan, args, workspace, workspace_bytes), "fovea_attention");
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

/* Rows of keys and values: so many floats each, a stride apart. */
typedef struct recipe_rows {
  int dim;
  ptrdiff_t stride;
  double scale; /* of a score */
} recipe_rows;

/* The largest difference of out[dim] from softmax(scale * q k + bias) v over `count` keys, at most 1024. A bias of
 * -INFINITY hides a key. Where all are hidden, out should be 0. */
static inline double recipe_difference(const recipe_rows* rows, const float* out, const float* q, const float* keys,
                                       const float* values, const double* bias, int count) {
  double weights[1024], sum = 0, largest = -INFINITY, worst = 0;
  for (int j = 0; j < count; ++j) {
    double dot = 0;
    for (int d = 0; d < rows->dim; ++d) dot += (double)q[d] * keys[j * rows->stride + d];
    weights[j] = rows->scale * dot + bias[j];
    if (weights[j] > largest) largest = weights[j];
  }
  for (int j = 0; j < count; ++j) {
    weights[j] = bias[j] == -INFINITY ? 0 : exp(weights[j] - largest);
    sum += weights[j];
  }
  for (int d = 0; d < rows->dim; ++d) {
    double want = 0;
    for (int j = 0; j < count; ++j) want += weights[j] * values[j * rows->stride + d];
    const double off = fabs(out[d] - (sum > 0 ? want / sum : 0));
    if (!(off <= worst)) worst = off; /* a NaN too */
  }
  return worst;
}

static inline void recipe_worst(double* worst, double off) {
  if (!(off <= *worst)) *worst = off;
}

/* Seconds that a call takes: the least of several. */
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

/* Prints the line of a recipe. Returns the exit code. */
static inline int recipe_verdict(const char* name, const char* what, double worst) {
  const double allowed = 2e-6; /* outputs are below 1 */
  const int right = worst <= allowed;
  printf("%s: %s; largest difference %.1e, %s %.0e\n", name, what, worst, right ? "allowed" : "TOO MUCH, allowed",
         allowed);
  return right ? 0 : 1;
}

#endif /* FOVEA_EXAMPLES_RECIPES_RECIPE_H_ */
