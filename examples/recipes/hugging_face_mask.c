/* SPDX-License-Identifier: Apache-2.0
 *
 * A float mask of Hugging Face's models, which has finfo(float32).min where a key is hidden. fovea hides a key at that
 * number (as at any up to -FLT_MAX / 2), so the output of a query that sees no key, such as the padding before a
 * prompt, is zeros, with lse = -inf. Hugging Face adds the number: the score is lost in rounding, all weights of such a
 * row are equal, and the output is the mean of all values, also hidden ones. A mask of -1e30 gives the same: scores are
 * lost as well, and if the query sees any key, the weight of a hidden one is exactly 0. The causal limit must then be
 * in the mask. */
#include <float.h>

#include "recipe.h"

enum { HEADS = 2, DIM = 16, BATCH = 2, TOKENS = 40, TOKEN = HEADS * DIM };

static const int padding[BATCH] = {0, 11};

static _Alignas(FOVEA_WORKSPACE_ALIGNMENT) unsigned char workspace[FOVEA_ATTENTION_WORKSPACE_BYTES(DIM, DIM)];
static float q[BATCH][TOKENS][HEADS][DIM], out[BATCH][TOKENS][HEADS][DIM];
static float keys[BATCH][TOKENS][HEADS][DIM], values[BATCH][TOKENS][HEADS][DIM];
static float mask[BATCH][TOKENS][TOKENS];

static int sees(int b, int query, int key) { return key >= padding[b] && key <= query; }

/* hidden: the number in the mask for a hidden key. */
static void attend(float hidden) {
  for (int b = 0; b < BATCH; ++b) {
    for (int i = 0; i < TOKENS; ++i) {
      for (int j = 0; j < TOKENS; ++j) mask[b][i][j] = sees(b, i, j) ? 0 : hidden;
    }
  }
  const fovea_attention_desc desc = recipe_desc(HEADS, DIM, BATCH, TOKENS);
  const recipe_arrays arrays = {q, keys, values, out, TOKENS * TOKEN, DIM, TOKEN};
  fovea_attention_args args = recipe_args(&arrays, BATCH, TOKENS);
  args.mask =
      (fovea_mask){.kind = FOVEA_MASK_F32, .data = mask, .batch_stride = TOKENS * TOKENS, .q_stride = TOKENS};
  recipe_attend(&desc, &args, workspace, sizeof workspace);
}

/* hidden: the number that the plain loops add, as Hugging Face does. In double, too, -FLT_MAX + score is -FLT_MAX. */
static double difference(double hidden) {
  const recipe_rows rows = {DIM, TOKEN, 1 / sqrt(DIM)};
  double worst = 0, bias[TOKENS];
  for (int b = 0; b < BATCH; ++b) {
    for (int i = 0; i < TOKENS; ++i) {
      for (int j = 0; j < TOKENS; ++j) bias[j] = sees(b, i, j) ? 0 : hidden;
      for (int h = 0; h < HEADS; ++h) {
        recipe_worst(&worst,
                     recipe_difference(&rows, out[b][i][h], q[b][i][h], keys[b][0][h], values[b][0][h], bias, TOKENS));
      }
    }
  }
  return worst;
}

int main(void) {
  RECIPE_FILL(q), RECIPE_FILL(keys), RECIPE_FILL(values);
  attend(-FLT_MAX);
  double worst = difference(-INFINITY);
  attend(-1e30f);
  recipe_worst(&worst, difference(-FLT_MAX));
  return recipe_verdict("hugging_face_mask", "rows of finfo.min alone are zeros, rows of -1e30 the mean of values",
                        worst);
}
