/* SPDX-License-Identifier: Apache-2.0
 *
 * Calls of one shape with inputs of one kind, for tests/scripts/check_timing.py, which counts their instructions: those
 * of every kind must be as many. All memory is static, and inputs are made without branches, so it runs on every
 * machine and what is not the library's takes as many instructions for each kind as well.
 *
 *     fovea_timing KIND             runs all calls once; KIND is a number below kKinds
 *     fovea_timing KIND ROUNDS      ROUNDS times; prints nothing but the seconds of processor time of each call
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "fovea/fovea.h"

enum { kBatch = 2, kQHeads = 4, kKvHeads = 2, kQTokens = 9, kKvTokens = 131, kDim = 20, kModel = kQHeads * kDim };
enum { kQFloats = kBatch * kQHeads * kQTokens * kDim, kKvFloats = kBatch * kKvHeads * kKvTokens * kDim };

static float q[kQFloats], keys[kKvFloats], values[kKvFloats], out[kQFloats];
static float lse[kBatch * kQHeads * kQTokens], scores[kBatch * kQHeads * kQTokens * kKvTokens];
static float mask[kQTokens * kKvTokens], slopes[kQHeads], sinks[kQHeads], vector[kDim];
static float weights[kModel * kModel];
static unsigned char byte_mask[kQTokens * kKvTokens];
static const int64_t positions[kBatch] = {100, 40};
static uint64_t turns[kDim / 2];
static fovea_target target;

typedef union Aligned {
  unsigned char bytes[1 << 17];
  struct {
    _Alignas(FOVEA_WORKSPACE_ALIGNMENT) char first;
  } aligned;
} Aligned;
static Aligned workspace, cache_memory, state;

/* Each element's bits are (random & and_bits) | or_bits. The last kind has all of the others, by element. */
typedef struct Kind {
  const char* name;
  uint32_t and_bits, or_bits;
} Kind;
static const Kind kinds[] = {
    {"random", 0x80ffffffu, 0x3f000000u},    /* 0.5 to 2, and -0.5 to -2 */
    {"constant", 0, 0x3f000000u},            /* 0.5 */
    {"zero", 0, 0},                          /**/
    {"huge", 0x80000000u, 0x7f700000u},      /* +-3.2e38 */
    {"subnormal", 0x807fffffu, 1},           /**/
    {"infinite", 0x80000000u, 0x7f800000u},  /**/
    {"-infinite", 0, 0xff800000u},           /**/
    {"NaN", 0x803fffffu, 0x7fc00000u},       /* quiet */
    {"all kinds", 0, 0},
};
enum { kKinds = sizeof kinds / sizeof kinds[0] };

static uint32_t random_state = 1;
static uint32_t next_random(void) {
  random_state = random_state * 1664525u + 1013904223u;
  return (random_state >> 16) | (random_state << 16);
}

static void fill(float* data, int count, int kind) {
  const uint32_t mixed = 0u - (uint32_t)(kind == kKinds - 1);
  int i;
  for (i = 0; i < count; ++i) {
    const uint32_t which = (next_random() >> 7) % (kKinds - 1);
    const Kind* k = &kinds[((uint32_t)kind & ~mixed) | (which & mixed)];
    const uint32_t bits = (next_random() & k->and_bits) | k->or_bits;
    memcpy(&data[i], &bits, sizeof bits);
  }
}

static void fill_all(int kind) {
  const uint32_t some = 0u - (uint32_t)((kind == 0) | (kind == kKinds - 1)), all = 0u - (uint32_t)(kind > 3);
  int i;
  fill(q, kQFloats, kind);
  fill(keys, kKvFloats, kind);
  fill(values, kKvFloats, kind);
  fill(mask, kQTokens * kKvTokens, kind);
  fill(slopes, kQHeads, kind);
  fill(sinks, kQHeads, kind);
  fill(vector, kDim, kind);
  fill(weights, kModel * kModel, kind);
  for (i = 0; i < kQTokens * kKvTokens; ++i) byte_mask[i] = (unsigned char)(((next_random() >> 9) & some) | (all & 1));
}

/* ------------------------------------------------------------------------------------------------------ calls */

static fovea_in input(const float* data, int heads, int tokens) {
  return (fovea_in){data, heads * tokens * kDim, tokens * kDim, kDim};
}
static fovea_out output(float* data, int tokens, int dim) {
  return (fovea_out){data, kQHeads * tokens * dim, tokens * dim, dim};
}

static fovea_attention_desc desc;
static fovea_attention_args args;

static void plain(int q_tokens) {
  desc = (fovea_attention_desc){.struct_bytes = sizeof desc, .q_heads = kQHeads, .kv_heads = kKvHeads, .head_dim = kDim};
  desc.value_dim = kDim, desc.max_batch = kBatch, desc.max_q_tokens = kQTokens, desc.max_kv_tokens = kKvTokens;
  desc.target = target;
  args = (fovea_attention_args){.struct_bytes = sizeof args, .batch = kBatch, .q_tokens = (uint32_t)q_tokens};
  args.kv_tokens = kKvTokens, args.q = input(q, kQHeads, kQTokens), args.out = output(out, kQTokens, kDim);
  args.kv.keys = input(keys, kKvHeads, kKvTokens), args.kv.values = input(values, kKvHeads, kKvTokens);
}

