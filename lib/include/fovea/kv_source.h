/* fovea/kv_source.h: where attention takes keys and values from: arrays, rings, pages, or a callback.
 *
 * SPDX-License-Identifier: Apache-2.0
 *
 *     #include <fovea/attention.h>
 *     #include <string.h>
 *
 *     static float flash_keys[256][64], flash_values[256][64];  // where the processor's loads do not reach
 *     static float q[64], out[64];
 *     static _Alignas(FOVEA_WORKSPACE_ALIGNMENT) unsigned char workspace[1 << 17];  // as fovea_workspace_bytes says
 *
 *     // With DMA it begins the transfer, and finish waits for its end.
 *     static int start(void* self, const fovea_kv_tile* tile) {
 *       (void)self;
 *       memcpy(tile->keys, flash_keys[tile->first], tile->count * sizeof flash_keys[0]);
 *       memcpy(tile->values, flash_values[tile->first], tile->count * sizeof flash_values[0]);
 *       return 0;
 *     }
 *
 *     int main(void) {
 *       const fovea_loader loader = {.start = start};
 *       fovea_attention_desc desc = {.struct_bytes = sizeof desc, .q_heads = 1, .kv_heads = 1, .head_dim = 64,
 *                                    .value_dim = 64, .max_batch = 1, .max_q_tokens = 1, .max_kv_tokens = 256,
 *                                    .kv_kind = FOVEA_KV_LOAD};
 *       fovea_plan plan;
 *       if (fovea_plan_init(&plan, &desc) != FOVEA_OK) return 1;
 *       fovea_attention_args args = {.struct_bytes = sizeof args, .batch = 1, .q_tokens = 1, .kv_tokens = 256,
 *                                    .q = {.data = q}, .out = {.data = out}, .kv = {.loader = &loader}};
 *       return fovea_attention(&plan, &args, workspace, sizeof workspace);
 *     }
 */
#ifndef FOVEA_KV_SOURCE_H_
#define FOVEA_KV_SOURCE_H_

#include "fovea/base.h"

FOVEA_DECLARATIONS_BEGIN_

/* Where keys and values come from. The choice does not change the bits of the result. */
typedef enum fovea_kv_kind FOVEA_ENUM_TYPE_(unsigned) {
  FOVEA_KV_STRIDED = 0, /* arrays with strides, like the inputs of most libraries */
  FOVEA_KV_RING = 1,    /* a fixed number of slots, which hold some pinned tokens and the newest others */
  FOVEA_KV_PAGED = 2,   /* pages of a pool, in the order of a table */
  FOVEA_KV_LOAD = 3,    /* not in memory: a callback brings a tile at a time */
  FOVEA_KV_KIND_IS_32_BITS = 0x7fffffff
} fovea_kv_kind;

/* A tile of keys and values that a callback has to bring: tokens [first, first + count), at most 64, of one key head of
 * one batch entry. The callback writes dense rows: keys [count][head_dim], values [count][value_dim], and scales, where
 * the format has them, [count] for I8 or [count][groups] for I4. All four arrays are 64-byte aligned and share no 64
 * bytes with the library's own data, so whole cache lines may be cleaned or invalidated. */
typedef struct fovea_kv_tile {
  uint32_t batch, kv_head;
  uint32_t first, count; /* first counts from the first key of the call, also in streams */
  uint32_t worker;       /* of the executor; 0 without one */
  uint32_t buffer;       /* which of the worker's two buffers these are: 0 and 1 by turns, 0 first in a call */
  void *keys, *values;
  void *key_scales, *value_scales; /* NULL where the format has none, or the description has one for all */
} fovea_kv_tile;

/* Brings tiles from where the processor cannot read them: flash on a bus, a file, another core. start begins the
 * transfer and may return before it is done; finish returns when the bytes are there and visible to the processor. The
 * library works one tile ahead: it starts the next tile before it computes with the one just finished, so that transfer
 * and arithmetic overlap. Each worker finishes every tile that it started, in the order of the starts, even when the
 * call fails. Both callbacks return 0, or anything else if the tile cannot be had; then the call ends with
 * FOVEA_ERR_LOAD. They may call the library, with other buffers. The workers of an executor call them side by side.
 * How often. Query rows go through the keys in blocks, and each block asks once for each tile that any of its rows may
 * see. For each key head, an entry has rows = q_heads / kv_heads * (its queries). A block holds tile_rows * tiles of
 * them: fields of the plan's kernel that serves the entry. A block map ends blocks where its blocks of queries end, and
 * asks for listed tiles alone; a modifier of weights asks for each tile twice. Scores out ask for the tiles once more
 * for each tile of query rows. With a window, a tile that holds some pinned tokens is asked for in two parts, and
 * the part behind the pinned tokens is not asked for ahead. To bring each tile once whatever the number of rows, push
 * tiles into a stream: see examples/recipes/each_tile_once.c. */
typedef struct fovea_loader {
  int (*start)(void* self, const fovea_kv_tile* tile);
  int (*finish)(void* self, const fovea_kv_tile* tile); /* optional; NULL = start does not return before it is done */
  void* self;
} fovea_loader;

/* Keys and values. The description names their kind, types and sizes.
 *   strided   [batch][kv_heads][kv_tokens][dim] by the strides of the arrays.
 *   ring      [batch][kv_heads][ring_tokens][dim]. Tokens keep their numbers for ever: kv_tokens, kv_lengths, positions
 *             and masks count all tokens that were ever put in. Token j is in slot j if j < pinned_tokens, else in slot
 *             pinned_tokens + (j - pinned_tokens) % (ring_tokens - pinned_tokens). A query that should see
 *             a token that is gone is refused (FOVEA_ERR_RING), unless hide_gone is set.
 *   paged     a pool [pages][kv_heads][page_tokens][dim]: batch_stride steps from page to page. Token j of entry b is
 *             row j % page_tokens of page page_table[b * page_table_stride + j / page_tokens]. Pages may overlap, and
 *             may be blocks of plain arrays: examples/recipes/neighbourhood.c and cache_batch_idx.c.
 *   load      no arrays: loader brings them. */
typedef struct fovea_kv_source {
  fovea_in keys, values;
  fovea_in key_scales, value_scales; /* I8: one float for each row, unless the description has one for all; I4:
                                        ceil(dim / 32) uint16_t. Else data NULL */

  const uint32_t* first_tokens; /* ring, optional [batch]: the oldest token, apart from pinned ones, that is there. At
                                   most the entry's length, and late enough that the tokens from it on fit
                                   (FOVEA_ERR_LENGTH). NULL = as many tokens are there as fit. That is wrong once tokens
                                   were taken back: a rejected draft has overwritten some,
                                   and only this array shows it */
  const uint32_t* page_table;   /* paged: for each entry as many as its length needs, each < pages (FOVEA_ERR_PAGE) */
  ptrdiff_t page_table_stride;
  uint32_t pages;
  const fovea_loader* loader;

  /* Optional [kv_heads][head_dim]: what was subtracted from every key of a head (see fovea_kv_cache). The softmax does
   * not see it. What does see it is as if nothing had been subtracted, with FOVEA_COMPUTE_I8 and queries of F32 or I8,
   * and else refused (FOVEA_ERR_UNSUPPORTED): softcap, modifiers of scores, sinks, lse, scores out before the softmax,
   * and streams. Additive scores are refused. */
  const float* key_center;
} fovea_kv_source;

FOVEA_DECLARATIONS_END_

#endif /* FOVEA_KV_SOURCE_H_ */
