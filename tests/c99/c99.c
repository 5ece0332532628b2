/* SPDX-License-Identifier: Apache-2.0
 *
 * The whole of fovea.h from C99: compiled with -std=c99 -pedantic -Werror, linked by the C compiler without libstdc++.
 * Every function is called, and each step's answer is one that can be checked by hand. */
#include <fovea/fovea.h>
#include <stdio.h>
#include <string.h>

enum { kHeads = 2, kTokens = 5, kHeadDim = 3, kValueDim = 2 };

static int failures = 0;

static void expect(int condition, const char* what) {
  if (!condition) {
    printf("not so: %s\n", what);
    ++failures;
  }
}

static int near(float x, float y) { return x - y < 1e-5f && y - x < 1e-5f; }

/* C99 has no _Alignas: the aligned part of memory that is larger by the alignment. */
static void* aligned(unsigned char* memory) {
  return memory + (FOVEA_WORKSPACE_ALIGNMENT - (uintptr_t)memory % FOVEA_WORKSPACE_ALIGNMENT);
}

static void targets(void) {
  const uint32_t count = fovea_target_count();
  uint32_t i;
  expect(fovea_version() == FOVEA_VERSION, "the library has the header's version");
  expect(strcmp(fovea_status_string(FOVEA_ERR_NULL), fovea_status_string(FOVEA_OK)) != 0, "statuses have texts");
  expect(count >= 1, "there is a target");
  expect(fovea_target_at(count) == FOVEA_TARGET_BEST, "there are no more targets than are counted");
  for (i = 0; i < count; ++i) {
    const fovea_target target = fovea_target_at(i);
    const char* name = fovea_target_name(target);
    const char* backend = fovea_target_backend(target);
    expect(name != NULL && fovea_target_from_name(name) == target, "a target is found by its name");
    expect(backend != NULL, "a target has a backend");
    printf("target %s by %s\n", name ? name : "?", backend ? backend : "?");
  }
}

static void softmax(void) {
  const float in[3] = {1.0f, 1.0f, 1.0f};
  float out[3];
  fovea_softmax_args args = {.struct_bytes = sizeof args, .out = out, .in = in, .outer = 1, .axis = 3, .inner = 1};
  args.out_outer_stride = args.in_outer_stride = 3, args.out_axis_stride = args.in_axis_stride = 1;
  expect(fovea_softmax_f32(&args) == FOVEA_OK, "softmax is computed");
  expect(near(out[0], 1.0f / 3.0f) && near(out[2], 1.0f / 3.0f), "softmax of equal numbers is even");
  expect(fovea_log_softmax_f32(&args) == FOVEA_OK, "log-softmax is computed");
  expect(near(out[1], -1.0986123f), "log-softmax of three equal numbers is -log 3");
  expect(fovea_softmax_f32(NULL) == FOVEA_ERR_NULL, "softmax of nothing is refused");
}

