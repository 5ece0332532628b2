/* SPDX-License-Identifier: Apache-2.0
 *
 * A prefix language model (Raffel et al., arXiv 1910.10683, section 3.2.1): the tokens of the prefix see one another,
 * those behind it all that is before them. The queries are cut at the prefix into two batch entries over the same keys,
 * with a batch_stride of 0: to the first there are only the keys of the prefix, and it sits so far back that it sees
 * all of them. No pair that is hidden costs more than the causal limit alone would. */
#include "recipe.h"

enum { HEADS = 4, DIM = 16, TOKENS = 200, PREFIX = 70, TOKEN = HEADS * DIM };

static _Alignas(FOVEA_WORKSPACE_ALIGNMENT) unsigned char workspace[FOVEA_WORKSPACE_BYTES(DIM, DIM)];
static float q[TOKENS][HEADS][DIM], keys[TOKENS][HEADS][DIM], values[TOKENS][HEADS][DIM], out[TOKENS][HEADS][DIM];

static void attend(void) {
  static const uint32_t q_offsets[] = {0, PREFIX, TOKENS}, kv_lengths[] = {PREFIX, TOKENS};
  static const int64_t positions[] = {PREFIX, PREFIX};
  const fovea_attention_desc desc = {
      .struct_bytes = sizeof desc,
      .q_heads = HEADS,
      .kv_heads = HEADS,
      .head_dim = DIM,
      .value_dim = DIM,
      .max_batch = 2,
      .max_q_tokens = TOKENS,
      .max_kv_tokens = TOKENS,
      .causal = FOVEA_CAUSAL_POSITIONS,
  };
  const fovea_attention_args args = {
      .struct_bytes = sizeof args,
      .batch = 2,
      .q_tokens = TOKENS,
      .kv_tokens = TOKENS,
      .q_offsets = q_offsets,
      .kv_lengths = kv_lengths,
      .positions = positions,
      .q = {q, 0, DIM, TOKEN},
      .out = {out, 0, DIM, TOKEN},
      .kv = {.keys = {keys, 0, DIM, TOKEN}, .values = {values, 0, DIM, TOKEN}},
  };
  recipe_attend(&desc, &args, workspace, sizeof workspace);
}

int main(void) {
  RECIPE_FILL(q), RECIPE_FILL(keys), RECIPE_FILL(values);
  attend();
  const recipe_rows rows = {DIM, TOKEN, 1 / sqrt(DIM)};
  double worst = 0, bias[TOKENS];
  for (int h = 0; h < HEADS; ++h) {
    for (int i = 0; i < TOKENS; ++i) {
      for (int j = 0; j < TOKENS; ++j) bias[j] = j <= i || j < PREFIX ? 0 : -INFINITY;
      recipe_worst(&worst, recipe_difference(&rows, out[i][h], q[i][h], keys[0][h], values[0][h], bias, TOKENS));
    }
  }
  return recipe_verdict("prefix_lm", "70 of 200 tokens are the prefix, in one call without a mask", worst);
}
