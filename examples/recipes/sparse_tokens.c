/* SPDX-License-Identifier: Apache-2.0
 *
 * The sparse attention of DeepSeek-V3.2 (DSA): a small indexer gives each earlier token a score,
 *     index(t, s) = sum_h w_{t,h} relu(q_{t,h} . k_s),
 * and the query then attends only to the CHOSEN tokens whose scores are largest. Attention is multi-head latent
 * attention (DeepSeek-V2): all heads share one key, the latent vector followed by the elements that carry the position,
 * and the values are the latent vector itself.
 *
 * Pages of one token gather what was chosen: the page table of a query is its list of tokens. Each query is a batch
 * entry of its own, and kv_lengths says how many tokens it has: the first queries have fewer than CHOSEN. The program
 * copies nothing, and a token that was not chosen takes no time. The order of a list changes only the rounding. */
#include "recipe.h"

enum { HEADS = 8, LATENT = 32, ROTARY = 16, DIM = LATENT + ROTARY, TOKENS = 200, CHOSEN = 48 };
enum { INDEX_HEADS = 4, INDEX_DIM = 16 };

static _Alignas(FOVEA_WORKSPACE_ALIGNMENT) unsigned char workspace[FOVEA_ATTENTION_KV_WORKSPACE_BYTES(DIM, LATENT)];
static float q[TOKENS][HEADS][DIM], keys[TOKENS][DIM], out[TOKENS][HEADS][LATENT];
static float index_q[TOKENS][INDEX_HEADS][INDEX_DIM], index_keys[TOKENS][INDEX_DIM], index_weights[TOKENS][INDEX_HEADS];
static uint32_t lists[TOKENS][CHOSEN], lengths[TOKENS];

static void index_tokens(int query, float* scores) {
  for (int s = 0; s <= query; ++s) {
    scores[s] = 0;
    for (int h = 0; h < INDEX_HEADS; ++h) {
      float dot = 0;
      for (int d = 0; d < INDEX_DIM; ++d) dot += index_q[query][h][d] * index_keys[s][d];
      if (dot > 0) scores[s] += index_weights[query][h] * dot;
    }
  }
}

/* Lists the tokens of the largest scores, in their order: of equal ones the first. */
static uint32_t choose(int query, const float* scores, uint32_t* list) {
  uint32_t count = 0;
  for (int s = 0; s <= query; ++s) {
    int larger = 0;
    for (int other = 0; other <= query; ++other) {
      larger += scores[other] > scores[s] || (scores[other] == scores[s] && other < s);
    }
    if (larger < CHOSEN) list[count++] = (uint32_t)s;
  }
  return count;
}

static void attend(void) {
  fovea_attention_desc desc = recipe_desc(HEADS, DIM, TOKENS, 1);
  desc.kv_heads = 1;
  desc.value_dim = LATENT;
  desc.max_kv_tokens = CHOSEN;
  desc.kv_kind = FOVEA_KV_PAGED;
  desc.page_tokens = 1;
  const fovea_attention_args args = {
      .struct_bytes = sizeof args,
      .batch = TOKENS,
      .q_tokens = 1,
      .kv_tokens = CHOSEN,
      .kv_lengths = lengths,
      .q = {q, HEADS * DIM, DIM, 0},
      .out = {out, HEADS * LATENT, LATENT, HEADS * LATENT},
      .kv = {.keys = {keys, DIM, 0, DIM},
             .values = {keys, DIM, 0, DIM},
             .page_table = lists[0],
             .page_table_stride = CHOSEN,
             .pages = TOKENS},
  };
  recipe_attend(&desc, &args, workspace, sizeof workspace);
}

static double difference(void) {
  const recipe_rows key_rows = {DIM, DIM, 1 / sqrt(DIM)}, value_rows = {LATENT, DIM, 0};
  double worst = 0, weights[TOKENS];
  for (int t = 0; t < TOKENS; ++t) {
    uint8_t chosen[TOKENS] = {0};
    for (uint32_t i = 0; i < lengths[t]; ++i) chosen[lists[t][i]] = 1;
    for (int h = 0; h < HEADS; ++h) {
      recipe_scores(&key_rows, q[t][h], keys[0], TOKENS, weights);
      for (int s = 0; s < TOKENS; ++s) weights[s] = chosen[s] ? weights[s] : -INFINITY;
      recipe_softmax(weights, TOKENS);
      recipe_worst(&worst, recipe_off(&value_rows, out[t][h], keys[0], TOKENS, weights));
    }
  }
  return worst;
}

int main(void) {
  RECIPE_FILL(q), RECIPE_FILL(keys), RECIPE_FILL(index_q), RECIPE_FILL(index_keys), RECIPE_FILL(index_weights);
  for (int t = 0; t < TOKENS; ++t) {
    float scores[TOKENS];
    index_tokens(t, scores);
    lengths[t] = choose(t, scores, lists[t]);
  }
  attend();
  return recipe_verdict("sparse_tokens", "48 of up to 200 latent keys for each query, as pages of one token",
                        difference());
}
