/* SPDX-License-Identifier: Apache-2.0
 *
 * The shifted windows of Swin (Liu et al., arXiv 2103.14030): a picture is divided into windows, each pixel sees the
 * pixels of its window, and a number that depends on the head and the distance of the two pixels is added to each
 * score. Every other layer's windows are shifted by half their size. So that all windows are whole, the picture is
 * first rolled by that amount: then a window at its end has pixels of two or four sides of the picture, which do not
 * see each other.
 *
 * Tokens are in the order of the rolled windows, a window is a block of a block map, and a modifier adds the number, or
 * hides pixels of another side. It is called only for the pairs of a window: there is no array of pairs. */
#include "recipe.h"

enum { HEADS = 2, DIM = 16, WINDOW = 8, SHIFT = WINDOW / 2, ACROSS = 3, SIDE = ACROSS * WINDOW, TOKEN = HEADS * DIM };
enum { IN_WINDOW = WINDOW * WINDOW, WINDOWS = ACROSS * ACROSS, TOKENS = SIDE * SIDE, APART = 2 * WINDOW - 1 };

static _Alignas(FOVEA_WORKSPACE_ALIGNMENT) unsigned char workspace[FOVEA_ATTENTION_WORKSPACE_BYTES(DIM, DIM)];
static float q[TOKENS][HEADS][DIM], keys[TOKENS][HEADS][DIM], values[TOKENS][HEADS][DIM], out[TOKENS][HEADS][DIM];
static const recipe_arrays arrays = {q, keys, values, out, 0, DIM, TOKEN};
static float table[APART][APART][HEADS]; /* what the model has learnt */

/* The pixel of a token in the picture before the rolling. */
typedef struct pixel {
  int y, x;
} pixel;
static pixel pixel_of(int64_t token) {
  const int window = (int)token / IN_WINDOW, inside = (int)token % IN_WINDOW;
  const int y = window / ACROSS * WINDOW + inside / WINDOW, x = window % ACROSS * WINDOW + inside % WINDOW;
  return (pixel){(y + SHIFT) % SIDE, (x + SHIFT) % SIDE};
}

/* Pixels of one window are of the same side if they are less than a window apart in the original picture. */
static float bias_or_hide(float score, recipe_place at) {
  const pixel a = pixel_of(at.query), b = pixel_of(at.key);
  const int y = a.y - b.y, x = a.x - b.x;
  if (abs(y) >= WINDOW || abs(x) >= WINDOW) return -INFINITY;
  return score + table[y + WINDOW - 1][x + WINDOW - 1][at.head];
}
static void modify(void* self, const fovea_score_block* block) { (void)self, recipe_change(block, bias_or_hide); }

static void attend(void) {
  uint32_t offsets[WINDOWS + 1], blocks[WINDOWS];
  for (uint32_t w = 0; w < WINDOWS; ++w) offsets[w] = w, blocks[w] = w; /* each window sees itself */
  offsets[WINDOWS] = WINDOWS;
  const fovea_block_map map = {
      .q_block = IN_WINDOW, .kv_block = IN_WINDOW, .offsets = offsets, .blocks = blocks, .block_count = WINDOWS};
  const fovea_modifier modifier = {.score_mod = modify};
  const fovea_attention_desc desc = recipe_desc(HEADS, DIM, 1, TOKENS);
  fovea_attention_args args = recipe_args(&arrays, 1, TOKENS);
  args.block_map = &map;
  args.modifier = &modifier;
  recipe_attend(&desc, &args, workspace, sizeof workspace);
}

/* In the original picture, shifted windows begin half a window before its edge. */
static double bias_of(pixel a, pixel b, int head) {
  const int y = a.y - b.y, x = a.x - b.x;
  const int same_rows = (a.y + SHIFT) / WINDOW == (b.y + SHIFT) / WINDOW;
  const int same_columns = (a.x + SHIFT) / WINDOW == (b.x + SHIFT) / WINDOW;
  return same_rows && same_columns ? table[y + WINDOW - 1][x + WINDOW - 1][head] : -INFINITY;
}

int main(void) {
  RECIPE_FILL(q), RECIPE_FILL(keys), RECIPE_FILL(values), RECIPE_FILL(table);
  attend();
  const recipe_rows rows = {DIM, TOKEN, 1 / sqrt(DIM)};
  double worst = 0, bias[TOKENS];
  for (int h = 0; h < HEADS; ++h) {
    for (int i = 0; i < TOKENS; ++i) {
      for (int j = 0; j < TOKENS; ++j) bias[j] = bias_of(pixel_of(i), pixel_of(j), h);
      recipe_worst(&worst, recipe_difference(&rows, out[i][h], q[i][h], keys[0][h], values[0][h], bias, TOKENS));
    }
  }
  return recipe_verdict("shifted_windows", "windows of 8 x 8 in 24 x 24 pixels, by a block map and a modifier", worst);
}
