/* SPDX-License-Identifier: Apache-2.0
 *
 * Trees of drafts (Miao et al., SpecInfer, arXiv 2305.09781; Cai et al., Medusa, arXiv 2401.10774): a small model
 * guesses several continuations of a text, which share beginnings, and the large one checks all guesses in one call.
 * Each guess is a query, and a key after the context; it sees the context, its ancestors and itself. The mask has rows
 * and columns only for guesses: with at_end it covers the last keys of each entry, for any length of the context.
 *
 * window_left counts keys, and guesses of one depth are several. So a model with a window has it in the mask, which then
 * has a column for each key, and counts from the depth of the guess. */
#include "recipe.h"

enum { WINDOW = 40, BATCH = 2, HEADS = 4, KV_HEADS = 2, DIM = 32, MOST = 300, DRAFTS = 7 };

static const uint32_t contexts[BATCH] = {250, 90}, lengths[BATCH] = {250 + DRAFTS, 90 + DRAFTS};
/* For two texts: the parent of each guess; -1: the guess follows the context. */
static const int32_t parents[BATCH][DRAFTS] = {{-1, -1, 0, 0, 1, 2, 5}, {-1, 0, 1, 1, 0, 4, -1}};

static _Alignas(FOVEA_WORKSPACE_ALIGNMENT) unsigned char workspace[FOVEA_WORKSPACE_BYTES(DIM, DIM)];
static float keys[BATCH][KV_HEADS][MOST][DIM], values[BATCH][KV_HEADS][MOST][DIM];
static float q[BATCH][HEADS][DRAFTS][DIM], out[BATCH][HEADS][DRAFTS][DIM];

static uint8_t masks[BATCH][DRAFTS][MOST];

/* Whether guess i sees key j through the window: the keys before its branch, and the last of this. */
static int in_window(int b, int i, uint32_t j) {
  uint32_t position = contexts[b], seen = 0;
  for (int at = parents[b][i]; at >= 0; at = parents[b][at]) ++position;
  if (j < contexts[b]) return j + WINDOW > position;
  for (int at = i; at >= 0 && seen < WINDOW; at = parents[b][at], ++seen) {
    if (j == contexts[b] + (uint32_t)at) return 1;
  }
  return 0;
}

static void attend(int window) {
  for (int b = 0; b < BATCH; ++b) {
    for (int i = 0; i < DRAFTS; ++i) {
      for (uint32_t j = 0; j < lengths[b]; ++j) masks[b][i][j] = (uint8_t)in_window(b, i, j);
    }
    if (!window) recipe_check(fovea_tree_mask(parents[b], DRAFTS, masks[b][0], MOST), "fovea_tree_mask");
  }
  const fovea_attention_desc desc = {
      .struct_bytes = sizeof desc,
      .q_heads = HEADS,
      .kv_heads = KV_HEADS,
      .head_dim = DIM,
      .value_dim = DIM,
      .max_batch = BATCH,
      .max_q_tokens = DRAFTS,
      .max_kv_tokens = MOST,
  };
  const fovea_attention_args args = {
      .struct_bytes = sizeof args,
      .batch = BATCH,
      .q_tokens = DRAFTS,
      .kv_tokens = MOST,
      .kv_lengths = lengths,
      .q = {q, HEADS * DRAFTS * DIM, DRAFTS * DIM, DIM},
      .out = {out, HEADS * DRAFTS * DIM, DRAFTS * DIM, DIM},
      .kv = {.keys = {keys, KV_HEADS * MOST * DIM, MOST * DIM, DIM},
             .values = {values, KV_HEADS * MOST * DIM, MOST * DIM, DIM}},
      .mask = {.kind = FOVEA_MASK_BYTE,
               .data = masks,
               .batch_stride = DRAFTS * MOST,
               .q_stride = MOST,
               .kv_tokens = window ? MOST : DRAFTS,
               .at_end = !window},
  };
  recipe_attend(&desc, &args, workspace, sizeof workspace);
}

static double worst_error(int window) {
  attend(window);
  const recipe_rows rows = {DIM, DIM, 1 / sqrt(DIM)};
  double worst = 0;
  for (int b = 0; b < BATCH; ++b) {
    for (int i = 0; i < DRAFTS; ++i) {
      double bias[MOST];
      for (uint32_t j = 0; j < lengths[b]; ++j) bias[j] = j < contexts[b] ? 0 : -INFINITY;
      uint32_t position = contexts[b] - 1;
      for (int seen = i; seen >= 0; seen = parents[b][seen], ++position) bias[contexts[b] + (uint32_t)seen] = 0;
      for (uint32_t j = 0; window && j + WINDOW <= position; ++j) bias[j] = -INFINITY; /* longer than each branch */
      for (int h = 0; h < HEADS; ++h) {
        const int kv = h / (HEADS / KV_HEADS);
        recipe_worst(&worst, recipe_difference(&rows, out[b][h][i], q[b][h][i], keys[b][kv][0], values[b][kv][0], bias,
                                               (int)lengths[b]));
      }
    }
  }
  return worst;
}

int main(void) {
  RECIPE_FILL(q), RECIPE_FILL(keys), RECIPE_FILL(values);
  const double whole = worst_error(0), windowed = worst_error(1);
  return recipe_verdict("draft_tree", "trees of 7 guesses after texts of 250 and 90 tokens, whole and in a window of 40",
                        whole > windowed ? whole : windowed);
}
