/* fovea/kv_source.h: where attention takes keys and values from: arrays, rings, pages, or a callback.
 *
 * SPDX-License-Identifier: Apache-2.0
 *
 *     #include <fovea/attention.h>
 *     #include <string.h>
 *
 *     static float flash_keys[256][64], flash_values[256][64];  // memory that the processor cannot read directly
 *     static float q[64], out[64];
 *     static _Alignas(FOVEA_WORKSPACE_ALIGNMENT) unsigned char workspace[1 << 17];  // enough for the plan
 *
 *     // With DMA, start would begin the transfer, and a second function, finish, would wait for its end.
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
 *       fovea_attention_plan plan;
 *       if (fovea_attention_plan_init(&plan, &desc) != FOVEA_OK) return 1;
 *       fovea_attention_args args = {.struct_bytes = sizeof args, .batch = 1, .q_tokens = 1, .kv_tokens = 256,
 *                                    .q = {.data = q}, .out = {.data = out}, .kv = {.loader = &loader}};
 *       return fovea_attention(&plan, &args, workspace, sizeof workspace);
 *     }
 *
 * A source says where fovea_attention takes keys and values from: the description names its kind (kv_kind), formats and
 * sizes, and fovea_kv_source in the arguments names its arrays or its loader. The bits of the result do not depend on
 * the kind. The conventions of base.h hold. Rows that a query does not see may hold NaN (attention.h). */
#ifndef FOVEA_KV_SOURCE_H_
#define FOVEA_KV_SOURCE_H_

#include "fovea/base.h"

FOVEA_DECLARATIONS_BEGIN_

/* The kinds of sources. "The arrays of each kind", above fovea_kv_source, has their layout. */
FOVEA_ENUM_(fovea_kv_kind, uint32_t) {
  FOVEA_KV_STRIDED = 0, /* arrays with strides, like the inputs of most libraries */
  FOVEA_KV_RING = 1,    /* a fixed number of slots, which hold the pinned tokens and the newest others */
  FOVEA_KV_PAGED = 2,   /* pages of a pool, in the order of a table */
  FOVEA_KV_LOAD = 3,    /* no arrays: a loader brings one tile at a time */
};

/* Which rows are stored rotated: by fovea_hadamard, with block = 0 and the description's hadamard_seed as its seed. A
 * fovea_kv_cache rotates what is appended to it. layers.h says why codes of few bits are then better.
 *   keys     A call rotates its queries in the same way. FOVEA_ERR_UNSUPPORTED for queries of I8 and additive scores
 *   values   A call takes the rotation of its outputs back; a stream does so in fovea_stream_end. FOVEA_ERR_UNSUPPORTED
 *            for outputs that are not F32, and with value_channel_scales
 *   bits     are those that you get where you call fovea_hadamard yourself, for queries before a call without
 *            rotation, and with `inverse` for its outputs */
FOVEA_ENUM_(fovea_hadamard_rows, uint32_t) {
  FOVEA_HADAMARD_NONE = 0,
  FOVEA_HADAMARD_KEYS = 1,
  FOVEA_HADAMARD_VALUES = 2,
  FOVEA_HADAMARD_BOTH = 3,
};

/* --------------------------------------------------------------------------------------------------------- loaders */

/* A tile that a loader must bring: the keys and values of tokens [first, first + count), at most 64, of one key head of
 * one entry. The loader writes dense rows, as base.h describes those of the format: keys [count][head_dim], values
 * [count][value_dim], and scales, float [count] for I8 or uint16_t [count][ceil(dim / 32)] for I4. All four arrays are
 * 64-byte aligned. They share no 64 bytes with the library's own data, so the loader may clean or invalidate whole
 * cache lines. */
typedef struct fovea_kv_tile {
  uint32_t batch, kv_head;         /* the entry and the key head */
  uint32_t first, count;           /* first counts from the first key of the call, also in streams */
  uint32_t worker;                 /* of the executor; 0 without one */
  uint32_t buffer;                 /* which of the worker's two buffers: 0 and 1 alternately, 0 first in a call */
  void *keys, *values;             /* where the rows go */
  void *key_scales, *value_scales; /* NULL where the format has none, or the description has one for all */
} fovea_kv_tile;

/* A loader brings tiles from where the processor cannot read them: flash on a bus, a file, another core.
 *   start     begins the transfer of a tile, and may return before it is done
 *   finish    returns when the tile's bytes are stored and visible to the processor
 *   result    of both: 0, or any other number if the tile cannot be brought. The call then ends with FOVEA_ERR_LOAD
 *   order     The library works one tile ahead: it starts the next tile, then computes with the tile that was just
 *             finished. So transfer and arithmetic overlap. Each worker finishes every tile that it started, in the
 *             order of the starts, even when the call fails.
 *   calls     start and finish may call the library, with other buffers. The workers of an executor may call them at
 *             the same time.
 *
 * How often a tile is brought. Query rows go through the keys in row blocks. Each row block asks once for each tile
 * that any of its rows may see. For each key head an entry has q_heads / kv_heads * (its queries) rows. A row block has
 * tile_rows * tiles of them: fovea_attention_plan_kernel names both.
 *   block map            ends row blocks where its blocks of queries end, and only listed tiles are asked for
 *   modifier of weights  Each row block asks twice.
 *   scores out           In addition, each query tile asks for the tiles that its rows may see.
 *   window_left          A tile that has pinned tokens and others is asked for twice, once for each; for the others not
 *                        ahead.
 * To bring each tile once for any number of rows, push tiles into a stream: see examples/recipes/each_tile_once.c. */