static fovea_status attend(void) {
  fovea_attention_plan plan;
  const fovea_status status = fovea_attention_plan_init(&plan, &desc);
  return status != FOVEA_OK ? status : fovea_attention(&plan, &args, workspace.bytes, sizeof workspace.bytes);
}

static void nothing(void) {}
static void options(void) {
  desc.window_left = 100, desc.softcap = 3.0f;
  args.first_positions = positions, args.alibi_slopes = slopes, args.sinks = sinks;
  args.lse = output(lse, kQTokens, 1), args.scores = output(scores, kQTokens, kKvTokens);
  args.scores_stage = FOVEA_SCORES_SOFTMAX;
}
static void set_mask(fovea_mask_kind kind, const void* data) {
  args.mask = (fovea_mask){.kind = kind, .kv_tokens = kKvTokens, .data = data, .q_stride = kKvTokens};
}
static void float_mask(void) { set_mask(FOVEA_MASK_F32, mask); }
static void bytes_mask(void) { set_mask(FOVEA_MASK_BYTE, byte_mask); }
static void additive(void) { desc.score = FOVEA_SCORE_ADDITIVE, args.score_vector = vector; }
static void dropout(void) { desc.dropout = 0.25f; }

/* Into a cache of a format, and attention over it, of many queries and of one. */
static fovea_status cached(fovea_dtype dtype, fovea_kv_kind kind) {
  fovea_kv_cache_desc kept = {.struct_bytes = sizeof kept, .kind = kind, .key_dtype = dtype, .value_dtype = dtype};
  fovea_kv_append_args append = {.struct_bytes = sizeof append, .batch = kBatch, .tokens = kKvTokens};
  fovea_kv_cache cache;
  fovea_status status;
  plain(kQTokens);
  kept.batch = kBatch, kept.kv_heads = kKvHeads, kept.head_dim = kept.value_dim = kDim, kept.max_tokens = kKvTokens;
  append.target = target, append.keys = args.kv.keys, append.values = args.kv.values;
  status = fovea_kv_cache_init(&cache, &kept, cache_memory.bytes, sizeof cache_memory.bytes);
  if (status == FOVEA_OK) status = fovea_kv_append(&cache, &append);
  if (status == FOVEA_OK) status = fovea_kv_describe(&cache, &desc);
  desc.max_kv_tokens = kKvTokens; /* a ring takes any number: these fit */
  if (status == FOVEA_OK) status = fovea_kv_attach(&cache, &args);
  if (status == FOVEA_OK) status = attend();
  args.q_tokens = 1;
  return status == FOVEA_OK ? attend() : status;
}
static fovea_status cached_f16(void) { return cached(FOVEA_F16, FOVEA_KV_STRIDED); }
static fovea_status cached_bf16(void) { return cached(FOVEA_BF16, FOVEA_KV_RING); }
static fovea_status cached_i8(void) { return cached(FOVEA_I8, FOVEA_KV_STRIDED); }
static fovea_status cached_i4(void) { return cached(FOVEA_I4, FOVEA_KV_RING); }

static fovea_status streams(void) {
  fovea_stream_state* const first = (fovea_stream_state*)(void*)state.bytes;
  fovea_stream_state* const second = (fovea_stream_state*)(void*)(state.bytes + sizeof state.bytes / 2);
  const size_t bytes = sizeof state.bytes / 2;
  fovea_attention_plan plan;
  fovea_status status;
  plain(kQTokens);
  status = fovea_attention_plan_init(&plan, &desc);
  args.kv_tokens = 64;
  if (status == FOVEA_OK) status = fovea_stream_begin(&plan, first, bytes, kBatch, kQTokens, 0);
  if (status == FOVEA_OK) status = fovea_stream_begin(&plan, second, bytes, kBatch, kQTokens, 64);
  if (status == FOVEA_OK) status = fovea_stream_push(&plan, first, &args, workspace.bytes, sizeof workspace.bytes);
  if (status == FOVEA_OK) status = fovea_stream_push(&plan, second, &args, workspace.bytes, sizeof workspace.bytes);
  if (status == FOVEA_OK) status = fovea_stream_merge(&plan, first, second);
  if (status == FOVEA_OK) status = fovea_stream_end(&plan, first, &args, workspace.bytes, sizeof workspace.bytes);
  return status;
}

