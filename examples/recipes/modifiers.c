/* SPDX-License-Identifier: Apache-2.0
 *
 * Scores and weights for which there is no option. A modifier gets score blocks, after the scale, and changes them in
 * place; another kind gets weights, after the softmax. Here are
 *     ALiBi     score - slope * distance, with a slope for each head (the option alibi_slopes is faster)
 *     softcap   cap * tanh(score / cap) (the option softcap is faster)
 *     Gaussian  score - distance^2 / (2 width^2): the farther a key, the less its weight
 *     gate      weight * sigmoid(gate of the head and key): weights then do not sum to 1
 * The first two are also compared with the options. */
#include <string.h>

#include "recipe.h"

enum { HEADS = 4, DIM = 16, TOKENS = 150, TOKEN = HEADS * DIM };

static const float slopes[HEADS] = {0.25f, 0.0625f, 0.015625f, 0.00390625f};
static const float cap = 0.5f, width = 12.0f;

static _Alignas(FOVEA_WORKSPACE_ALIGNMENT) unsigned char workspace[FOVEA_ATTENTION_WORKSPACE_BYTES(DIM, DIM)];
static float q[TOKENS][HEADS][DIM], keys[TOKENS][HEADS][DIM], values[TOKENS][HEADS][DIM], out[TOKENS][HEADS][DIM];
static float gates[HEADS][TOKENS];

static float distance(recipe_place at) { return (float)(at.query - at.key); }
static float by_slope(float x, recipe_place at) { return x - slopes[at.head] * distance(at); }
static float capped(float x, recipe_place at) { return (void)at, cap * tanhf(x / cap); }
static float gaussian(float x, recipe_place at) { return x - distance(at) * distance(at) / (2 * width * width); }
static float gated(float x, recipe_place at) { return x / (1 + expf(-gates[at.head][at.key])); }

static void alibi_scores(void* self, const fovea_score_block* block) { (void)self, recipe_change(block, by_slope); }
static void capped_scores(void* self, const fovea_score_block* block) { (void)self, recipe_change(block, capped); }
static void gaussian_scores(void* self, const fovea_score_block* block) { (void)self, recipe_change(block, gaussian); }
static void gated_weights(void* self, const fovea_score_block* block) { (void)self, recipe_change(block, gated); }

typedef enum change { ALIBI, SOFTCAP, GAUSSIAN, GATE, CHANGES } change;

static void attend(change which, int by_option) {
  static const fovea_modifier modifiers[CHANGES] = {{.score_mod = alibi_scores},
                                                    {.score_mod = capped_scores},
                                                    {.score_mod = gaussian_scores},
                                                    {.weight_mod = gated_weights}};
  fovea_attention_desc desc = recipe_desc(HEADS, DIM, 1, TOKENS);
  desc.causal = FOVEA_CAUSAL_TOP_LEFT;
  if (by_option && which == SOFTCAP) desc.softcap = cap;
  const recipe_arrays arrays = {q, keys, values, out, 0, DIM, TOKEN};
  fovea_attention_args args = recipe_args(&arrays, 1, TOKENS);
  if (by_option && which == ALIBI) args.alibi_slopes = slopes;
  if (!by_option) args.modifier = &modifiers[which];
  recipe_attend(&desc, &args, workspace, sizeof workspace);
}

static double changed_score(change which, double x, int head, int apart) {
  switch (which) {
    case ALIBI: return x - (double)slopes[head] * apart;
    case SOFTCAP: return cap * tanh(x / cap);
    case GAUSSIAN: return x - (double)apart * apart / (2.0 * width * width);
    default: return x;
  }
}

static double difference(change which) {
  const recipe_rows rows = {DIM, TOKEN, 1 / sqrt(DIM)};
  double worst = 0, weights[TOKENS];
  for (int i = 0; i < TOKENS; ++i) {
    const int seen = i + 1;
    for (int h = 0; h < HEADS; ++h) {
      recipe_scores(&rows, q[i][h], keys[0][h], seen, weights);
      for (int j = 0; j < seen; ++j) weights[j] = changed_score(which, weights[j], h, i - j);
      recipe_softmax(weights, seen);
      for (int j = 0; j < seen && which == GATE; ++j) weights[j] /= 1 + exp(-(double)gates[h][j]);
      recipe_worst(&worst, recipe_off(&rows, out[i][h], values[0][h], seen, weights));
    }
  }
  return worst;
}

int main(void) {
  RECIPE_FILL(q), RECIPE_FILL(keys), RECIPE_FILL(values), RECIPE_FILL(gates);
  double worst = 0;
  for (int which = 0; which < CHANGES; ++which) {
    for (int by_option = 0; by_option <= (which <= SOFTCAP); ++by_option) {
      memset(out, 0, sizeof out);
      attend((change)which, by_option);
      recipe_worst(&worst, difference((change)which));
    }
  }
  return recipe_verdict("modifiers", "ALiBi, softcap, Gaussian distance and a sigmoid gate", worst);
}
