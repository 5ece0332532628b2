/* SPDX-License-Identifier: Apache-2.0
 *
 * The whole of fovea.h from C99: compiled with -std=c99 -pedantic -Werror, linked by the C compiler without libstdc++. The same
 * program, compiled with the headers of 1.0, shows that older programs go on working.
 * Every function is linked; the answers of those that are called can be checked by hand. The others are called by the
 * programs of the headers (tests/headers), in C where there is an operating system, and by the tests in C++. */
#include <fovea/fovea.h>
#include <stdio.h>
#include <string.h>

/* CMake writes FUNCTION(name) for each that the headers declare. */
typedef void (*function)(void);
const function functions[] = {
#define FUNCTION(name) (function) name,
#include "functions.inl"
};

/* The macros of sizes are constants of C99. */
enum {
  kStateBytes = FOVEA_STREAM_STATE_BYTES(3, 2),
  kDeltaBytes = FOVEA_DELTA_STATE_BYTES(1, 1, 2, 3, 1) + FOVEA_DELTA_WORKSPACE_BYTES(2, 1),
  kLinearBytes = FOVEA_LINEAR_WORKSPACE_BYTES(2, FOVEA_F32) + FOVEA_LINEAR_I8_WORKSPACE_BYTES(2),
  kCacheBytes = FOVEA_KV_CACHE_BYTES(FOVEA_F32, FOVEA_F32, 1, 1, 5, 1, 1) + FOVEA_ATTENTION_KV_WORKSPACE_BYTES(1, 1),
  kLayerBytes = FOVEA_MULTIHEAD_WORKSPACE_BYTES(1, 1, 1, 1, 1, 1, FOVEA_F32)
};

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
  expect(fovea_version() / 10000 == FOVEA_VERSION_MAJOR && fovea_version() >= FOVEA_VERSION, "the library is of the header's version");
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
  fovea_softmax_args args = {.struct_bytes = sizeof args, .y = out, .x = in, .outer = 1, .axis = 3, .inner = 1};
  args.y_outer_stride = args.x_outer_stride = 3, args.y_axis_stride = args.x_axis_stride = 1;
  expect(fovea_softmax(&args) == FOVEA_OK, "softmax is computed");
  expect(near(out[0], 1.0f / 3.0f) && near(out[2], 1.0f / 3.0f), "softmax of equal numbers is even");
  expect(fovea_log_softmax(&args) == FOVEA_OK, "log-softmax is computed");
  expect(near(out[1], -1.0986123f), "log-softmax of three equal numbers is -log 3");
  expect(fovea_softmax(NULL) == FOVEA_ERR_NULL, "softmax of nothing is refused");
}

/* Queries of zeros weigh all keys alike: with a causal limit, query i answers the mean of the values 0 to i. */
static void attention(void) {
  static float q[kHeads][kTokens][kHeadDim], k[kHeads][kTokens][kHeadDim], v[kHeads][kTokens][kValueDim];
  static float out[kHeads][kTokens][kValueDim];
  static unsigned char memory[FOVEA_ATTENTION_WORKSPACE_BYTES(kHeadDim, kValueDim) + FOVEA_WORKSPACE_ALIGNMENT];
  void* const workspace = aligned(memory);
  const size_t workspace_bytes = FOVEA_ATTENTION_WORKSPACE_BYTES(kHeadDim, kValueDim);
  fovea_attention_desc desc = {.struct_bytes = sizeof desc, .q_heads = kHeads, .kv_heads = kHeads};
  fovea_attention_args args = {.struct_bytes = sizeof args, .batch = 1, .q_tokens = kTokens, .kv_tokens = kTokens};
  fovea_attention_plan plan;
  size_t bytes;
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
  expect(fovea_attention_plan_init(NULL, &desc) == FOVEA_ERR_NULL, "no plan is refused");
  desc.score = (fovea_score)0x80000000u;
  expect(fovea_attention_plan_init(&plan, &desc) == FOVEA_ERR_ENUM, "a number that is no score is refused");
  desc.score = FOVEA_SCORE_SCALED_DOT;
  expect(fovea_attention_plan_init(&plan, &desc) == FOVEA_OK, "a plan is made");
  expect(fovea_attention_workspace_bytes(&plan, &bytes) == FOVEA_OK && bytes > 0 && bytes <= workspace_bytes,
         "the macro is an upper bound");
  expect(fovea_attention_slow_workspace_bytes(&plan, workspace_bytes, &bytes) == FOVEA_OK && bytes == 0,
         "no slow workspace is needed beside it");
  expect(fovea_attention_workspace_bytes_for(&desc, fovea_attention_plan_desc(&plan)->target, &bytes) == FOVEA_OK &&
             bytes > 0,
         "the target's workspace is known");
  expect(fovea_attention_plan_describe(&plan, kTokens, kTokens, text, sizeof text) < sizeof text,
         "the plan's line is short");
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

int main(void) {
  const size_t count = sizeof functions / sizeof functions[0];
  volatile size_t i;
  for (i = 0; i < count; ++i) expect(functions[i] != NULL, "each function is there");
  expect(fovea_linear(NULL, NULL, 0) == FOVEA_ERR_NULL, "the former name of fovea_linear is one, too");
  targets();
  softmax();
  attention();
  printf("%d functions, %d failures\n", (int)count, failures);
  return failures != 0;
}
