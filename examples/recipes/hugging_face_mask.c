/* SPDX-License-Identifier: Apache-2.0
 *
 * A float mask of Hugging Face's models, which has finfo(float32).min where a key is hidden. To fovea that means hidden
 * (anything up to -FLT_MAX / 2 does), so a query that may see nothing, such as the padding before a prompt, answers
 * zeros, with lse = -inf. Hugging Face adds the number: it swallows the score, all weights of such a row are equal, and
 * the answer is the mean of all values, hidden ones too. Where that is wanted, a mask of -1e30 gives it: it swallows
 * scores alike, and beside any key that is seen its weight is exactly 0. The causal limit must then be in the mask. */
#include <float.h>

#include "recipe.h"

enum { HEADS = 2, DIM = 16, BATCH = 2, TOKENS = 40, TOKEN = HEADS * DIM };

static const int padding[BATCH] = {0, 11};

static _Alignas(FOVEA_WORKSPACE_ALIGNMENT) unsigned char workspace[FOVEA_WORKSPACE_BYTES(DIM, DIM)];
static float q[BATCH][TOKENS][HEADS][DIM], out[BATCH][TOKENS][HEADS][DIM];
static float keys[BATCH][TOKENS][HEADS][DIM], values[BATCH][TOKENS][HEADS][DIM];
static float mask[BATCH][TOKENS][TOKENS];

static int sees(int b, int query, int key) { return key >= padding[b] && key <= query; }

/* hidden: the number in the mask where a key is not seen. */
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

/* hidden: what the plain loops add, as Hugging Face does. In double, too, -FLT_MAX swallows any score. */
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
