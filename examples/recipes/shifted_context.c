/* SPDX-License-Identifier: Apache-2.0
 *
 * A context that never ends in a cache that is full (StreamingLLM, Xiao et al., arXiv 2309.17453; llama.cpp's context
 * shift): the first SINKS tokens stay, of the others the oldest DROPPED go, and those after them move up. Positions are
 * those within the cache, so a model never sees one beyond CONTEXT: fovea_kv_compact moves the rows, and
 * fovea_kv_shift turns the moved keys back by DROPPED positions. */
#include <string.h>

#include "recipe.h"

enum { DIM = 32, CONTEXT = 48, SINKS = 4, DROPPED = 16, TOKENS = 150 };

static _Alignas(FOVEA_WORKSPACE_ALIGNMENT) unsigned char workspace[FOVEA_ATTENTION_KV_WORKSPACE_BYTES(DIM, DIM)];
static _Alignas(FOVEA_WORKSPACE_ALIGNMENT) unsigned char memory[FOVEA_KV_CACHE_BYTES(FOVEA_F32, FOVEA_F32, 1, 1,
                                                                                     CONTEXT, DIM, DIM)];
static float q[TOKENS][DIM], keys[TOKENS][DIM], values[TOKENS][DIM];
static uint64_t turns[DIM / 2];
static float row[DIM]; /* of keys that are turned */

static fovea_rope_args rope_of(void) {
  return (fovea_rope_args){
      .struct_bytes = sizeof(fovea_rope_args), .layout = FOVEA_ROPE_HALF_SPLIT, .rotary_dim = DIM, .turns = turns};
}

static void turn(const float* x, uint32_t position, float* y) {
  fovea_rope_args rope = rope_of();
  rope.batch = rope.heads = rope.tokens = 1, rope.dim = DIM;
  rope.x.data = x, rope.y.data = y, rope.position_offset = position;
  recipe_check(fovea_rope(&rope), "fovea_rope");
}

/* Makes room. `held` are the tokens in the cache. */
static uint32_t drop(fovea_kv_cache* cache, uint32_t* held, uint32_t length) {
  uint32_t kept[CONTEXT], count = 0;
  for (uint32_t i = 0; i < length; ++i) {
    if (i < SINKS || i >= SINKS + DROPPED) held[count] = held[i], kept[count++] = i;
  }
  recipe_check(fovea_kv_compact(cache, 0, kept, count), "fovea_kv_compact");
  const fovea_rope_args rope = rope_of();
  const fovea_kv_shift_args shift = {.struct_bytes = sizeof shift,
                                     .first = SINKS,
                                     .tokens = count - SINKS,
                                     .rope = &rope,
                                     .difference = -DROPPED,
                                     .workspace = row,
                                     .workspace_bytes = sizeof row};
  recipe_check(fovea_kv_shift(cache, &shift), "fovea_kv_shift");
  return count;
}

int main(void) {
  RECIPE_FILL(q), RECIPE_FILL(keys), RECIPE_FILL(values);
  recipe_check(fovea_rope_frequencies(turns, 0, 0, DIM), "fovea_rope_frequencies");
  fovea_kv_cache_desc sizes = {
      .struct_bytes = sizeof sizes, .batch = 1, .kv_heads = 1, .head_dim = DIM, .value_dim = DIM};
  sizes.max_tokens = CONTEXT;
  fovea_kv_cache cache;
  recipe_check(fovea_kv_cache_init(&cache, &sizes, memory, sizeof memory), "fovea_kv_cache_init");
  fovea_attention_desc desc = {.struct_bytes = sizeof desc, .q_heads = 1, .max_q_tokens = 1};
  recipe_check(fovea_kv_describe(&cache, &desc), "fovea_kv_describe");
  const fovea_rope_args rope = rope_of();
  uint32_t held[CONTEXT], length = 0;
  double worst = 0;
  for (uint32_t token = 0; token < TOKENS; ++token) {
    if (length == CONTEXT) length = drop(&cache, held, length);
    held[length] = token;
    const fovea_kv_append_args append = {.struct_bytes = sizeof append,
                                         .batch = 1,
                                         .tokens = 1,
                                         .keys = {.data = keys[token]},
                                         .values = {.data = values[token]},
                                         .rope = &rope,
                                         .workspace = row,
                                         .workspace_bytes = sizeof row};
    recipe_check(fovea_kv_append(&cache, &append), "fovea_kv_append");
    float query[DIM], out[DIM];
    turn(q[token], length++, query);
    fovea_attention_args args = {
        .struct_bytes = sizeof args, .q_tokens = 1, .q = {.data = query}, .out = {.data = out}};
    recipe_check(fovea_kv_attach(&cache, &args), "fovea_kv_attach");
    recipe_attend(&desc, &args, workspace, sizeof workspace);

    /* What it should be: the same tokens, turned where they are now. */
    static float near_keys[CONTEXT][DIM], near_values[CONTEXT][DIM];
    double bias[CONTEXT] = {0};
    for (uint32_t i = 0; i < length; ++i) {
      turn(keys[held[i]], i, near_keys[i]);
      memcpy(near_values[i], values[held[i]], sizeof near_values[i]);
    }
    const recipe_rows rows = {DIM, DIM, 1 / sqrt(DIM)};
    recipe_worst(&worst, recipe_difference(&rows, out, query, near_keys[0], near_values[0], bias, (int)length));
  }
  return recipe_verdict("shifted_context", "150 tokens through a cache of 48, with positions within it", worst);
}
