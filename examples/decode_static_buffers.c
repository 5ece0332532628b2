/* SPDX-License-Identifier: Apache-2.0
 *
 * A decoder's attention in C, with every byte static. Tokens come one at a time; their keys and values are stored as
 * int8 in a ring. Each new query attends to the first tokens, which are pinned, and to a window of the last tokens, for
 * which the ring has just enough slots. A plain loop keeps all tokens in f32 and computes the same window. The exit
 * code is 0 if both agree. */
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include "fovea/fovea.h"

enum { Q_HEADS = 8, KV_HEADS = 2, DIM = 64, TOKENS = 400, ROTARY = 32 };
enum { WINDOW = 92, PINNED = 4, SLOTS = PINNED + WINDOW };

static _Alignas(FOVEA_WORKSPACE_ALIGNMENT) unsigned char cache_memory[FOVEA_KV_CACHE_BYTES(FOVEA_I8, FOVEA_I8, 1,
                                                                                           KV_HEADS, SLOTS, DIM, DIM)];
static _Alignas(FOVEA_WORKSPACE_ALIGNMENT) unsigned char workspace[FOVEA_ATTENTION_KV_WORKSPACE_BYTES(DIM, DIM)];

static fovea_kv_cache cache;
static fovea_attention_plan plan;
static uint64_t turns[ROTARY / 2];
static float q[Q_HEADS][DIM], key[KV_HEADS][DIM], value[KV_HEADS][DIM], out[Q_HEADS][DIM], turned[KV_HEADS][DIM];
static float all_keys[TOKENS][KV_HEADS][DIM], all_values[TOKENS][KV_HEADS][DIM]; /* for the plain loop */

static void check(fovea_status status, const char* what) {
  if (status == FOVEA_OK) return;
  printf("%s: %s\n", what, fovea_status_string(status));
  exit(1);
}

/* Instead of a model: numbers from -1 to 1, and keys that resemble the query of some later token. */
static float next_number(void) {
  static uint32_t state = 1;
  state = state * 1664525u + 1013904223u;
  return (float)(state >> 8) / 8388608.0f - 1.0f;
}
static void next_token(void) {
  for (int d = 0; d < DIM; ++d) {
    for (int h = 0; h < Q_HEADS; ++h) q[h][d] = 2.0f * next_number();
    for (int h = 0; h < KV_HEADS; ++h) key[h][d] = next_number(), value[h][d] = next_number();
  }
}

static void make_cache_and_plan(void) {
  fovea_kv_cache_desc kept = {.struct_bytes = sizeof kept, .kind = FOVEA_KV_RING, .batch = 1, .kv_heads = KV_HEADS};
  kept.key_dtype = kept.value_dtype = FOVEA_I8;
  kept.head_dim = kept.value_dim = DIM;
  kept.max_tokens = SLOTS;
  kept.pinned_tokens = PINNED;
  check(fovea_kv_cache_init(&cache, &kept, cache_memory, sizeof cache_memory), "cache");

  fovea_attention_desc desc = {0};
  desc.struct_bytes = sizeof desc;
  check(fovea_kv_describe(&cache, &desc), "description");
  desc.q_heads = Q_HEADS;
  desc.max_q_tokens = 1; /* for n tokens at a time, the ring needs n - 1 slots more */
  desc.causal = FOVEA_CAUSAL_BOTTOM_RIGHT;
  desc.window_left = WINDOW;
  check(fovea_attention_plan_init(&plan, &desc), "plan");
  check(fovea_rope_frequencies(turns, 0, 0, ROTARY), "frequencies");
}

/* Queries are rotated by their position in place, keys when they are stored in the ring. */
static fovea_rope_args rope(float (*rows)[DIM], uint32_t heads, int64_t position) {
  fovea_rope_args args = {0};
  args.struct_bytes = sizeof args;
  args.batch = 1;
  args.heads = heads;
  args.tokens = 1;
  args.dim = DIM;
  args.rotary_dim = ROTARY;
  args.layout = FOVEA_ROPE_HALF_SPLIT;
  args.turns = turns;
  args.position_offset = position;
  args.y = (fovea_out){rows, 0, DIM, 0};
  args.x = (fovea_in){rows, 0, DIM, 0};
  return args;
}

static void decode(int token) {
  fovea_rope_args turn_query = rope(q, Q_HEADS, token);
  check(fovea_rope(&turn_query), "rope");

  const fovea_rope_args turn_keys = rope(key, KV_HEADS, 0); /* the cache adds the token's position */
  fovea_kv_append_args append = {0};
  append.struct_bytes = sizeof append;
  append.batch = append.tokens = 1;
  append.keys = (fovea_in){key, 0, DIM, 0};
  append.values = (fovea_in){value, 0, DIM, 0};
  append.rope = &turn_keys;
  append.workspace = turned;
  append.workspace_bytes = sizeof turned;
  check(fovea_kv_append(&cache, &append), "append");

  fovea_attention_args args = {0};
  args.struct_bytes = sizeof args;
  check(fovea_kv_attach(&cache, &args), "attach");
  args.q_tokens = 1;
  args.q = (fovea_in){q, 0, DIM, 0};
  args.out = (fovea_out){out, 0, DIM, 0};
  check(fovea_attention(&plan, &args, workspace, sizeof workspace), "attention");
}

/* The largest difference of out from softmax(q k / sqrt(DIM)) v over the tokens that are pinned or in the window. */
static double difference(int token) {
  const int tokens = token + 1, oldest = tokens - WINDOW;
  double largest = 0;
  for (int h = 0; h < Q_HEADS; ++h) {
    const int kv = h / (Q_HEADS / KV_HEADS);
    double sum = 0, want[DIM] = {0};
    for (int t = 0; t < tokens; ++t) {
      if (t >= PINNED && t < oldest) continue;
      double dot = 0;
      for (int d = 0; d < DIM; ++d) dot += (double)q[h][d] * all_keys[t][kv][d];
      const double weight = exp(dot / sqrt(DIM));
      sum += weight;
      for (int d = 0; d < DIM; ++d) want[d] += weight * all_values[t][kv][d];
    }
    for (int d = 0; d < DIM; ++d) {
      const double off = fabs(out[h][d] - want[d] / sum);
      if (off > largest) largest = off;
    }
  }
  return largest;
}

int main(void) {
  make_cache_and_plan();
  double worst = 0;
  for (int token = 0; token < TOKENS; ++token) {
    next_token();
    decode(token);
    fovea_rope_args turn = rope(key, KV_HEADS, token);
    check(fovea_rope(&turn), "rope");
    for (int h = 0; h < KV_HEADS; ++h) {
      for (int d = 0; d < DIM; ++d) all_keys[token][h][d] = key[h][d], all_values[token][h][d] = value[h][d];
    }
    const double off = difference(token);
    if (off > worst) worst = off;
    if (token % 100 == 99) {
      printf("token %3d: the ring holds tokens 0 to %d and %u to %d; out[0][0] = %9.6f\n", token, PINNED - 1,
             (unsigned)fovea_kv_cache_arrays(&cache)->first_tokens[0], token, (double)out[0][0]);
    }
  }
  printf("%d tokens; cache %u bytes, of f32 %u; workspace %u\n", TOKENS, (unsigned)sizeof cache_memory,
         (unsigned)(2 * KV_HEADS * SLOTS * DIM * sizeof(float)), (unsigned)sizeof workspace);
  printf("largest difference from the plain loop in f32: %.2g, for int8 at most 0.02\n", worst);
  return worst < 0.02 ? 0 : 1;
}
