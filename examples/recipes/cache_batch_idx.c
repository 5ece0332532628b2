/* SPDX-License-Identifier: Apache-2.0
 *
 * flash_attn_with_kvcache of FlashAttention. Its cache_batch_idx has the cache entry of each query, cache_seqlens the
 * number of tokens of the entry, and cache_leftpad how many of them, at the beginning, are padding. Each entry of the
 * cache is one page: then cache_batch_idx is the page table. A row of a byte mask for each entry hides the padding. (If
 * the indices grow by equal steps, strides are enough, without a table.) */
#include "recipe.h"

enum { Q_HEADS = 4, KV_HEADS = 2, DIM = 32, ENTRIES = 6, MOST = 128, BATCH = 3, TOKEN = KV_HEADS * DIM };

static const uint32_t cache_batch_idx[BATCH] = {4, 0, 5}, cache_seqlens[BATCH] = {100, 17, 128};
static const uint32_t cache_leftpad[BATCH] = {0, 3, 70};

static _Alignas(FOVEA_WORKSPACE_ALIGNMENT) unsigned char workspace[FOVEA_ATTENTION_KV_WORKSPACE_BYTES(DIM, DIM)];
static float keys[ENTRIES][MOST][KV_HEADS][DIM], values[ENTRIES][MOST][KV_HEADS][DIM];
static float q[BATCH][Q_HEADS][DIM], out[BATCH][Q_HEADS][DIM];
static uint8_t lines[BATCH][MOST];

static void attend(void) {
  fovea_attention_desc desc = recipe_desc(Q_HEADS, DIM, BATCH, 1);
  desc.kv_heads = KV_HEADS;
  desc.kv_kind = FOVEA_KV_PAGED;
  desc.max_kv_tokens = desc.page_tokens = MOST;
  const fovea_attention_args args = {
      .struct_bytes = sizeof args,
      .batch = BATCH,
      .q_tokens = 1,
      .kv_tokens = MOST,
      .kv_lengths = cache_seqlens,
      .q = {q, Q_HEADS * DIM, DIM, 0},
      .out = {out, Q_HEADS * DIM, DIM, Q_HEADS * DIM},
      .kv = {.keys = {keys, MOST * TOKEN, DIM, TOKEN},
             .values = {values, MOST * TOKEN, DIM, TOKEN},
             .page_table = cache_batch_idx,
             .page_table_stride = 1,
             .pages = ENTRIES},
      .mask = {.kind = FOVEA_MASK_BYTE, .data = lines, .batch_stride = MOST},
  };
  recipe_attend(&desc, &args, workspace, sizeof workspace);
}

int main(void) {
  RECIPE_FILL(q), RECIPE_FILL(keys), RECIPE_FILL(values);
  for (int b = 0; b < BATCH; ++b) {
    for (uint32_t j = 0; j < MOST; ++j) lines[b][j] = j >= cache_leftpad[b];
  }
  attend();
  const recipe_rows rows = {DIM, TOKEN, 1 / sqrt(DIM)};
  double worst = 0, bias[MOST];
  for (int b = 0; b < BATCH; ++b) {
    const uint32_t entry = cache_batch_idx[b];
    for (uint32_t j = 0; j < MOST; ++j) bias[j] = j >= cache_leftpad[b] && j < cache_seqlens[b] ? 0 : -INFINITY;
    for (int h = 0; h < Q_HEADS; ++h) {
      const int kv = h / (Q_HEADS / KV_HEADS);
      recipe_worst(&worst,
                   recipe_difference(&rows, out[b][h], q[b][h], keys[entry][0][kv], values[entry][0][kv], bias, MOST));
    }
  }
  return recipe_verdict("cache_batch_idx", "entries 4, 0, 5 of 6, two of them padded on the left", worst);
}
