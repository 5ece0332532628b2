/* SPDX-License-Identifier: Apache-2.0
 *
 * Trees of drafts (Miao et al., SpecInfer, arXiv 2305.09781; Cai et al., Medusa, arXiv 2401.10774): a small model
 * guesses several continuations of a text, which share beginnings, and the large one checks all guesses in one call.
 * Each guess is a query, and a key after the context; it sees the context, its ancestors and itself. The mask has rows
 * and columns only for guesses: with at_end it covers the last keys of each entry, for any length of the context.
 *
 * A guess's place in the text is its depth in the tree, but window_left counts keys, as they are stored. So a window of tokens
 * is a part of the mask, which then covers the end of the context, too; window_left leaves out what is older for any guess. */
#include "recipe.h"

enum { BATCH = 2, HEADS = 4, KV_HEADS = 2, DIM = 32, MOST = 300, DRAFTS = 7, WINDOW = 20, COLUMNS = WINDOW + 2 * DRAFTS };

static const uint32_t contexts[BATCH] = {250, 90}, lengths[BATCH] = {250 + DRAFTS, 90 + DRAFTS};
/* For two texts: the parent of each guess; -1: the guess follows the context. */
static const int32_t parents[BATCH][DRAFTS] = {{-1, -1, 0, 0, 1, 2, 5}, {-1, 0, 1, 1, 0, 4, -1}};

static _Alignas(FOVEA_WORKSPACE_ALIGNMENT) unsigned char workspace[FOVEA_ATTENTION_WORKSPACE_BYTES(DIM, DIM)];
static float keys[BATCH][KV_HEADS][MOST][DIM], values[BATCH][KV_HEADS][MOST][DIM];
static float q[BATCH][HEADS][DRAFTS][DIM], out[BATCH][HEADS][DRAFTS][DIM];

/* Tokens before a guess that the context does not have. */
static int depth(int b, int guess) { return parents[b][guess] < 0 ? 0 : 1 + depth(b, parents[b][guess]); }

/* Each guess sees at most `window` tokens before it; 0: all. */
static void attend(int window) {
  static uint8_t masks[BATCH][DRAFTS][COLUMNS];
  const int before = window ? COLUMNS - DRAFTS : 0, columns = before + DRAFTS;
  for (int b = 0; b < BATCH; ++b) {
    recipe_check(fovea_tree_mask(parents[b], DRAFTS, masks[b][0] + before, COLUMNS), "fovea_tree_mask");
    for (int i = 0; i < DRAFTS; ++i) {
      for (int c = 0; c < before; ++c) masks[b][i][c] = before - c + depth(b, i) <= window;
    }
  }
  fovea_attention_desc desc = recipe_desc(HEADS, DIM, BATCH, DRAFTS);
  desc.kv_heads = KV_HEADS;
  desc.max_kv_tokens = MOST;
  desc.window_left = window ? (uint32_t)before : 0;
  desc.diagonal = FOVEA_DIAGONAL_BOTTOM_RIGHT;
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
               .batch_stride = DRAFTS * COLUMNS,
               .q_stride = COLUMNS,
               .kv_tokens = (uint32_t)columns,
               .at_end = 1},
  };
  recipe_attend(&desc, &args, workspace, sizeof workspace);
}

static double difference(int window) {
  attend(window);
  const recipe_rows rows = {DIM, DIM, 1 / sqrt(DIM)};
  double worst = 0;
  for (int b = 0; b < BATCH; ++b) {
    for (int i = 0; i < DRAFTS; ++i) {
      double bias[MOST];
      for (uint32_t j = 0; j < lengths[b]; ++j) {
        const int seen = j < contexts[b] && (!window || contexts[b] - j + (uint32_t)depth(b, i) <= (uint32_t)window);
        bias[j] = seen ? 0 : -INFINITY;
      }
      for (int seen = i; seen >= 0; seen = parents[b][seen]) bias[contexts[b] + (uint32_t)seen] = 0;
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
  return recipe_verdict("draft_tree", "trees of 7 guesses after texts of 250 and 90 tokens, without a window and with one of 20",
                        fmax(difference(0), difference(WINDOW)));
}
