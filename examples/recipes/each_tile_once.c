/* SPDX-License-Identifier: Apache-2.0
 *
 * Keys and values in slow memory, and many queries. A loader is asked for each key tile once for each row block, of
 * tile_rows * tiles rows (fovea_attention_kernel): for 512 queries, 11 times on x86. With enough memory for a
 * state of all rows, value_dim + 2 floats each, a program can load each tile only once and push it into a stream. The
 * bits are the same. With an argument the program also measures both. */
#include <string.h>

#include "recipe.h"

enum { DIM = 64, QUERIES = 512, KEYS = 512, TILE = FOVEA_KEY_TILE };

static float flash_keys[KEYS][DIM], flash_values[KEYS][DIM]; /* represents a memory that is slow to read */
static unsigned tiles_read;

static void read_flash(uint32_t first, uint32_t count, void* to_keys, void* to_values) {
  memcpy(to_keys, flash_keys[first], count * sizeof flash_keys[0]);
  memcpy(to_values, flash_values[first], count * sizeof flash_values[0]);
  ++tiles_read;
}

static int start(void* self, const fovea_kv_tile* tile) {
  (void)self;
  read_flash(tile->first, tile->count, tile->keys, tile->values);
  return 0;
}
static const fovea_loader loader = {.start = start};

static _Alignas(FOVEA_WORKSPACE_ALIGNMENT) unsigned char workspace[1 << 20];
static _Alignas(FOVEA_WORKSPACE_ALIGNMENT) unsigned char state_memory[FOVEA_STREAM_STATE_BYTES(QUERIES, DIM)];
static float q[QUERIES][DIM], loaded[QUERIES][DIM], pushed[QUERIES][DIM], keys[TILE][DIM], values[TILE][DIM];

static fovea_attention_plan plan_of(fovea_kv_kind kind) {
  fovea_attention_desc desc = recipe_desc(1, DIM, 1, QUERIES);
  desc.max_kv_tokens = KEYS;
  desc.kv_kind = kind;
  fovea_attention_plan plan;
  recipe_check(fovea_attention_plan_init(&plan, &desc), "fovea_attention_plan_init");
  return plan;
}

static fovea_attention_args args_of(uint32_t kv_tokens, float* out) {
  const fovea_attention_args args = {
      .struct_bytes = sizeof args,
      .batch = 1,
      .q_tokens = QUERIES,
      .kv_tokens = kv_tokens,
      .q = {q, 0, 0, DIM},
      .out = {out, QUERIES * DIM, QUERIES * DIM, DIM},
  };
  return args;
}

static void attend_by_loader(void) {
  const fovea_attention_plan plan = plan_of(FOVEA_KV_LOAD);
  fovea_attention_args args = args_of(KEYS, loaded[0]);
  args.kv.loader = &loader;
  recipe_check(fovea_attention(&plan, &args, workspace, sizeof workspace), "fovea_attention");
}

static void attend_by_stream(void) {
  const fovea_attention_plan plan = plan_of(FOVEA_KV_STRIDED);
  fovea_stream_state* const state = (fovea_stream_state*)state_memory;
  recipe_check(fovea_stream_begin(&plan, state, sizeof state_memory, 1, QUERIES, 0), "fovea_stream_begin");
  fovea_attention_args args = args_of(TILE, pushed[0]);
  args.kv = (fovea_kv_source){.keys = {keys, 0, 0, DIM}, .values = {values, 0, 0, DIM}};
  for (uint32_t first = 0; first < KEYS; first += TILE) {
    read_flash(first, TILE, keys, values);
    recipe_check(fovea_stream_push(&plan, state, &args, workspace, sizeof workspace), "fovea_stream_push");
  }
  recipe_check(fovea_stream_end(&plan, state, &args, workspace, sizeof workspace), "fovea_stream_end");
}

int main(int argc, char** argv) {
  (void)argv;
  RECIPE_FILL(flash_keys), RECIPE_FILL(flash_values), RECIPE_FILL(q);
  const fovea_attention_plan plan = plan_of(FOVEA_KV_LOAD);
  fovea_attention_kernel kernel;
  recipe_check(fovea_attention_plan_kernel(&plan, QUERIES, &kernel), "fovea_attention_plan_kernel");
  const uint32_t block = kernel.tile_rows * kernel.tiles, times = (QUERIES + block - 1) / block;
  attend_by_loader();
  const unsigned by_loader = tiles_read;
  tiles_read = 0;
  attend_by_stream();
  const int right =
      by_loader == times * (KEYS / TILE) && tiles_read == KEYS / TILE && memcmp(loaded, pushed, sizeof loaded) == 0;

  const recipe_rows rows = {DIM, DIM, 1 / sqrt(DIM)};
  static const double bias[KEYS] = {0};
  double worst = right ? 0 : INFINITY;
  for (int i = 0; i < QUERIES; ++i) {
    recipe_worst(&worst, recipe_difference(&rows, pushed[i], q[i], flash_keys[0], flash_values[0], bias, KEYS));
  }
  char what[120];
  snprintf(what, sizeof what, "a loader brings each tile %u times, a stream once", (unsigned)times);
  if (argc > 1) {
    const size_t length = strlen(what);
    snprintf(what + length, sizeof what - length, ", in %.2f of its time",
             recipe_seconds(attend_by_stream) / recipe_seconds(attend_by_loader));
  }
  return recipe_verdict("each_tile_once", what, worst);
}
