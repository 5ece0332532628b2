/* SPDX-License-Identifier: Apache-2.0
 *
 * Neighbourhood attention (Hassani et al., NAT, arXiv 2204.07143): each pixel sees the KERNEL x KERNEL pixels around
 * it, moved inwards at the edges of the picture so that there are always as many. A page is KERNEL pixels of a row and
 * may begin at any pixel: with a batch_stride of one token pages overlap, and a page's number is its first token. So a
 * pixel is a batch entry of one query, whose list has KERNEL pages. */
#include "recipe.h"

enum { HEADS = 2, DIM = 16, HEIGHT = 12, WIDTH = 16, KERNEL = 5, PIXELS = HEIGHT * WIDTH, TOKEN = HEADS * DIM };

static _Alignas(FOVEA_WORKSPACE_ALIGNMENT) unsigned char workspace[FOVEA_KV_WORKSPACE_BYTES(DIM, DIM)];
static float q[PIXELS][HEADS][DIM], keys[PIXELS][HEADS][DIM], values[PIXELS][HEADS][DIM], out[PIXELS][HEADS][DIM];
static uint32_t lists[PIXELS][KERNEL];

/* The first pixel that is seen from `at`, along one side of the picture. */
static int first_seen(int at, int side) {
  const int first = at - KERNEL / 2;
  return first < 0 ? 0 : first > side - KERNEL ? side - KERNEL : first;
}
static int sees(int query, int key) {
  const int y = key / WIDTH - first_seen(query / WIDTH, HEIGHT), x = key % WIDTH - first_seen(query % WIDTH, WIDTH);
  return y >= 0 && y < KERNEL && x >= 0 && x < KERNEL;
}

static void attend(void) {
  const fovea_attention_desc desc = {
      .struct_bytes = sizeof desc,
      .q_heads = HEADS,
      .kv_heads = HEADS,
      .head_dim = DIM,
      .value_dim = DIM,
      .max_batch = PIXELS,
      .max_q_tokens = 1,
      .max_kv_tokens = KERNEL * KERNEL,
      .kv_kind = FOVEA_KV_PAGED,
      .page_tokens = KERNEL,
  };
  const fovea_attention_args args = {
      .struct_bytes = sizeof args,
      .batch = PIXELS,
      .q_tokens = 1,
      .kv_tokens = KERNEL * KERNEL,
      .q = {q, TOKEN, DIM, TOKEN},
      .out = {out, TOKEN, DIM, TOKEN},
      .kv = {.keys = {keys, TOKEN, DIM, TOKEN},
             .values = {values, TOKEN, DIM, TOKEN},
             .page_table = lists[0],
             .page_table_stride = KERNEL,
             .pages = PIXELS - KERNEL + 1},
  };
  recipe_attend(&desc, &args, workspace, sizeof workspace);
}

int main(void) {
  RECIPE_FILL(q), RECIPE_FILL(keys), RECIPE_FILL(values);
  for (int i = 0; i < PIXELS; ++i) {
    const int y = first_seen(i / WIDTH, HEIGHT), x = first_seen(i % WIDTH, WIDTH);
    for (int row = 0; row < KERNEL; ++row) lists[i][row] = (uint32_t)((y + row) * WIDTH + x);
  }
  attend();
  const recipe_rows rows = {DIM, TOKEN, 1 / sqrt(DIM)};
  double worst = 0, bias[PIXELS];
  for (int h = 0; h < HEADS; ++h) {
    for (int i = 0; i < PIXELS; ++i) {
      for (int j = 0; j < PIXELS; ++j) bias[j] = sees(i, j) ? 0 : -INFINITY;
      recipe_worst(&worst, recipe_difference(&rows, out[i][h], q[i][h], keys[0][h], values[0][h], bias, PIXELS));
    }
  }
  return recipe_verdict("neighbourhood", "5 x 5 of 12 x 16 pixels, by pages that overlap", worst);
}
