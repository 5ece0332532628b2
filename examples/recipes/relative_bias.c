/* SPDX-License-Identifier: Apache-2.0
 *
 * The relative bias of T5 (Raffel et al., arXiv 1910.10683, section 2.1): a number for each head and bucket of
 * distances is added to the score. A bias that depends only on key - query is one row of floats for each head: with
 * q_stride = -1 each query's row begins one element before the previous query's, so that element (i, j) of the mask is
 * line[j - i]. A decoder moves the pointer by the position of its first query. Instead, a modifier of scores may look
 * the number up in the model's own table, but computes the bucket again for each score. */
#include "recipe.h"

enum { HEADS = 4, DIM = 16, TOKENS = 150, BUCKETS = 32, FAR = 128, LINE = 2 * TOKENS - 1 };

static _Alignas(FOVEA_WORKSPACE_ALIGNMENT) unsigned char workspace[FOVEA_ATTENTION_WORKSPACE_BYTES(DIM, DIM)];
static float q[TOKENS][HEADS][DIM], keys[TOKENS][HEADS][DIM], values[TOKENS][HEADS][DIM], out[TOKENS][HEADS][DIM];
static float table[BUCKETS][HEADS]; /* what the model has learnt */
static float line[HEADS][LINE];     /* line[h][TOKENS - 1] is for distance 0 */

/* Near distances have a bucket each; farther ones share buckets of logarithmic size; the last has all from FAR on. In
 * an encoder half of the buckets are for keys after the query; a decoder sees no such keys. */
static int bucket(int distance, int both_sides) {
  const int buckets = both_sides ? BUCKETS / 2 : BUCKETS, near = buckets / 2;
  const int first = both_sides && distance > 0 ? buckets : 0;
  const int away = both_sides ? abs(distance) : distance < 0 ? -distance : 0;
  if (away < near) return first + away;
  /* The small number keeps a distance at a border in its bucket for any rounding of the logarithms. */
  const int far = near + (int)(log((double)away / near) / log((double)FAR / near) * (buckets - near) + 1e-6);
  return first + (far < buckets ? far : buckets - 1);
}

static float encoder_bias(float score, recipe_place at) {
  return score + table[bucket((int)(at.key - at.query), 1)][at.head];
}
static float decoder_bias(float score, recipe_place at) {
  return score + table[bucket((int)(at.key - at.query), 0)][at.head];
}
static void bias_encoder(void* self, const fovea_score_block* block) { (void)self, recipe_change(block, encoder_bias); }
static void bias_decoder(void* self, const fovea_score_block* block) { (void)self, recipe_change(block, decoder_bias); }

static void attend(uint32_t first, uint32_t count, fovea_causal causal, int by_modifier) {
  for (int h = 0; h < HEADS; ++h) {
    for (int d = 1 - TOKENS; d < TOKENS; ++d) {
      line[h][TOKENS - 1 + d] = table[bucket(d, causal == FOVEA_CAUSAL_NONE)][h];
    }
  }
  const fovea_modifier modifier = {.score_mod = causal == FOVEA_CAUSAL_NONE ? bias_encoder : bias_decoder};
  fovea_attention_desc desc = recipe_desc(HEADS, DIM, 1, TOKENS);
  desc.causal = causal;
  desc.score = FOVEA_SCORE_DOT; /* T5 does not divide by sqrt(DIM) */
  const recipe_arrays arrays = {q[first], keys, values, out[first], 0, DIM, HEADS * DIM};
  fovea_attention_args args = recipe_args(&arrays, 1, TOKENS);
  args.q_tokens = count;
  if (by_modifier) {
    args.modifier = &modifier;
  } else {
    args.mask =
        (fovea_mask){.kind = FOVEA_MASK_F32, .data = &line[0][TOKENS - 1 - first], .head_stride = LINE, .q_stride = -1};
  }
  recipe_attend(&desc, &args, workspace, sizeof workspace);
}

static double difference(int first, int decoder) {
  const recipe_rows rows = {DIM, HEADS * DIM, 1};
  double worst = 0, bias[TOKENS];
  for (int h = 0; h < HEADS; ++h) {
    for (int i = first; i < TOKENS; ++i) {
      for (int j = 0; j < TOKENS; ++j) bias[j] = decoder && j > i ? -INFINITY : table[bucket(j - i, !decoder)][h];
      recipe_worst(&worst, recipe_difference(&rows, out[i][h], q[i][h], keys[0][h], values[0][h], bias, TOKENS));
    }
  }
  return worst;
}

int main(void) {
  RECIPE_FILL(q), RECIPE_FILL(keys), RECIPE_FILL(values), RECIPE_FILL(table);
  double worst = 0;
  for (int by_modifier = 0; by_modifier < 2; ++by_modifier) {
    attend(0, TOKENS, FOVEA_CAUSAL_NONE, by_modifier); /* an encoder: all at once */
    recipe_worst(&worst, difference(0, 0));
    attend(TOKENS - 3, 3, FOVEA_CAUSAL_BOTTOM_RIGHT, by_modifier); /* a decoder: the last three tokens */
    recipe_worst(&worst, difference(TOKENS - 3, 1));
  }
  return recipe_verdict("relative_bias", "T5's buckets as a line of 299 floats a head, and by a modifier", worst);
}
