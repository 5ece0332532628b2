/* SPDX-License-Identifier: Apache-2.0
 *
 * Differential attention (Ye et al., arXiv 2410.05258): a head has two halves of queries and of keys, and values that
 * are twice as wide. Its output is
 *     (softmax(q1 k1) - lambda softmax(q2 k2)) values,
 * so that what both halves see alike cancels out. The product with the values is taken for each half: two calls, whose
 * queries and keys begin half a head apart, and a difference of their outputs. The model then normalises each head by
 * its root mean square and multiplies it by 1 - lambda_init: a normalisation whose weights have this factor. Only the
 * outputs are subtracted, so weights are never stored, and caches, windows and masks serve as in any other call. */
#include "recipe.h"

enum { HEADS = 4, DIM = 16, WIDE = 2 * DIM, TOKENS = 150, TOKEN = HEADS * WIDE };

static _Alignas(FOVEA_WORKSPACE_ALIGNMENT) unsigned char workspace[FOVEA_ATTENTION_WORKSPACE_BYTES(DIM, WIDE)];
static float q[TOKENS][HEADS][2][DIM], keys[TOKENS][HEADS][2][DIM], values[TOKENS][HEADS][WIDE];
static float first[TOKENS][HEADS][WIDE], second[TOKENS][HEADS][WIDE], out[TOKENS][HEADS][WIDE];
static float lambdas[4][DIM], weight[WIDE]; /* what the model has learnt */

static const double lambda_init = 0.8 - 0.6 * 0.40656965974059911; /* of the fourth layer: exp(-0.3 * 3) */
static const float epsilon = 1e-5f;

static double lambda(void) {
  double dots[2] = {0};
  for (int d = 0; d < DIM; ++d) {
    dots[0] += (double)lambdas[0][d] * lambdas[1][d];
    dots[1] += (double)lambdas[2][d] * lambdas[3][d];
  }
  return exp(dots[0]) - exp(dots[1]) + lambda_init;
}

static void attend(int half, float (*to)[HEADS][WIDE]) {
  fovea_attention_desc desc = recipe_desc(HEADS, DIM, 1, TOKENS);
  desc.value_dim = WIDE;
  desc.causal = FOVEA_CAUSAL_TOP_LEFT;
  const recipe_arrays arrays = {q[0][0][half], keys[0][0][half], values, to, 0, WIDE, TOKEN};
  const fovea_attention_args args = recipe_args(&arrays, 1, TOKENS);
  recipe_attend(&desc, &args, workspace, sizeof workspace);
}

static void subtract_and_normalise(void) {
  const float factor = (float)lambda();
  float scaled[WIDE];
  for (int d = 0; d < WIDE; ++d) scaled[d] = (float)(1 - lambda_init) * weight[d];
  for (int i = 0; i < TOKENS; ++i) {
    for (int h = 0; h < HEADS; ++h) {
      for (int d = 0; d < WIDE; ++d) first[i][h][d] -= factor * second[i][h][d];
    }
  }
  const fovea_norm_args args = {
      .struct_bytes = sizeof args,
      .norm = FOVEA_NORM_RMS,
      .epsilon = epsilon,
      .batch = 1,
      .heads = HEADS,
      .tokens = TOKENS,
      .dim = WIDE,
      .y = {out, 0, WIDE, TOKEN},
      .x = {first, 0, WIDE, TOKEN},
      .weight = scaled,
  };
  recipe_check(fovea_norm(&args), "fovea_norm");
}

/* The largest difference of a head's output. */
static double difference(int i, int h) {
  const recipe_rows rows = {DIM, TOKEN, 1 / sqrt(DIM)};
  double weights[2][TOKENS], want[WIDE] = {0}, squares = 0, worst = 0;
  for (int half = 0; half < 2; ++half) {
    recipe_scores(&rows, q[i][h][half], keys[0][h][half], i + 1, weights[half]);
    recipe_softmax(weights[half], i + 1);
  }
  for (int d = 0; d < WIDE; ++d) {
    for (int j = 0; j <= i; ++j) want[d] += (weights[0][j] - lambda() * weights[1][j]) * values[j][h][d];
    squares += want[d] * want[d];
  }
  for (int d = 0; d < WIDE; ++d) {
    want[d] *= (1 - lambda_init) * weight[d] / sqrt(squares / WIDE + epsilon);
    recipe_worst(&worst, fabs(out[i][h][d] - want[d]));
  }
  return worst;
}

int main(void) {
  RECIPE_FILL(q), RECIPE_FILL(keys), RECIPE_FILL(values), RECIPE_FILL(lambdas), RECIPE_FILL(weight);
  for (int i = 0; i < 4; ++i) {
    for (int d = 0; d < DIM; ++d) lambdas[i][d] *= 0.1f; /* as models begin */
  }
  attend(0, first);
  attend(1, second);
  subtract_and_normalise();
  double worst = 0;
  for (int i = 0; i < TOKENS; ++i) {
    for (int h = 0; h < HEADS; ++h) recipe_worst(&worst, difference(i, h));
  }
  return recipe_verdict("differential", "two calls, their difference and its normalisation", worst);
}