/* Queries of zeros weigh all keys alike: with a causal limit, query i answers the mean of the values 0 to i. */
static void attention(void) {
  static float q[kHeads][kTokens][kHeadDim], k[kHeads][kTokens][kHeadDim], v[kHeads][kTokens][kValueDim];
  static float out[kHeads][kTokens][kValueDim];
  static unsigned char memory[FOVEA_WORKSPACE_BYTES(kHeadDim, kValueDim) + FOVEA_WORKSPACE_ALIGNMENT];
  void* const workspace = aligned(memory);
  const size_t workspace_bytes = FOVEA_WORKSPACE_BYTES(kHeadDim, kValueDim);
  fovea_attention_desc desc = {.struct_bytes = sizeof desc, .q_heads = kHeads, .kv_heads = kHeads};
  fovea_attention_args args = {.struct_bytes = sizeof args, .batch = 1, .q_tokens = kTokens, .kv_tokens = kTokens};
  fovea_plan plan;
  char text[256];
  int head, token, i;

  for (head = 0; head < kHeads; ++head) {
    for (token = 0; token < kTokens; ++token) {
      for (i = 0; i < kHeadDim; ++i) k[head][token][i] = (float)(token - i);
      for (i = 0; i < kValueDim; ++i) v[head][token][i] = (float)(2 * token + 100 * head + 10 * i);
    }
  }

  desc.head_dim = kHeadDim, desc.value_dim = kValueDim, desc.causal = FOVEA_CAUSAL_TOP_LEFT;
  desc.max_batch = 1, desc.max_q_tokens = desc.max_kv_tokens = kTokens;
  expect(fovea_plan_init(NULL, &desc) == FOVEA_ERR_NULL, "no plan is refused");
  desc.score = (fovea_score)0x80000000u;
  expect(fovea_plan_init(&plan, &desc) == FOVEA_ERR_ENUM, "a number that is no score is refused");
  desc.score = FOVEA_SCORE_SCALED_DOT;
  expect(fovea_plan_init(&plan, &desc) == FOVEA_OK, "a plan is made");
  expect(fovea_workspace_bytes(&plan) > 0 && fovea_workspace_bytes(&plan) <= workspace_bytes,
         "the macro is an upper bound");
  expect(fovea_slow_workspace_bytes(&plan, workspace_bytes) == 0, "no slow workspace is needed beside it");
  expect(fovea_workspace_bytes_for(&desc, plan.desc.target) > 0, "the target's workspace is known");
  expect(fovea_plan_describe(&plan, kTokens, kTokens, text, sizeof text) < sizeof text, "the plan's line is short");
  printf("%s\n", text);

  args.out = (fovea_out){out, kHeads * kTokens * kValueDim, kTokens * kValueDim, kValueDim};
  args.q = (fovea_in){q, 0, kTokens * kHeadDim, kHeadDim};
  args.kv.keys = (fovea_in){k, 0, kTokens * kHeadDim, kHeadDim};
  args.kv.values = (fovea_in){v, 0, kTokens * kValueDim, kValueDim};
  expect(fovea_attention(&plan, &args, workspace, 0) == FOVEA_ERR_WORKSPACE, "a short workspace is refused");
  expect(fovea_attention(&plan, &args, workspace, workspace_bytes) == FOVEA_OK, "attention is computed");
  for (head = 0; head < kHeads; ++head) {
    for (token = 0; token < kTokens; ++token) {
      for (i = 0; i < kValueDim; ++i) {
        expect(near(out[head][token][i] / 100.0f, (float)(token + 100 * head + 10 * i) / 100.0f),
               "the output is the mean");
      }
    }
  }
}

/* A quarter of a turn a position: at position 1, (1, 0) becomes (0, 1). */
static void rope(void) {
  uint64_t turns[1];
  const float in[2] = {1.0f, 0.0f};
  float out[2];
  fovea_rope_args args = {.struct_bytes = sizeof args, .batch = 1, .heads = 1, .tokens = 1, .dim = 2};
  expect(fovea_rope_frequencies(turns, 0, 0, 2) == FOVEA_OK, "frequencies are computed");
  expect(turns[0] >> 32 == 0x28be60dbu, "the first is one radian");
  turns[0] = (uint64_t)1 << 62;
  args.layout = FOVEA_ROPE_INTERLEAVED, args.in.data = in, args.out.data = out;
  args.turns = turns, args.position_offset = 1;
  expect(fovea_rope_f32(&args) == FOVEA_OK, "a row is turned");
  expect(near(out[0], 0.0f) && near(out[1], 1.0f), "by a quarter");
}