static fovea_status softmax(void) {
  fovea_softmax_args a = {.struct_bytes = sizeof a, .target = target, .y = scores, .x = keys};
  fovea_status status;
  a.y_outer_stride = a.x_outer_stride = kKvTokens, a.y_axis_stride = a.x_axis_stride = 1;
  a.outer = kQTokens, a.axis = kKvTokens, a.inner = 1;
  status = fovea_softmax(&a);
  if (status == FOVEA_OK) status = fovea_log_softmax(&a);
  a.mask = mask, a.mask_outer_stride = kKvTokens, a.mask_axis_stride = 1;
  if (status == FOVEA_OK) status = fovea_softmax(&a);
  a.mask = NULL, a.outer = 1, a.axis = kQTokens, a.inner = kKvTokens;
  a.x_axis_stride = a.y_axis_stride = kKvTokens;
  return status == FOVEA_OK ? fovea_softmax(&a) : status;
}

static fovea_status rope(void) {
  fovea_rope_args a = {.struct_bytes = sizeof a, .target = target, .batch = kBatch, .heads = kQHeads, .turns = turns};
  a.tokens = kQTokens, a.dim = kDim, a.layout = FOVEA_ROPE_HALF_SPLIT;
  a.x = input(q, kQHeads, kQTokens), a.y = output(out, kQTokens, kDim);
  return fovea_rope(&a);
}

static fovea_status layers(void) {
  fovea_multihead_desc d = {.struct_bytes = sizeof d};
  fovea_multihead_args a = {.struct_bytes = sizeof a, .batch = kBatch, .q_tokens = kQTokens};
  fovea_multihead_plan plan;
  fovea_status status;
  plain(kQTokens);
  d.attention = desc, d.attention.kv_heads = kQHeads, d.attention.max_kv_tokens = kQTokens;
  a.attention.struct_bytes = sizeof a.attention, a.x.data = q, a.y.data = out;
  a.x.token_stride = a.y.token_stride = kModel, a.x.batch_stride = a.y.batch_stride = kQTokens * kModel;
  a.weights.q.data = weights, a.weights.q.row_stride = kModel;
  a.weights.k = a.weights.v = a.weights.out = a.weights.q;
  status = fovea_multihead_plan_init(&plan, &d);
  if (status == FOVEA_OK) status = fovea_multihead(&plan, &a, workspace.bytes, sizeof workspace.bytes);
  a.q_tokens = a.batch = 1; /* few tokens take a linear kernel of their own */
  return status == FOVEA_OK ? fovea_multihead(&plan, &a, workspace.bytes, sizeof workspace.bytes) : status;
}

/* Attention of `queries` queries with what `set` sets, or another call. */
static const struct {
  const char* name;
  int q_tokens;
  void (*set)(void);
  fovea_status (*other)(void);
} calls[] = {
    {"prefill", kQTokens, nothing, NULL},
    {"decode", 1, nothing, NULL},
    {"prefill, options", kQTokens, options, NULL},
    {"decode, options", 1, options, NULL},
    {"float mask", kQTokens, float_mask, NULL},
    {"byte mask", kQTokens, bytes_mask, NULL},
    {"decode, byte mask", 1, bytes_mask, NULL},
    {"additive", kQTokens, additive, NULL},
    {"decode, additive", 1, additive, NULL},
    {"dropout", kQTokens, dropout, NULL},
    {"f16 cache", 0, NULL, cached_f16},
    {"bf16 ring", 0, NULL, cached_bf16},
    {"int8 cache", 0, NULL, cached_i8},
    {"int4 ring", 0, NULL, cached_i4},
    {"stream", 0, NULL, streams},
    {"softmax", 0, NULL, softmax},
    {"rope", 0, NULL, rope},
    {"multi-head layer", 0, NULL, layers},
};
enum { kCalls = sizeof calls / sizeof calls[0] };

static fovea_status run(int call) {
  if (calls[call].other) return calls[call].other();
  plain(calls[call].q_tokens);
  calls[call].set();
  return attend();
}

/* Seconds of processor time. */
static double now(void) {
#if defined(__linux__)
  return (double)clock() / CLOCKS_PER_SEC;
#else
  return 0;
#endif
}

int main(int argc, char** argv) {
  const int kind = argc > 1 ? argv[1][0] - '0' : 0, rounds = argc > 2 ? atoi(argv[2]) : 0;
  const char* const wanted = argc > 3 ? argv[3] : "";
  int i, round;
  if (kind < 0 || kind >= kKinds) {
    printf("there are %d kinds\n", (int)kKinds);
    return 2;
  }
  target = fovea_target_from_name(wanted);
  fill_all(kind);
  if (fovea_rope_frequencies(turns, 0, 0, kDim) != FOVEA_OK) return 1;
  for (i = 0; i < kCalls; ++i) {
    double best = 1e9;
    fovea_status status = run(i);
    for (round = 0; round < rounds; ++round) {
      const double begin = now();
      double seconds;
      int again;
      for (again = 0; again < 200; ++again) status = run(i);
      seconds = (now() - begin) / 200;
      if (seconds < best) best = seconds;
    }
    if (status != FOVEA_OK) {
      printf("%s: %s\n", calls[i].name, fovea_status_string(status));
      return 1;
    }
    if (rounds > 0) printf("%s,%s,%.9f\n", kinds[kind].name, calls[i].name, best);
  }
  return 0;
}
