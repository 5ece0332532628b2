/* SPDX-License-Identifier: Apache-2.0
 *
 * Rotary embedding of pixels or patches: some pairs of a row are turned by y, the others by x. Models differ in the
 * pairs.
 *
 * Halves: the first half of a row is turned by y, the second by x (EVA-02, Pixtral and most vision encoders, with pairs
 * in either layout). Two calls of fovea_rope on rows of half the length, each with the coordinates as
 * position_ids.
 *
 * Pairs of the whole row: elements i and i + DIM / 2 are a pair, of which the first half is turned by y and the second
 * by x (Qwen2-VL's vision encoder). A table of cosines and sines with a row for each patch serves that in one call: a
 * token's position is then its row. With more axes (video) it is the same. */
#include <string.h>

#include "recipe.h"

enum { HEADS = 2, DIM = 32, HALF = DIM / 2, HEIGHT = 9, WIDTH = 12, TOKENS = HEIGHT * WIDTH, TOKEN = HEADS * DIM };

static const double base = 100;

static _Alignas(FOVEA_WORKSPACE_ALIGNMENT) unsigned char workspace[FOVEA_ATTENTION_WORKSPACE_BYTES(DIM, DIM)];
static float q[TOKENS][HEADS][DIM], keys[TOKENS][HEADS][DIM], values[TOKENS][HEADS][DIM], out[TOKENS][HEADS][DIM];
static float turned_q[TOKENS][HEADS][DIM], turned_keys[TOKENS][HEADS][DIM];
static float cosines[TOKENS][HALF], sines[TOKENS][HALF];
static int64_t places[2][TOKENS]; /* y and x */

/* The angle of pair i of an axis, which has HALF / 2 pairs. */
static double angle(int axis, int token, int i) { return (double)places[axis][token] * pow(base, -2.0 * i / HALF); }

static void turn_halves(float (*from)[HEADS][DIM], float (*to)[HEADS][DIM]) {
  uint64_t turns[HALF / 2];
  recipe_check(fovea_rope_frequencies(turns, base, 0, HALF), "fovea_rope_frequencies");
  for (int axis = 0; axis < 2; ++axis) {
    const fovea_rope_args args = {
        .struct_bytes = sizeof args,
        .batch = 1,
        .heads = HEADS,
        .tokens = TOKENS,
        .dim = HALF,
        .layout = FOVEA_ROPE_INTERLEAVED,
        .y = {to[0][0] + axis * HALF, 0, DIM, TOKEN},
        .x = {from[0][0] + axis * HALF, 0, DIM, TOKEN},
        .turns = turns,
        .position_ids = places[axis],
    };
    recipe_check(fovea_rope(&args), "fovea_rope");
  }
}

static void make_tables(void) {
  for (int token = 0; token < TOKENS; ++token) {
    for (int i = 0; i < HALF; ++i) {
      const double turn = angle(i / (HALF / 2), token, i % (HALF / 2));
      cosines[token][i] = (float)cos(turn), sines[token][i] = (float)sin(turn);
    }
  }
}

static void turn_by_tables(float (*from)[HEADS][DIM], float (*to)[HEADS][DIM]) {
  const fovea_rope_args args = {
      .struct_bytes = sizeof args,
      .batch = 1,
      .heads = HEADS,
      .tokens = TOKENS,
      .dim = DIM,
      .layout = FOVEA_ROPE_HALF_SPLIT,
      .y = {to, 0, DIM, TOKEN},
      .x = {from, 0, DIM, TOKEN},
      .cos = cosines[0],
      .sin = sines[0],
      .table_stride = HALF,
      .table_positions = TOKENS,
  };
  recipe_check(fovea_rope(&args), "fovea_rope");
}

static void attend(void) {
  const fovea_attention_desc desc = recipe_desc(HEADS, DIM, 1, TOKENS);
  const recipe_arrays arrays = {turned_q, turned_keys, values, out, 0, DIM, TOKEN};
  const fovea_attention_args args = recipe_args(&arrays, 1, TOKENS);
  recipe_attend(&desc, &args, workspace, sizeof workspace);
}

/* The dot product of a query and a key, each pair of which is turned by the difference of the coordinates. */
static double turned_dot(const float* a, const float* b, int query, int key, int by_tables) {
  double dot = 0;
  for (int pair = 0; pair < HALF; ++pair) {
    const int axis = pair / (HALF / 2), i = pair % (HALF / 2);
    const int x = by_tables ? pair : 2 * pair, y = by_tables ? pair + HALF : x + 1;
    const double turn = angle(axis, query, i) - angle(axis, key, i);
    dot += cos(turn) * ((double)a[x] * b[x] + (double)a[y] * b[y]) +
           sin(turn) * ((double)a[x] * b[y] - (double)a[y] * b[x]);
  }
  return dot;
}

static double difference(int by_tables) {
  const recipe_rows rows = {DIM, TOKEN, 0};
  double worst = 0, weights[TOKENS];
  for (int h = 0; h < HEADS; ++h) {
    for (int i = 0; i < TOKENS; ++i) {
      for (int j = 0; j < TOKENS; ++j) weights[j] = turned_dot(q[i][h], keys[j][h], i, j, by_tables) / sqrt(DIM);
      recipe_softmax(weights, TOKENS);
      recipe_worst(&worst, recipe_off(&rows, out[i][h], values[0][h], TOKENS, weights));
    }
  }
  return worst;
}

int main(void) {
  RECIPE_FILL(q), RECIPE_FILL(keys), RECIPE_FILL(values);
  for (int token = 0; token < TOKENS; ++token) places[0][token] = token / WIDTH, places[1][token] = token % WIDTH;
  turn_halves(q, turned_q), turn_halves(keys, turned_keys);
  attend();
  double worst = difference(0);
  memset(out, 0, sizeof out);
  make_tables();
  turn_by_tables(q, turned_q), turn_by_tables(keys, turned_keys);
  attend();
  recipe_worst(&worst, difference(1));
  return recipe_verdict("rope_2d", "9 x 12 patches, by halves of a row and by a table with a row for each patch",
                        worst);
}