/* A key of length 1 that meets an empty memory: the query that equals it reads the value back, times scale and beta. */
static void delta(void) {
  static unsigned char memory[FOVEA_DELTA_STATE_BYTES(1, 1, 2, 3, 1) + FOVEA_WORKSPACE_ALIGNMENT];
  static unsigned char scratch[FOVEA_DELTA_WORKSPACE_BYTES(2, 1) + FOVEA_WORKSPACE_ALIGNMENT];
  void* const workspace = aligned(scratch);
  fovea_delta_state* const state = aligned(memory);
  const float key[2] = {0.6f, 0.8f}, value[3] = {1.0f, -2.0f, 4.0f}, decay = -0.5f, beta = 0.25f;
  float out[3];
  fovea_delta_args args = {.struct_bytes = sizeof args, .rule = FOVEA_DELTA_RULE_GATED_DELTA, .scale = 2.0f};
  args.batch = args.tokens = args.q_heads = args.k_heads = args.v_heads = args.decay_dim = 1;
  args.key_dim = 2, args.value_dim = 3;
  args.out.data = out, args.q.data = args.k.data = key, args.v.data = value;
  args.decay.data = &decay, args.beta.data = &beta;
  expect(fovea_delta_begin(state, fovea_delta_state_bytes(1, 1, 2, 3, 1), 1, 1, 2, 3, 1) == FOVEA_OK, "a state begins");
  expect(fovea_delta(state, &args, workspace, FOVEA_DELTA_WORKSPACE_BYTES(2, 1)) == FOVEA_OK, "a token is seen");
  expect(near(out[0], 0.5f) && near(out[1], -1.0f) && near(out[2], 2.0f), "its value is read back");
}

static void linear(void) {
  static unsigned char memory[FOVEA_LINEAR_WORKSPACE_BYTES(2, FOVEA_F32) + FOVEA_WORKSPACE_ALIGNMENT];
  void* const workspace = aligned(memory);
  const float x[2] = {2.0f, 3.0f}, weights[3][2] = {{1.0f, 0.0f}, {0.0f, 1.0f}, {10.0f, 100.0f}};
  const float bias[3] = {0.5f, 0.0f, 1.0f};
  float y[3];
  fovea_linear_args args = {.struct_bytes = sizeof args, .tokens = 1, .in_dim = 2, .out_dim = 3, .x = x, .y = y};
  args.weights.data = weights, args.weights.row_stride = 2, args.weights.bias = bias;
  expect(fovea_linear_workspace_bytes(&args) + FOVEA_WORKSPACE_ALIGNMENT <= sizeof memory, "a workspace is enough");
  expect(fovea_linear_f32(NULL, NULL, 0) == FOVEA_ERR_NULL, "the former name of fovea_linear is one, too");
  expect(fovea_linear(&args, workspace, sizeof memory - FOVEA_WORKSPACE_ALIGNMENT) == FOVEA_OK, "a layer is computed");
  expect(near(y[0], 2.5f) && near(y[1], 3.0f) && near(y[2] / 100.0f, 3.21f), "its outputs are sums of products");
}

