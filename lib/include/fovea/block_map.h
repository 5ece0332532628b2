/* fovea/block_map.h: which blocks of keys a block of queries looks at.
 *
 * SPDX-License-Identifier: Apache-2.0
 *
 *     #include <fovea/block_map.h>
 *
 *     static uint32_t offsets[4 + 1], blocks[4 * 4];  // a list of at most 4 blocks of keys for each of 4 of queries
 *
 *     // Queries see the keys of their own block, and those of the first: as documents behind a common prompt do.
 *     static fovea_block_kind classify(void* self, const fovea_block* block) {
 *       (void)self;
 *       if (block->first_key == 0 || block->first_key == block->first_query) return FOVEA_BLOCK_SEEN;
 *       return FOVEA_BLOCK_HIDDEN;
 *     }
 *
 *     int main(void) {
 *       fovea_block_map_args args = {.struct_bytes = sizeof args, .batch = 1, .q_heads = 1, .kv_heads = 1,
 *                                    .q_tokens = 256, .kv_tokens = 256, .q_block = 64, .kv_block = 64,
 *                                    .classify = classify, .offsets = offsets, .blocks = blocks, .most_blocks = 16};
 *       fovea_block_map map;  // for fovea_attention_args.block_map
 *       if (fovea_block_map_make(&args, &map) != FOVEA_OK) return 1;
 *       return map.block_count == 1 + 3 * 2 ? 0 : 1;
 *     }
 */
#ifndef FOVEA_BLOCK_MAP_H_
#define FOVEA_BLOCK_MAP_H_

#include "fovea/base.h"

FOVEA_DECLARATIONS_BEGIN_

/* Which blocks of keys a block of queries looks at: what is skipped costs no time. A list for each block of queries
 * names the blocks of keys, in rising order (compressed sparse rows):
 *     list r of entry b and key head h:   blocks[i],  i from offsets[r] up to, but without, offsets[r + 1],
 *                                         with offsets from b * batch_stride + h * head_stride on
 * Each number is that of a block of keys, plus FOVEA_BLOCK_ALL where no query of the block needs the mask: there the
 * mask is not read. In the other listed blocks the mask decides, and where the call has none all keys are seen. Limits
 * by position, lengths and causal decide in all blocks, and so does the count of keys that a mask covers: keys from
 * mask.kv_tokens on are hidden in blocks with FOVEA_BLOCK_ALL, too. Keys in blocks that are not listed are hidden.
 * Bits. With portable_bits they are those of a mask that hides the same keys; without, blocks of few queries may take
 * the kernel that is faster for them. Time depends on shapes and maps alone.
 * Served with all kinds of keys, and in streams where the state's next_key is a multiple of 64
 * (FOVEA_ERR_UNSUPPORTED); blocks are then counted from the first key of the push. fovea_block_map_make makes maps. */
#define FOVEA_BLOCK_ALL 0x80000000u
typedef struct fovea_block_map {
  uint32_t q_block;  /* queries in a block, at least 1, counted from the first of each entry; the last may have fewer.
                        The queries of a block go through the kernel together. Where q_block times the query heads
                        of a key head is a multiple of 48, tiles are full on every target */
  uint32_t kv_block; /* keys in a block: a multiple of 64 (FOVEA_ERR_MAP) */
  const uint32_t* offsets; /* [batch][kv_heads][blocks of queries + 1]: never fall, and end within block_count; the
                              blocks of queries are those of the entry with most queries */
  ptrdiff_t batch_stride, head_stride; /* 0 = the same lists for all */
  const uint32_t* blocks;  /* [block_count]: numbers below ceil(keys / kv_block), with the keys of the call, or if keys
                              are ragged those of the longest entry, where kv_lengths make entries shorter */
  uint32_t block_count;
} fovea_block_map;

/* What a block of queries sees of a block of keys. */
typedef enum fovea_block_kind FOVEA_ENUM_TYPE_(unsigned) {
  FOVEA_BLOCK_HIDDEN = 0, /* nothing: the block is skipped */
  FOVEA_BLOCK_MIXED = 1,  /* what the mask shows */
  FOVEA_BLOCK_SEEN = 2,   /* every query sees every key */
  FOVEA_BLOCK_KIND_IS_32_BITS = 0x7fffffff
} fovea_block_kind;

/* A block of queries and one of keys: queries [first_query, first_query + queries) and keys [first_key, first_key +
 * keys). */
typedef struct fovea_block {
  uint32_t batch, kv_head;
  uint32_t first_query, queries;
  uint32_t first_key, keys;
} fovea_block;

/* The arguments of fovea_block_map_make. Set all to 0 first, then fill in. */
typedef struct fovea_block_map_args {
  uint32_t struct_bytes; /* sizeof(fovea_block_map_args) */

  /* Counts. A batch of 1 makes lists for all entries, kv_heads of 1 lists for all heads; kv_heads divides q_heads
   * (FOVEA_ERR_HEADS); at most 2^30 tokens (FOVEA_ERR_SIZE). */
  uint32_t batch, q_heads, kv_heads, q_tokens, kv_tokens;
  uint32_t q_block, kv_block; /* as in the map (FOVEA_ERR_MAP) */

  /* One of the two (FOVEA_ERR_NULL, FOVEA_ERR_UNSUPPORTED). */
  fovea_in mask; /* uint8_t [batch][q_heads][q_tokens][kv_tokens], as FOVEA_MASK_BYTE: a block is seen where all heads
                    of the group see all of it, and hidden where none sees any of it */
  fovea_block_kind (*classify)(void* self, const fovea_block* block); /* called for each block, once to count and once
                    more to make, with the same answer (FOVEA_ERR_ENUM) */
  void* self;    /* for classify */

  /* The memory of the lists. */
  uint32_t* offsets;    /* required: [batch][kv_heads][ceil(q_tokens / q_block) + 1] */
  uint32_t* blocks;     /* [most_blocks] */
  uint32_t most_blocks; /* at most batch * kv_heads * ceil(q_tokens / q_block) * ceil(kv_tokens / kv_block) are needed
                           (FOVEA_ERR_CAPACITY) */
} fovea_block_map_args;

/* Makes a map in the memory of the arguments, to which it then refers. */
fovea_status fovea_block_map_make(const fovea_block_map_args* args, fovea_block_map* map);

/* How many blocks the map has, for most_blocks: offsets and blocks are not looked at. 0 for arguments that are not
 * valid. */
uint32_t fovea_block_map_count(const fovea_block_map_args* args);

FOVEA_DECLARATIONS_END_

#endif /* FOVEA_BLOCK_MAP_H_ */
