/* SPDX-License-Identifier: Apache-2.0
 *
 * Dilated attention: a query sees itself and every d-th key before it, TAPS in all. If each head has its own d
 * (Longformer, arXiv 2004.05150, section 3.1), a row of bytes for each head says which distances are seen, as in
 * relative_bias.c; causal limit and window skip the key tiles that no head needs. If all heads have the same d, no mask
 * is needed: tokens that are d apart are a sequence of their own, and strides make it a batch entry. */
#include "recipe.h"

enum { HEADS = 4, DIM = 16, TOKENS = 240, TAPS = 8, LINE = 2 * TOKENS - 1, TOKEN = HEADS * DIM };

static const int dilations[HEADS] = {1, 2, 4, 8};

static _Alignas(FOVEA_WORKSPACE_ALIGNMENT) unsigned char workspace[FOVEA_ATTENTION_WORKSPACE_BYTES(DIM, DIM)];
static float q[TOKENS][HEADS][DIM], keys[TOKENS][HEADS][DIM], values[TOKENS][HEADS][DIM], out[TOKENS][HEADS][DIM];
static uint8_t line[HEADS][LINE]; /* line[h][TOKENS - 1] is for distance 0 */

static int sees(int dilation, int query, int key) {
  const int back = query - key;
  return back >= 0 && back % dilation == 0 && back / dilation < TAPS;
}

/* Attends in `batch` sequences, each of every batch-th token. */
static void attend(uint32_t batch, uint32_t window, const uint8_t* center) {
  const uint32_t tokens = TOKENS / batch;
  fovea_attention_desc desc = recipe_desc(HEADS, DIM, batch, tokens);
  desc.causal = FOVEA_CAUSAL_TOP_LEFT;
  desc.window_left = window;
  const recipe_arrays arrays = {q, keys, values, out, TOKEN, DIM, (ptrdiff_t)batch * TOKEN};
  fovea_attention_args args = recipe_args(&arrays, batch, tokens);
  if (center) {
    args.mask = (fovea_mask){.kind = FOVEA_MASK_BYTE, .data = center, .head_stride = LINE, .q_stride = -1};
  }
  recipe_attend(&desc, &args, workspace, sizeof workspace);
}

static double difference(int dilation) { /* 0 = each head's own */
  const recipe_rows rows = {DIM, TOKEN, 1 / sqrt(DIM)};
  double worst = 0, bias[TOKENS];
  for (int h = 0; h < HEADS; ++h) {
    for (int i = 0; i < TOKENS; ++i) {
      for (int j = 0; j < TOKENS; ++j) bias[j] = sees(dilation ? dilation : dilations[h], i, j) ? 0 : -INFINITY;
      recipe_worst(&worst, recipe_difference(&rows, out[i][h], q[i][h], keys[0][h], values[0][h], bias, TOKENS));
    }
  }
  return worst;
}

int main(void) {
  RECIPE_FILL(q), RECIPE_FILL(keys), RECIPE_FILL(values);
  for (int h = 0; h < HEADS; ++h) {
    for (int d = 1 - TOKENS; d < TOKENS; ++d) line[h][TOKENS - 1 + d] = (uint8_t)sees(dilations[h], 0, d);
  }
  attend(1, 8 * (TAPS - 1) + 1, &line[0][TOKENS - 1]); /* 8 is the largest dilation */
  double worst = difference(0);
  attend(4, TAPS, NULL);
  recipe_worst(&worst, difference(4));
  return recipe_verdict("dilation", "1, 2, 4, 8 by a byte line a head; 4 for all heads by strides", worst);
}