/* One head, keys and values of one element: zero queries answer the mean of the values that the cache holds. */
static void caches(void) {
  static unsigned char memory[FOVEA_KV_CACHE_BYTES(FOVEA_F32, FOVEA_F32, 1, 1, kTokens, 1, 1) +
                              FOVEA_KV_WORKSPACE_BYTES(1, 1) + 2 * FOVEA_WORKSPACE_ALIGNMENT];
  unsigned char* place = aligned(memory);
  const float q = 0.0f, keys[3] = {1.0f, 2.0f, 3.0f}, values[3] = {4.0f, 6.0f, 80.0f};
  float out = 0.0f;
  size_t cache_bytes;
  fovea_kv_cache cache = {.struct_bytes = sizeof cache, .max_tokens = kTokens};
  fovea_kv_append_args append = {.struct_bytes = sizeof append, .batch = 1, .tokens = 3};
  fovea_attention_desc desc = {.struct_bytes = sizeof desc, .q_heads = 1, .max_q_tokens = 1};
  fovea_attention_args args = {.struct_bytes = sizeof args, .q_tokens = 1, .q = {&q, 1, 1, 1}, .out = {&out, 1, 1, 1}};
  fovea_plan plan;

  cache.batch = cache.kv_heads = cache.head_dim = cache.value_dim = 1;
  cache_bytes = fovea_kv_cache_bytes(&cache);
  expect(cache_bytes > 0 && cache_bytes <= FOVEA_KV_CACHE_BYTES(FOVEA_F32, FOVEA_F32, 1, 1, kTokens, 1, 1),
         "the macro is an upper bound of a cache");
  expect(fovea_kv_cache_init(&cache, place, 0) == FOVEA_ERR_WORKSPACE, "short memory of a cache is refused");
  expect(fovea_kv_cache_init(&cache, place, cache_bytes) == FOVEA_OK, "a cache is made");

  append.keys.data = keys, append.values.data = values;
  append.keys.token_stride = append.values.token_stride = 1;
  expect(fovea_kv_append(&cache, &append) == FOVEA_OK && cache.lengths[0] == 3, "tokens are appended");
  expect(fovea_kv_append(&cache, &append) == FOVEA_ERR_FULL, "more than there is room for are refused");
  expect(fovea_kv_truncate(&cache, 0, 2) == FOVEA_OK && cache.lengths[0] == 2, "the last token is taken back");

  expect(fovea_kv_describe(&cache, &desc) == FOVEA_OK, "a cache describes itself");
  expect(fovea_plan_init(&plan, &desc) == FOVEA_OK, "a plan for a cache is made");
  expect(fovea_kv_attach(&cache, &args) == FOVEA_OK && args.kv_tokens == 2, "a cache is attached");
  place += (cache_bytes + FOVEA_WORKSPACE_ALIGNMENT - 1) / FOVEA_WORKSPACE_ALIGNMENT * FOVEA_WORKSPACE_ALIGNMENT;
  expect(fovea_attention(&plan, &args, place, FOVEA_KV_WORKSPACE_BYTES(1, 1)) == FOVEA_OK,
         "attention over a cache is computed");
  expect(near(out, 5.0f), "the output is the mean of what is in the cache");

  expect(fovea_kv_reset(&cache, FOVEA_ALL_ENTRIES) == FOVEA_OK && cache.lengths[0] == 0, "a cache is emptied");
}

/* One query of zeros over two keys, one in each of two streams: merged, and carried over as an image, they answer the
 * mean of the values. */
static void streams(void) {
  enum { kStateBytes = (FOVEA_STATE_BYTES(1, 1) + 63) / 64 * 64 };
  static unsigned char memory[FOVEA_WORKSPACE_BYTES(1, 1) + 3 * kStateBytes + FOVEA_WORKSPACE_ALIGNMENT];
  unsigned char* const place = aligned(memory);
  void* const workspace = place + 3 * kStateBytes;
  fovea_state* state[3];
  static unsigned char image[kStateBytes];
  const float q = 0.0f, keys[2] = {1.0f, 2.0f}, values[2] = {4.0f, 6.0f};
  float out = 0.0f;
  fovea_attention_desc desc = {.struct_bytes = sizeof desc};
  fovea_attention_args args = {.struct_bytes = sizeof args, .batch = 1, .q_tokens = 1, .kv_tokens = 1};
  fovea_plan plan;
  int i;
  for (i = 0; i < 3; ++i) state[i] = (fovea_state*)(void*)(place + i * kStateBytes);
  desc.q_heads = desc.kv_heads = desc.head_dim = desc.value_dim = 1;
  desc.max_batch = desc.max_q_tokens = desc.max_kv_tokens = 1;
  expect(fovea_plan_init(&plan, &desc) == FOVEA_OK, "a plan for a stream is made");
  expect(fovea_state_bytes(&plan, 1, 1) == FOVEA_STATE_BYTES(1, 1), "the macro is the size of a state");
  args.q.data = &q, args.out.data = &out;
  for (i = 0; i < 2; ++i) {
    args.kv.keys.data = &keys[i], args.kv.values.data = &values[i];
    expect(fovea_stream_begin(&plan, state[i], kStateBytes, 1, 1, i) == FOVEA_OK, "a stream begins");
    expect(fovea_stream_push(&plan, state[i], &args, workspace, FOVEA_WORKSPACE_BYTES(1, 1)) == FOVEA_OK,
           "a key is pushed");
  }
  expect(fovea_stream_merge(&plan, state[0], state[1]) == FOVEA_OK, "streams merge");
  expect(fovea_stream_export(state[0], image, sizeof image) == FOVEA_OK, "a state becomes an image");
  expect(fovea_stream_import(state[2], kStateBytes, image, sizeof image) == FOVEA_OK, "and an image a state");
  expect(fovea_stream_end(&plan, state[2], &args, workspace, FOVEA_WORKSPACE_BYTES(1, 1)) == FOVEA_OK, "a stream ends");
  expect(near(out, 5.0f), "the output is the mean of what was pushed");
}

