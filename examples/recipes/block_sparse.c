/* SPDX-License-Identifier: Apache-2.0
 *
 * Block-sparse attention (Child et al., arXiv 1904.10509; BigBird, arXiv 2007.14062): each block of queries has a list
 * of blocks of keys. Here a block of keys is a page of the arrays as they lie, a block of queries a batch entry, and
 * its row of the page table the list, of any blocks in any order. With heads before tokens each head has its own lists.
 * Behind the causal diagonal nothing is seen: where a query's own block is the last of the list, it is the bottom-right
 * one. Time goes with the blocks that are listed; blocks of a multiple of 64 tokens are used in place. */
#include "recipe.h"

enum { HEADS = 2, DIM = 32, BLOCK = 64, BLOCKS = 8, TOKENS = BLOCK * BLOCKS, MOST = 4 };

static _Alignas(FOVEA_WORKSPACE_ALIGNMENT) unsigned char workspace[FOVEA_KV_WORKSPACE_BYTES(DIM, DIM)];
static float q[HEADS][TOKENS][DIM], keys[HEADS][TOKENS][DIM], values[HEADS][TOKENS][DIM], out[HEADS][TOKENS][DIM];
static uint32_t lists[HEADS][BLOCKS][MOST], lengths[HEADS][BLOCKS]; /* blocks; tokens of them */

/* The first block, one that differs by the head, the block before and the block itself. */
static int listed(int head, int block, int other) {
  return other == 0 || other == (head + block * 3) % (block + 1) || other == block - 1 || other == block;
}

static void make_lists(void) {
  for (int h = 0; h < HEADS; ++h) {
    for (int b = 0; b < BLOCKS; ++b) {
      uint32_t count = 0;
      for (int other = 0; other <= b; ++other) {
        if (listed(h, b, other)) lists[h][b][count++] = (uint32_t)(h * BLOCKS + other); /* number of the page */
      }
      lengths[h][b] = count * BLOCK;
    }
  }
}

static void attend(void) {
  const fovea_attention_desc desc = {
      .struct_bytes = sizeof desc,
      .q_heads = 1,
      .kv_heads = 1,
      .head_dim = DIM,
      .value_dim = DIM,
      .max_batch = HEADS * BLOCKS,
      .max_q_tokens = BLOCK,
      .max_kv_tokens = MOST * BLOCK,
      .causal = FOVEA_CAUSAL_BOTTOM_RIGHT,
      .kv_kind = FOVEA_KV_PAGED,
      .page_tokens = BLOCK,
  };
  const fovea_attention_args args = {
      .struct_bytes = sizeof args,
      .batch = HEADS * BLOCKS,
      .q_tokens = BLOCK,
      .kv_tokens = MOST * BLOCK,
      .q = {q, BLOCK * DIM, 0, DIM},
      .out = {out, BLOCK * DIM, BLOCK * DIM, DIM},
      .kv_lengths = lengths[0],
      .kv = {.keys = {keys, BLOCK * DIM, 0, DIM},
             .values = {values, BLOCK * DIM, 0, DIM},
             .page_table = lists[0][0],
             .page_table_stride = MOST,
             .pages = HEADS * BLOCKS},
  };
  recipe_attend(&desc, &args, workspace, sizeof workspace);
}

int main(void) {
  RECIPE_FILL(q), RECIPE_FILL(keys), RECIPE_FILL(values);
  make_lists();
  attend();
  const recipe_rows rows = {DIM, DIM, 1 / sqrt(DIM)};
  double worst = 0, bias[TOKENS];
  for (int h = 0; h < HEADS; ++h) {
    for (int i = 0; i < TOKENS; ++i) {
      for (int j = 0; j < TOKENS; ++j) bias[j] = j <= i && listed(h, i / BLOCK, j / BLOCK) ? 0 : -INFINITY;
      recipe_worst(&worst, recipe_difference(&rows, out[h][i], q[h][i], keys[h][0], values[h][0], bias, TOKENS));
    }
  }
  return recipe_verdict("block_sparse", "causal, up to 4 of 8 blocks of 64 keys, other ones for each head", worst);
}
