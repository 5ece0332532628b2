/* SPDX-License-Identifier: Apache-2.0
 *
 * A cache that keeps only the tokens that matter, as SnapKV (arXiv 2404.14469) and H2O (arXiv 2306.14048) do. A token
 * matters by its mass: the sum of the weights that queries gave it.
 *   SnapKV   after the prompt: the last OBSERVED queries decide. Of the earlier tokens the heaviest stay.
 *   H2O      while decoding: each query adds its weights, and beyond BUDGET tokens the lightest goes. The newest
 *            OBSERVED tokens stay in any case.
 * Each head has tokens of its own, so each is an entry of the cache: fovea_kv_compact keeps the listed tokens of an
 * entry. Each call adds its weights to key_mass. */
#include "recipe.h"

enum { HEADS = 2, DIM = 32, PROMPT = 200, OBSERVED = 16, BUDGET = 64, STEPS = 40, ALL = PROMPT + STEPS };

static _Alignas(64) unsigned char memory[FOVEA_KV_CACHE_BYTES(FOVEA_F32, FOVEA_F32, HEADS, 1, PROMPT, DIM, DIM)];
static _Alignas(
    FOVEA_WORKSPACE_ALIGNMENT) unsigned char workspace[FOVEA_ATTENTION_KV_WORKSPACE_BYTES(DIM, DIM) +
                                                       FOVEA_ATTENTION_KEY_MASS_WORKSPACE_BYTES(PROMPT, OBSERVED)];
static float q[ALL][HEADS][DIM], keys[ALL][HEADS][DIM], values[ALL][HEADS][DIM];
static float out[OBSERVED][HEADS][DIM], mass[HEADS][PROMPT];

/* For the check: which tokens an entry holds, and their masses in double. */
static uint32_t held[HEADS][PROMPT];
static double wanted_mass[HEADS][PROMPT];
static fovea_kv_cache cache;
static const uint32_t* lengths; /* of its entries */

static void append(int first, int count) {
  const fovea_kv_append_args args = {.struct_bytes = sizeof args,
                                     .batch = HEADS,
                                     .tokens = (uint32_t)count,
                                     .keys = {keys[first], DIM, 0, HEADS * DIM},
                                     .values = {values[first], DIM, 0, HEADS * DIM}};
  for (int h = 0; h < HEADS; ++h) {
    for (int i = 0; i < count; ++i) {
      const uint32_t at = lengths[h] + (uint32_t)i;
      held[h][at] = (uint32_t)(first + i);
      wanted_mass[h][at] = mass[h][at] = 0;
    }
  }
  recipe_check(fovea_kv_append(&cache, &args), "fovea_kv_append");
}

/* Attends with the queries of tokens [first, first + count), of which all count. */
static double attend(int first, int count) {
  fovea_attention_desc desc = {
      .struct_bytes = sizeof desc, .q_heads = 1, .max_q_tokens = OBSERVED, .key_mass_queries = OBSERVED};
  desc.causal = FOVEA_CAUSAL_BOTTOM_RIGHT;
  recipe_check(fovea_kv_describe(&cache, &desc), "fovea_kv_describe");
  fovea_attention_args args = {.struct_bytes = sizeof args,
                               .q_tokens = (uint32_t)count,
                               .q = {q[first], DIM, 0, HEADS * DIM},
                               .out = {out, DIM, 0, HEADS * DIM},
                               .key_mass = {mass, PROMPT, 0, 0}};
  recipe_check(fovea_kv_attach(&cache, &args), "fovea_kv_attach");
  recipe_attend(&desc, &args, workspace, sizeof workspace);
  double worst = 0;
  for (int h = 0; h < HEADS; ++h) {
    const int tokens = (int)lengths[h];
    for (int i = 0; i < count; ++i) {
      static float own_keys[PROMPT][DIM], own_values[PROMPT][DIM];
      const recipe_rows rows = {DIM, DIM, 1 / sqrt(DIM)};
      double want[PROMPT];
      const int seen = tokens - count + i + 1;
      for (int j = 0; j < tokens; ++j) {
        for (int d = 0; d < DIM; ++d) own_keys[j][d] = keys[held[h][j]][h][d];
        for (int d = 0; d < DIM; ++d) own_values[j][d] = values[held[h][j]][h][d];
      }
      recipe_scores(&rows, q[first + i][h], own_keys[0], tokens, want);
      for (int j = seen; j < tokens; ++j) want[j] = -INFINITY;
      recipe_softmax(want, tokens);
      recipe_worst(&worst, recipe_off(&rows, out[i][h], own_values[0], tokens, want));
      for (int j = 0; j < tokens; ++j) wanted_mass[h][j] += want[j];
    }
    for (int j = 0; j < tokens; ++j) recipe_worst(&worst, fabs(mass[h][j] - wanted_mass[h][j]));
  }
  return worst;
}

/* Keeps `most` tokens of each entry: the newest OBSERVED ones, and the heaviest of the others. */
static void evict(int most) {
  for (int h = 0; h < HEADS; ++h) {
    const int tokens = (int)lengths[h], older = tokens - OBSERVED;
    uint32_t kept[PROMPT], count = 0;
    for (int j = 0; j < tokens; ++j) {
      int heavier = 0;
      for (int other = 0; other < older && j < older; ++other) {
        heavier += mass[h][other] > mass[h][j] || (mass[h][other] == mass[h][j] && other < j);
      }
      if (j >= older || heavier < most - OBSERVED) kept[count++] = (uint32_t)j;
    }
    recipe_check(fovea_kv_compact(&cache, (uint32_t)h, kept, count), "fovea_kv_compact");
    for (uint32_t j = 0; j < count; ++j) {
      held[h][j] = held[h][kept[j]];
      mass[h][j] = mass[h][kept[j]];
      wanted_mass[h][j] = wanted_mass[h][kept[j]];
    }
  }
}

int main(void) {
  RECIPE_FILL(q), RECIPE_FILL(keys), RECIPE_FILL(values);
  fovea_kv_cache_desc desc = {.struct_bytes = sizeof desc, .batch = HEADS, .kv_heads = 1, .max_tokens = PROMPT};
  desc.head_dim = desc.value_dim = DIM;
  recipe_check(fovea_kv_cache_init(&cache, &desc, memory, sizeof memory), "fovea_kv_cache_init");
  lengths = fovea_kv_cache_arrays(&cache)->lengths;
  append(0, PROMPT);
  double worst = attend(PROMPT - OBSERVED, OBSERVED);
  evict(BUDGET);
  for (int step = 0; step < STEPS; ++step) {
    append(PROMPT + step, 1);
    recipe_worst(&worst, attend(PROMPT + step, 1));
    evict(BUDGET);
  }
  return recipe_verdict("evict_tokens", "64 of 240 tokens for each head, by the weights that queries gave them", worst);
}