/* A layer of one head and one element, whose queries are 0: y is the mean of 2 x so far, plus 1. */
static void multihead(void) {
  static unsigned char memory[FOVEA_MULTIHEAD_WORKSPACE_BYTES(1, 1, 1, 1, 1, 1, FOVEA_F32) + 512];
  unsigned char* const place = aligned(memory);
  void* const workspace = place + 256;
  const size_t bytes = FOVEA_MULTIHEAD_WORKSPACE_BYTES(1, 1, 1, 1, 1, 1, FOVEA_F32);
  const float x[2] = {3.0f, 5.0f}, zero = 0.0f, one = 1.0f, two = 2.0f;
  float y = 0.0f;
  fovea_kv_cache cache = {.struct_bytes = sizeof cache, .max_tokens = 2};
  fovea_multihead_desc desc = {.struct_bytes = sizeof desc, .max_new_tokens = 1};
  fovea_multihead_args args = {.struct_bytes = sizeof args, .batch = 1, .q_tokens = 1};
  fovea_multihead_plan plan;
  int token;
  cache.batch = cache.kv_heads = cache.head_dim = cache.value_dim = 1;
  expect(fovea_kv_cache_init(&cache, place, 256) == FOVEA_OK, "a cache is made");
  desc.attention.struct_bytes = sizeof desc.attention;
  expect(fovea_kv_describe(&cache, &desc.attention) == FOVEA_OK, "it describes itself");
  desc.attention.q_heads = desc.attention.max_q_tokens = 1;
  expect(fovea_multihead_plan_init(&plan, &desc) == FOVEA_OK, "a plan for a layer is made");
  expect(fovea_multihead_workspace_bytes(&plan) <= bytes, "the macro is an upper bound");
  expect(fovea_multihead_workspace_bytes_for(&desc, plan.attention.desc.target) > 0, "the target's workspace is known");
  args.attention.struct_bytes = sizeof args.attention, args.y.data = &y;
  args.weights.q.data = &zero, args.weights.v.data = &two;
  args.weights.out.data = &one, args.weights.out.bias = &one;
  for (token = 0; token < 2; ++token) {
    args.x.data = &x[token];
    args.cache = NULL;
    expect(fovea_multihead_append(&plan, &cache, &args, workspace, bytes) == FOVEA_OK, "a token is appended");
    args.cache = &cache;
    expect(fovea_multihead(&plan, &args, workspace, bytes) == FOVEA_OK, "a layer is computed");
    expect(near(y, token == 0 ? 7.0f : 9.0f), "its output is the mean so far");
  }
}

int main(void) {
  targets();
  softmax();
  attention();
  rope();
  delta();
  linear();
  caches();
  streams();
  multihead();
  printf("%d failures\n", failures);
  return failures != 0;
}
