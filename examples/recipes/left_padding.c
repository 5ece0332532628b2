/* SPDX-License-Identifier: Apache-2.0
 *
 * Prompts of unequal lengths in one array, padded on the left so that all end together, as for generation with Hugging
 * Face's models. A prompt's tokens are an entry of a ragged batch that begins after the padding: padding is a key of no
 * entry, may hold any numbers, and costs no time. As queries, the padding of the next prompt belongs to the end of an
 * entry: those rows of the output have no meaning. Then each prompt gets one more token: the same offsets, and longer
 * lengths. */
#include "recipe.h"

enum { HEADS = 4, DIM = 16, BATCH = 3, PROMPT = 90, MOST = 96, TOKEN = HEADS * DIM };

static const uint32_t padding[BATCH] = {25, 0, 71};

static _Alignas(FOVEA_WORKSPACE_ALIGNMENT) unsigned char workspace[FOVEA_ATTENTION_WORKSPACE_BYTES(DIM, DIM)];
static float q[BATCH][PROMPT][HEADS][DIM], out[BATCH][PROMPT][HEADS][DIM];
static float keys[BATCH][MOST][HEADS][DIM], values[BATCH][MOST][HEADS][DIM]; /* with room for what is generated */
static float next_q[BATCH][HEADS][DIM], next_out[BATCH][HEADS][DIM];

static void attend(uint32_t generated, const float* queries, float* outputs) {
  uint32_t q_offsets[BATCH + 1] = {0}, kv_offsets[BATCH + 1] = {0}, lengths[BATCH];
  for (uint32_t b = 0; b < BATCH; ++b) {
    q_offsets[b] = b * PROMPT + padding[b];
    kv_offsets[b] = b * MOST + padding[b];
    lengths[b] = PROMPT - padding[b] + generated;
  }
  q_offsets[BATCH] = BATCH * PROMPT, kv_offsets[BATCH] = BATCH * MOST;
  /* Entries are longer than a prompt by the padding of the next one. */
  fovea_attention_desc desc = recipe_desc(HEADS, DIM, BATCH, generated ? 1 : 2 * PROMPT);
  desc.max_kv_tokens = 2 * MOST;
  desc.causal = generated ? FOVEA_CAUSAL_BOTTOM_RIGHT : FOVEA_CAUSAL_TOP_LEFT;
  const recipe_arrays arrays = {queries, keys, values, outputs, TOKEN, DIM, TOKEN};
  fovea_attention_args args = recipe_args(&arrays, BATCH, generated ? 1 : BATCH * PROMPT);
  args.kv_tokens = BATCH * MOST;
  args.q_offsets = generated ? NULL : q_offsets;
  args.kv_offsets = kv_offsets;
  args.kv_lengths = lengths;
  recipe_attend(&desc, &args, workspace, sizeof workspace);
}

/* Of the query at this place in the row of a prompt. */
static double difference(int b, int place, float (*q_row)[DIM], float (*out_row)[DIM]) {
  const recipe_rows rows = {DIM, TOKEN, 1 / sqrt(DIM)};
  double worst = 0, bias[MOST];
  for (int j = 0; j < MOST; ++j) bias[j] = j >= (int)padding[b] && j <= place ? 0 : -INFINITY;
  for (int h = 0; h < HEADS; ++h) {
    recipe_worst(&worst, recipe_difference(&rows, out_row[h], q_row[h], keys[b][0][h], values[b][0][h], bias, MOST));
  }
  return worst;
}

int main(void) {
  RECIPE_FILL(q), RECIPE_FILL(keys), RECIPE_FILL(values), RECIPE_FILL(next_q);
  double worst = 0;
  attend(0, q[0][0][0], out[0][0][0]);
  for (int b = 0; b < BATCH; ++b) {
    for (int i = (int)padding[b]; i < PROMPT; ++i) recipe_worst(&worst, difference(b, i, q[b][i], out[b][i]));
  }
  attend(1, next_q[0][0], next_out[0][0]); /* each prompt's new key and value are at place PROMPT */
  for (int b = 0; b < BATCH; ++b) recipe_worst(&worst, difference(b, PROMPT, next_q[b], next_out[b]));
  return recipe_verdict("left_padding", "3 prompts of 90 places, 25, 0 and 71 of them padding, and a token more",
                        worst);
}
