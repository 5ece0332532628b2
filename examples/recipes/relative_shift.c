/* SPDX-License-Identifier: Apache-2.0
 *
 * The relative positions of Transformer-XL (Dai et al., arXiv 1901.02860, section 3.3), as Conformers have them (Gulati
 * et al., arXiv 2005.08100): the score of query i and key j is
 *     ((q_i + u) k_j + (q_i + v) r_{i-j}) / sqrt(DIM)
 * with u and v learnt for each head, and r each head's projection of the encoding of the distance. The first product is
 * attention of queries to which u was added. The second is a product of (q + v) / sqrt(DIM) with the 2 n - 1 rows of r,
 * from the distance n - 1 down to 1 - n: a linear layer whose weights are r. Its row i has the number for key j at
 * n - 1 - i + j, so each row must be shifted by one more than the row before. Other libraries pad, reshape and copy for
 * that. Here it is a mask whose q_stride is one less than a row; data points at distance 0. */
#include "recipe.h"

enum { HEADS = 4, DIM = 16, TOKENS = 150, LINE = 2 * TOKENS - 1, TOKEN = HEADS * DIM };

static _Alignas(FOVEA_WORKSPACE_ALIGNMENT) unsigned char workspace[FOVEA_ATTENTION_WORKSPACE_BYTES(DIM, DIM)];
static _Alignas(FOVEA_WORKSPACE_ALIGNMENT) unsigned char linear_workspace[FOVEA_LINEAR_WORKSPACE_BYTES(DIM, FOVEA_F32)];
static float q[TOKENS][HEADS][DIM], keys[TOKENS][HEADS][DIM], values[TOKENS][HEADS][DIM], out[TOKENS][HEADS][DIM];
static float u[HEADS][DIM], v[HEADS][DIM], r[LINE][HEADS][DIM]; /* what the model has learnt, r after its projection */
static float with_u[TOKENS][HEADS][DIM], with_v[TOKENS][HEADS][DIM];
static float lines[HEADS][TOKENS][LINE];

static void add_vectors(void) {
  const float scale = 1 / sqrtf(DIM);
  for (int i = 0; i < TOKENS; ++i) {
    for (int h = 0; h < HEADS; ++h) {
      for (int d = 0; d < DIM; ++d) {
        with_u[i][h][d] = q[i][h][d] + u[h][d];
        with_v[i][h][d] = scale * (q[i][h][d] + v[h][d]);
      }
    }
  }
}

static void multiply_positions(void) {
  for (int h = 0; h < HEADS; ++h) {
    const fovea_linear_args args = {
        .struct_bytes = sizeof args,
        .tokens = TOKENS,
        .in_dim = DIM,
        .out_dim = LINE,
        .y = lines[h],
        .y_stride = LINE,
        .x = with_v[0][h],
        .x_stride = TOKEN,
        .weights = {.dtype = FOVEA_F32, .data = r[0][h], .row_stride = TOKEN},
    };
    recipe_check(fovea_linear(&args, linear_workspace, sizeof linear_workspace), "fovea_linear");
  }
}

static void attend(void) {
  const fovea_attention_desc desc = recipe_desc(HEADS, DIM, 1, TOKENS);
  const recipe_arrays arrays = {with_u, keys, values, out, 0, DIM, TOKEN};
  fovea_attention_args args = recipe_args(&arrays, 1, TOKENS);
  args.mask = (fovea_mask){
      .kind = FOVEA_MASK_F32, .data = &lines[0][0][TOKENS - 1], .head_stride = TOKENS * LINE, .q_stride = LINE - 1};
  recipe_attend(&desc, &args, workspace, sizeof workspace);
}

/* The part of a score that depends on the distance. */
static double of_distance(int i, int j, int h) {
  double dot = 0;
  for (int d = 0; d < DIM; ++d) dot += ((double)q[i][h][d] + v[h][d]) * r[TOKENS - 1 - (i - j)][h][d];
  return dot / sqrt(DIM);
}

static double difference(void) {
  const recipe_rows rows = {DIM, TOKEN, 1 / sqrt(DIM)};
  double worst = 0, of_u[TOKENS], bias[TOKENS];
  for (int h = 0; h < HEADS; ++h) {
    recipe_scores(&rows, u[h], keys[0][h], TOKENS, of_u);
    for (int i = 0; i < TOKENS; ++i) {
      for (int j = 0; j < TOKENS; ++j) bias[j] = of_u[j] + of_distance(i, j, h);
      recipe_worst(&worst, recipe_difference(&rows, out[i][h], q[i][h], keys[0][h], values[0][h], bias, TOKENS));
    }
  }
  return worst;
}

int main(void) {
  RECIPE_FILL(q), RECIPE_FILL(keys), RECIPE_FILL(values), RECIPE_FILL(u), RECIPE_FILL(v), RECIPE_FILL(r);
  add_vectors();
  multiply_positions();
  attend();
  return recipe_verdict("relative_shift", "150 tokens, 299 distances, shifted by the stride of a mask", difference());
}
