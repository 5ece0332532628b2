/* SPDX-License-Identifier: Apache-2.0
 *
 * Block-sparse attention (Child et al., arXiv 1904.10509), with the blocks of BigBird (Zaheer et al., arXiv
 * 2007.14062): each block of queries sees its neighbours, the first block, which itself sees all, and one block at
 * random, which differs between heads. A function says what each block of queries sees of each block of keys;
 * fovea_block_map_make makes lists of its results. Time is proportional to the number of listed blocks. No mask is
 * needed: all of a listed block is seen. */
#include "recipe.h"

enum { HEADS = 2, DIM = 32, BLOCK = 64, BLOCKS = 12, TOKENS = BLOCK * BLOCKS, MOST = HEADS * BLOCKS * BLOCKS };

static _Alignas(FOVEA_WORKSPACE_ALIGNMENT) unsigned char workspace[FOVEA_ATTENTION_WORKSPACE_BYTES(DIM, DIM)];
static float q[HEADS][TOKENS][DIM], keys[HEADS][TOKENS][DIM], values[HEADS][TOKENS][DIM], out[HEADS][TOKENS][DIM];
static uint32_t offsets[HEADS][BLOCKS + 1], blocks[MOST];
static fovea_block_map map;

static int sees(int head, int block, int other) {
  const int at_random = (5 * block + 7 * head + 4) % BLOCKS;
  return block == 0 || other == 0 || abs(block - other) <= 1 || other == at_random;
}

static fovea_block_kind classify(void* self, const fovea_block* block) {
  (void)self;
  const int seen = sees((int)block->kv_head, (int)(block->first_query / BLOCK), (int)(block->first_key / BLOCK));
  return seen ? FOVEA_BLOCK_FULL : FOVEA_BLOCK_HIDDEN;
}

static void make_map(void) {
  fovea_block_map_args args = recipe_map_args(TOKENS, BLOCK, BLOCK, offsets[0], blocks, MOST);
  args.q_heads = args.kv_heads = HEADS;
  args.classify = classify;
  recipe_check(fovea_block_map_make(&args, &map), "fovea_block_map_make");
}

static void attend(const fovea_block_map* block_map) {
  const fovea_attention_desc desc = recipe_desc(HEADS, DIM, 1, TOKENS);
  const recipe_arrays arrays = {q, keys, values, out, 0, TOKENS * DIM, DIM};
  fovea_attention_args args = recipe_args(&arrays, 1, TOKENS);
  args.block_map = block_map;
  recipe_attend(&desc, &args, workspace, sizeof workspace);
}
static void attend_to_listed(void) { attend(&map); }
static void attend_to_all(void) { attend(NULL); }

int main(int argc, char** argv) {
  (void)argv;
  RECIPE_FILL(q), RECIPE_FILL(keys), RECIPE_FILL(values);
  make_map();
  attend_to_listed();
  const recipe_rows rows = {DIM, DIM, 1 / sqrt(DIM)};
  double worst = 0, bias[TOKENS];
  for (int h = 0; h < HEADS; ++h) {
    for (int i = 0; i < TOKENS; ++i) {
      for (int j = 0; j < TOKENS; ++j) bias[j] = sees(h, i / BLOCK, j / BLOCK) ? 0 : -INFINITY;
      recipe_worst(&worst, recipe_difference(&rows, out[h][i], q[h][i], keys[h][0], values[h][0], bias, TOKENS));
    }
  }
  char what[120];
  int length =
      snprintf(what, sizeof what, "%.2f of the blocks, other ones for each head", (double)map.block_count / MOST);
  if (argc > 1) {
    const double all = recipe_seconds(attend_to_all);
    snprintf(what + length, sizeof what - (size_t)length, ": %.2f of the time of all",
             recipe_seconds(attend_to_listed) / all);
  }
  return recipe_verdict("block_sparse", what, worst);
}
