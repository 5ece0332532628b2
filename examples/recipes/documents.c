/* SPDX-License-Identifier: Apache-2.0
 *
 * Documents that are packed into one sequence, none of which sees another. Their borders are the offsets of a ragged
 * batch: each document is an entry, and no pair of two documents is computed. A byte mask over the whole sequence gives
 * the same output and computes all pairs. A block map that is made of the mask skips the blocks in which it hides all
 * keys, and the mask is read only in blocks of which it shows a part: use it if the call must be one sequence, or if
 * the mask has more than the borders. With an argument the program also measures all three. */
#include <string.h>

#include "recipe.h"

enum { HEADS = 2, DIM = 64, DOCUMENTS = 8, TOKENS = 1024, LONGEST = 200, TOKEN = HEADS * DIM };
enum { Q_BLOCK = 32, KV_BLOCK = 64, Q_BLOCKS = TOKENS / Q_BLOCK, BLOCKS = Q_BLOCKS * (TOKENS / KV_BLOCK) };

static const uint32_t offsets[DOCUMENTS + 1] = {0, 60, 200, 380, 480, 680, 790, 880, TOKENS};

static _Alignas(FOVEA_WORKSPACE_ALIGNMENT) unsigned char workspace[FOVEA_ATTENTION_WORKSPACE_BYTES(DIM, DIM)];
static float q[TOKENS][HEADS][DIM], keys[TOKENS][HEADS][DIM], values[TOKENS][HEADS][DIM], out[TOKENS][HEADS][DIM];
static uint8_t mask[TOKENS][TOKENS];
static uint32_t lists[Q_BLOCKS + 1], blocks[BLOCKS];
static fovea_block_map map;

static void make_map(void) {
  fovea_block_map_args args = recipe_map_args(TOKENS, Q_BLOCK, KV_BLOCK, lists, blocks, BLOCKS);
  args.mask = (fovea_in){mask, 0, 0, TOKENS};
  recipe_check(fovea_block_map_make(&args, &map), "fovea_block_map_make");
}

static void attend(uint32_t entries, uint32_t longest, const uint32_t* borders, const uint8_t* bytes,
                   const fovea_block_map* block_map) {
  const fovea_attention_desc desc = recipe_desc(HEADS, DIM, entries, longest);
  const recipe_arrays arrays = {q, keys, values, out, 0, DIM, TOKEN};
  fovea_attention_args args = recipe_args(&arrays, entries, TOKENS);
  args.q_offsets = args.kv_offsets = borders;
  args.block_map = block_map;
  if (bytes) {
    args.mask = (fovea_mask){.kind = FOVEA_MASK_BYTE, .data = bytes, .q_stride = TOKENS};
  }
  recipe_attend(&desc, &args, workspace, sizeof workspace);
}
static void attend_ragged(void) { attend(DOCUMENTS, LONGEST, offsets, NULL, NULL); }
static void attend_masked(void) { attend(1, TOKENS, NULL, mask[0], NULL); }
static void attend_mapped(void) { attend(1, TOKENS, NULL, mask[0], &map); }

static double difference(void) {
  const recipe_rows rows = {DIM, TOKEN, 1 / sqrt(DIM)};
  static const double bias[LONGEST] = {0};
  double worst = 0;
  for (int e = 0; e < DOCUMENTS; ++e) {
    const uint32_t begin = offsets[e], end = offsets[e + 1];
    for (uint32_t i = begin; i < end; ++i) {
      for (int h = 0; h < HEADS; ++h) {
        recipe_worst(&worst, recipe_difference(&rows, out[i][h], q[i][h], keys[begin][h], values[begin][h], bias,
                                               (int)(end - begin)));
      }
    }
  }
  return worst;
}

int main(int argc, char** argv) {
  (void)argv;
  RECIPE_FILL(q), RECIPE_FILL(keys), RECIPE_FILL(values);
  for (int e = 0; e < DOCUMENTS; ++e) {
    for (uint32_t i = offsets[e]; i < offsets[e + 1]; ++i) memset(&mask[i][offsets[e]], 1, offsets[e + 1] - offsets[e]);
  }
  make_map();
  static void (*const ways[])(void) = {attend_masked, attend_ragged, attend_mapped};
  double worst = 0;
  for (int way = 0; way < 3; ++way) {
    memset(out, 0, sizeof out);
    ways[way]();
    recipe_worst(&worst, difference());
  }
  char what[120] = "8 of them in 1024 tokens, by offsets, by a byte mask and with a block map";
  if (argc > 1) {
    const double masked = recipe_seconds(attend_masked);
    snprintf(what, sizeof what,
             "8 of them in 1024 tokens: offsets take %.2f and a block map %.2f of the time of a byte mask",
             recipe_seconds(attend_ragged) / masked, recipe_seconds(attend_mapped) / masked);
  }
  return recipe_verdict("documents", what, worst);
}
