/* SPDX-License-Identifier: Apache-2.0
 *
 * A prefix language model (Raffel et al., arXiv 1910.10683, section 3.2.1): the tokens of the prefix see one another,
 * later tokens see all tokens before them. In two ways.
 *
 * One sequence: the queries are divided at the end of the prefix into two batch entries over the same keys, with a
 * batch_stride of 0. The first has only the keys of the prefix, and positions so large that it sees all of them. Hidden
 * pairs cost no more than with the causal limit alone, and there is no mask.
 *
 * A batch in which each sequence has its own prefix: a block map skips keys that no query of a block sees, and a byte
 * mask is read only along the diagonal. */
#include "recipe.h"

enum { HEADS = 4, DIM = 16, TOKENS = 200, BATCH = 2, BLOCK = 64, BLOCKS = (TOKENS + BLOCK - 1) / BLOCK };
enum { TOKEN = HEADS * DIM, SEQUENCE = TOKENS * TOKEN };

static const uint32_t prefixes[BATCH] = {70, 140};

static _Alignas(FOVEA_WORKSPACE_ALIGNMENT) unsigned char workspace[FOVEA_ATTENTION_WORKSPACE_BYTES(DIM, DIM)];
static float q[BATCH][TOKENS][HEADS][DIM], keys[BATCH][TOKENS][HEADS][DIM], values[BATCH][TOKENS][HEADS][DIM];
static float out[BATCH][TOKENS][HEADS][DIM];
static uint8_t mask[BATCH][TOKENS][TOKENS];
static uint32_t offsets[BATCH][BLOCKS + 1], blocks[BATCH * BLOCKS * BLOCKS];

static int sees(uint32_t sequence, uint32_t query, uint32_t key) { return key <= query || key < prefixes[sequence]; }

static void attend_to_first(void) {
  const uint32_t q_offsets[] = {0, prefixes[0], TOKENS}, kv_lengths[] = {prefixes[0], TOKENS};
  const int64_t positions[] = {prefixes[0], prefixes[0]};
  fovea_attention_desc desc = recipe_desc(HEADS, DIM, 2, TOKENS);
  desc.causal = FOVEA_CAUSAL_POSITIONS;
  const recipe_arrays one = {q, keys, values, out, 0, DIM, TOKEN};
  fovea_attention_args args = recipe_args(&one, 2, TOKENS);
  args.q_offsets = q_offsets;
  args.kv_lengths = kv_lengths;
  args.first_positions = positions;
  recipe_attend(&desc, &args, workspace, sizeof workspace);
}

/* A block is hidden if its last query does not see its first key, and seen if its first query sees its last key. */
static fovea_block_kind classify(void* self, const fovea_block* block) {
  (void)self;
  const uint32_t last_query = block->first_query + block->queries - 1, last_key = block->first_key + block->keys - 1;
  if (!sees(block->batch, last_query, block->first_key)) return FOVEA_BLOCK_HIDDEN;
  return sees(block->batch, block->first_query, last_key) ? FOVEA_BLOCK_FULL : FOVEA_BLOCK_PARTIAL;
}

static void attend_to_batch(void) {
  fovea_block_map_args map_args = recipe_map_args(TOKENS, BLOCK, BLOCK, offsets[0], blocks, BATCH * BLOCKS * BLOCKS);
  map_args.batch = BATCH;
  map_args.classify = classify;
  fovea_block_map map;
  recipe_check(fovea_block_map_make(&map_args, &map), "fovea_block_map_make");
  const fovea_attention_desc desc = recipe_desc(HEADS, DIM, BATCH, TOKENS);
  const recipe_arrays all = {q, keys, values, out, SEQUENCE, DIM, TOKEN};
  fovea_attention_args args = recipe_args(&all, BATCH, TOKENS);
  args.mask =
      (fovea_mask){.kind = FOVEA_MASK_BYTE, .data = mask, .batch_stride = TOKENS * TOKENS, .q_stride = TOKENS};
  args.block_map = &map;
  recipe_attend(&desc, &args, workspace, sizeof workspace);
}

static double difference(uint32_t sequences) {
  const recipe_rows rows = {DIM, TOKEN, 1 / sqrt(DIM)};
  double worst = 0, bias[TOKENS];
  for (uint32_t b = 0; b < sequences; ++b) {
    for (uint32_t i = 0; i < TOKENS; ++i) {
      for (uint32_t j = 0; j < TOKENS; ++j) bias[j] = sees(b, i, j) ? 0 : -INFINITY;
      for (int h = 0; h < HEADS; ++h) {
        recipe_worst(&worst,
                     recipe_difference(&rows, out[b][i][h], q[b][i][h], keys[b][0][h], values[b][0][h], bias, TOKENS));
      }
    }
  }
  return worst;
}

int main(void) {
  RECIPE_FILL(q), RECIPE_FILL(keys), RECIPE_FILL(values);
  for (uint32_t b = 0; b < BATCH; ++b) {
    for (uint32_t i = 0; i < TOKENS; ++i) {
      for (uint32_t j = 0; j < TOKENS; ++j) mask[b][i][j] = (uint8_t)sees(b, i, j);
    }
  }
  attend_to_first();
  double worst = difference(1);
  attend_to_batch();
  recipe_worst(&worst, difference(BATCH));
  return recipe_verdict("prefix_lm", "70 of 200 tokens without a mask, and a batch of two prefixes by a block map",
                        worst);
}