typedef struct fovea_loader {
  int (*start)(void* self, const fovea_kv_tile* tile);  /* required (FOVEA_ERR_NULL). Not 0 = it failed */
  int (*finish)(void* self, const fovea_kv_tile* tile); /* optional; NULL = the transfer is done when start returns */
  void* self;                                           /* for both */
} fovea_loader;

/* ----------------------------------------------------------------------------------------- the arrays of each kind */

/* A prefix: keys and values of an entry that come before those of its source. They may be const, in flash or in another
 * entry's rows, and are read where they are: no copy. fovea_kv_image_prefix makes one of an image. */
typedef struct fovea_kv_prefix {
  uint32_t struct_bytes; /* sizeof(fovea_kv_prefix) */
  uint32_t tokens;       /* up to max_prefix_tokens (FOVEA_ERR_CAPACITY). Multiples of 64 are fastest */
  fovea_in keys, values; /* [kv_heads][tokens][dim], in the source's formats. Batch strides are not read, nor below */
  fovea_in key_scales, value_scales; /* as those of the source */
} fovea_kv_prefix;

/* Keys and values. The description names their kind, formats and sizes.
 *   strided   [batch][kv_heads][kv_tokens][dim], by the strides of the arrays.
 *   ring      [batch][kv_heads][ring_tokens][dim]. Token j is in slot j if j < pinned_tokens, else in slot
 *             pinned_tokens + (j - pinned_tokens) % (ring_tokens - pinned_tokens). A token keeps its number j for ever:
 *             kv_tokens, kv_lengths, first_positions and masks count all tokens that were ever put in. A query that
 *             should see a token that is gone is refused (FOVEA_ERR_RING), unless allow_evicted is set: "Rings" in
 *             attention.h.
 *   paged     a pool [pages][kv_heads][page_tokens][dim]: batch_stride is from a page to the next. Token j of entry b
 *             is row j % page_tokens of page page_table[b * page_table_stride + j / page_tokens]. Pages may overlap,
 *             and may be parts of plain arrays: examples/recipes/neighbourhood.c and cache_batch_idx.c.
 *   load      no arrays: loader brings them.
 *
 * Centred keys. key_center is what was subtracted from keys before they were stored: fovea_kv_cache says why. This
 * changes all scores of a query by the same number, which the softmax does not see. Some options do: softcap, modifiers
 * of scores, sinks, lse, scores out before the softmax, and streams. With FOVEA_COMPUTE_I8 and queries of F32 or I8
 * these give what they give for the whole keys. Otherwise they are refused, and additive scores always are
 * (FOVEA_ERR_UNSUPPORTED).
 *
 * Prefixes. With `prefixes` an entry's tokens are those of its prefix, then those of its source. Positions, windows,
 * masks, block maps, scores and key_mass count all of them; where these say kv_tokens they have kv_tokens +
 * max_prefix_tokens columns, however long the prefixes are. Only kv_tokens, kv_lengths, max_kv_tokens, ring_tokens,
 * first_tokens and page_table count the source's own tokens, as fovea_kv_compact does. When own tokens are appended,
 * rope's position_offset has the prefix's tokens. A key_center was subtracted from both. The bits are those of one
 * source with all tokens, but for a ring that has lost some.
 *   refused   max_prefix_tokens with a loader, or with a ring that has pinned_tokens; prefixes without
 *             max_prefix_tokens, in streams, with kv_offsets, and for scores before MASKED (FOVEA_ERR_UNSUPPORTED)
 *   batches   Entries that follow one another and name the same prefix, of at least 64 tokens, read its key tiles once
 *             for all of them, in calls with at most 32 query rows for a key head of an entry and with neither scores,
 *             key_mass, a block map, q_offsets, a modifier of weights nor key_split_tokens. Plans with max_batch above
 *             1 have workspace for this, if their budget does; builds for size do not share */
typedef struct fovea_kv_source {
  fovea_in keys, values;             /* required, but not for a loader. Strides count bytes in I4 and ggml's formats */
  fovea_in key_scales, value_scales; /* I8: one float for each row, unless the description has one for all; I4:
                                        ceil(dim / 32) uint16_t for each row; strides count these. Else data NULL */

  const uint32_t* first_tokens; /* ring, optional [batch]: the oldest token, apart from pinned ones, that is still
                                   there. At most the entry's length, and late enough that the tokens from it on fit
                                   (FOVEA_ERR_LENGTH). NULL = the newest tokens that fit are all there. Required once
                                   tokens were taken back: only this array says what a rejected draft has overwritten */
  const uint32_t* page_table;   /* paged: a page for every page_tokens tokens of an entry's length, each < pages
                                   (FOVEA_ERR_PAGE) */
  ptrdiff_t page_table_stride;  /* from an entry to the next, in elements of page_table */
  uint32_t pages;               /* of the pool */
  const fovea_loader* loader;   /* load: required (FOVEA_ERR_NULL) */

  const float* key_center; /* optional [kv_heads][head_dim]: what was subtracted from every key of a head. See "Centred
                              keys" above */
  const fovea_kv_prefix* const* prefixes; /* optional [batch], up to max_prefix_tokens of the description: an entry's
                                             prefix, or NULL. See "Prefixes" above */
} fovea_kv_source;

FOVEA_DECLARATIONS_END_

#endif /* FOVEA_KV_SOURCE_H_ */
