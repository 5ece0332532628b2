/* SPDX-License-Identifier: Apache-2.0
 *
 * Neighbourhood attention (Hassani et al., NAT, arXiv 2204.07143): each pixel sees the KERNEL x KERNEL pixels around
 * it; at the edges of the picture the square is moved inwards, so that its size is the same. In two ways.
 *
 * By pages: a page is KERNEL pixels of a row and may begin at any pixel: with a batch_stride of one token pages
 * overlap, and a page's number is its first token. So a pixel is a batch entry of one query, with a list of KERNEL
 * pages. No hidden pair is computed, but no two queries are computed together.
 *
 * By a block map that is made of a byte mask: 64 pixels, here four rows of the picture, go through the kernel
 * together, and read the blocks of 64 keys that any of them sees. With an argument the program measures both. */
#include <string.h>

#include "recipe.h"

enum { HEADS = 2, DIM = 16, HEIGHT = 32, WIDTH = 16, KERNEL = 5, PIXELS = HEIGHT * WIDTH, TOKEN = HEADS * DIM };
enum { BLOCK = 64, BLOCKS = PIXELS / BLOCK };

static _Alignas(FOVEA_WORKSPACE_ALIGNMENT) unsigned char workspace[FOVEA_ATTENTION_KV_WORKSPACE_BYTES(DIM, DIM)];
static float q[PIXELS][HEADS][DIM], keys[PIXELS][HEADS][DIM], values[PIXELS][HEADS][DIM], out[PIXELS][HEADS][DIM];
static const recipe_arrays arrays = {q, keys, values, out, 0, DIM, TOKEN};
static uint32_t pages[PIXELS][KERNEL];
static uint8_t mask[PIXELS][PIXELS];
static uint32_t offsets[BLOCKS + 1], blocks[BLOCKS * BLOCKS];
static fovea_block_map map;

/* The first pixel that pixel `at` sees, in one dimension of the picture. */
static int first_seen(int at, int side) {
  const int first = at - KERNEL / 2;
  return first < 0 ? 0 : first > side - KERNEL ? side - KERNEL : first;
}
static int sees(int query, int key) {
  const int y = key / WIDTH - first_seen(query / WIDTH, HEIGHT), x = key % WIDTH - first_seen(query % WIDTH, WIDTH);
  return y >= 0 && y < KERNEL && x >= 0 && x < KERNEL;
}

static void attend_by_pages(void) {
  fovea_attention_desc desc = recipe_desc(HEADS, DIM, PIXELS, 1);
  desc.max_kv_tokens = KERNEL * KERNEL;
  desc.kv_kind = FOVEA_KV_PAGED;
  desc.page_tokens = KERNEL;
  const recipe_arrays each = {q, keys, values, out, TOKEN, DIM, TOKEN};
  fovea_attention_args args = recipe_args(&each, PIXELS, 1);
  args.kv_tokens = KERNEL * KERNEL;
  args.kv.page_table = pages[0];
  args.kv.page_table_stride = KERNEL;
  args.kv.pages = PIXELS - KERNEL + 1;
  recipe_attend(&desc, &args, workspace, sizeof workspace);
}

static void make_map(void) {
  fovea_block_map_args args = recipe_map_args(PIXELS, BLOCK, BLOCK, offsets, blocks, BLOCKS * BLOCKS);
  args.mask = (fovea_in){mask, 0, 0, PIXELS};
  recipe_check(fovea_block_map_make(&args, &map), "fovea_block_map_make");
}

static void attend_by_map(void) {
  const fovea_attention_desc desc = recipe_desc(HEADS, DIM, 1, PIXELS);
  fovea_attention_args args = recipe_args(&arrays, 1, PIXELS);
  args.mask = (fovea_mask){.kind = FOVEA_MASK_BYTE, .data = mask, .q_stride = PIXELS};
  args.block_map = &map;
  recipe_attend(&desc, &args, workspace, sizeof workspace);
}

static double difference(void) {
  const recipe_rows rows = {DIM, TOKEN, 1 / sqrt(DIM)};
  double worst = 0, bias[PIXELS];
  for (int i = 0; i < PIXELS; ++i) {
    for (int j = 0; j < PIXELS; ++j) bias[j] = sees(i, j) ? 0 : -INFINITY;
    for (int h = 0; h < HEADS; ++h) {
      recipe_worst(&worst, recipe_difference(&rows, out[i][h], q[i][h], keys[0][h], values[0][h], bias, PIXELS));
    }
  }
  return worst;
}

int main(int argc, char** argv) {
  (void)argv;
  RECIPE_FILL(q), RECIPE_FILL(keys), RECIPE_FILL(values);
  for (int i = 0; i < PIXELS; ++i) {
    const int y = first_seen(i / WIDTH, HEIGHT), x = first_seen(i % WIDTH, WIDTH);
    for (int row = 0; row < KERNEL; ++row) pages[i][row] = (uint32_t)((y + row) * WIDTH + x);
    for (int j = 0; j < PIXELS; ++j) mask[i][j] = (uint8_t)sees(i, j);
  }
  make_map();
  attend_by_pages();
  double worst = difference();
  memset(out, 0, sizeof out);
  attend_by_map();
  recipe_worst(&worst, difference());
  char what[120] = "5 x 5 of 32 x 16 pixels, by pages that overlap and by a block map";
  if (argc > 1) {
    snprintf(what, sizeof what, "5 x 5 of 32 x 16 pixels: a block map takes %.2f of the time of pages that overlap",
             recipe_seconds(attend_by_map) / recipe_seconds(attend_by_pages));
  }
  return recipe_verdict("neighbourhood", what, worst);
}
