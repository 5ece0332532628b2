/* fovea/block_map.h: block maps: which blocks of keys a block of queries sees.
 *
 * SPDX-License-Identifier: Apache-2.0
 *
 *     #include <fovea/block_map.h>
 *
 *     static uint32_t offsets[4 + 1], blocks[4 * 4];  // 4 lists, each of at most 4 blocks of keys
 *
 *     // Queries see the keys of their own block and of the first block: documents that follow a common prompt.
 *     static fovea_block_kind classify(void* self, const fovea_block* block) {
 *       (void)self;
 *       if (block->first_key == 0 || block->first_key == block->first_query) return FOVEA_BLOCK_FULL;
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
 *
 * A block map divides the queries and the keys of fovea_attention into map blocks. For each block of queries it lists
 * the blocks of keys that are computed: sum_j of a query is over the keys of the listed blocks. The other blocks take
 * no time. fovea_block_map_make makes a map of a mask or of a function; a program may also fill in fovea_block_map
 * itself. The conventions of base.h hold. A query without a visible key has the result that attention.h states. */
#ifndef FOVEA_BLOCK_MAP_H_
#define FOVEA_BLOCK_MAP_H_

#include "fovea/base.h"

FOVEA_DECLARATIONS_BEGIN_

/* ------------------------------------------------------------------------------------------------------ block maps */

/* Added to the number of a listed block of keys: the mask is not read there. */
#define FOVEA_BLOCK_ALL 0x80000000u
/* A block map: for each block of queries a list of blocks of keys, in rising order (compressed sparse rows):
 *     list r of entry b and key head h:   blocks[i], offsets[r] <= i < offsets[r + 1],
 *                                         where offsets begins at b * batch_stride + h * head_stride
 *
 * What a query sees. Keys in blocks that are not listed are hidden. In a listed block the mask decides, and without a
 * mask all its keys are seen. In a listed block with FOVEA_BLOCK_ALL the mask is not read. Positions, lengths and the
 * causal limit hide keys in all blocks. So does the count of keys that the mask covers: keys from mask.kv_tokens on are
 * hidden in blocks with FOVEA_BLOCK_ALL, too.
 *
 * Where. Block maps serve all kinds of sources. In streams they need a state whose next_key is a multiple of 64
 * (FOVEA_ERR_UNSUPPORTED); blocks are then counted from the first key of the push.
 *
 * Bits. With portable_bits they are the bits of a mask that hides the same keys. Without, a block of few queries may
 * take the kernel that is faster for them. Time depends on shapes and maps alone. */
typedef struct fovea_block_map {
  uint32_t q_block;  /* queries in a block, at least 1 (FOVEA_ERR_MAP), counted from the first of each entry; the last
                        block may have fewer. The queries of a block go through the kernel together. Where q_block times
                        the query heads of a key head is a multiple of 48, tiles are full on every target */
  uint32_t kv_block; /* keys in a block: a multiple of 64, not 0 (FOVEA_ERR_MAP) */
  const uint32_t* offsets; /* [batch][kv_heads][blocks of queries + 1], with the blocks of queries of the entry that has
                              most queries. Offsets never fall, and are at most block_count (FOVEA_ERR_MAP) */
  ptrdiff_t batch_stride, head_stride; /* of offsets, in elements; 0 = the same lists for all */
  const uint32_t* blocks; /* [block_count]: numbers below ceil(keys / kv_block) (FOVEA_ERR_MAP). keys is the call's
                              kv_tokens; with kv_offsets, the keys of the longest entry, after kv_lengths */
  uint32_t block_count;   /* elements of blocks */
} fovea_block_map;

/* ---------------------------------------------------------------------------------------------------- making a map */

/* What a block of queries sees of a block of keys. */
FOVEA_ENUM_(fovea_block_kind, uint32_t) {
  FOVEA_BLOCK_HIDDEN = 0,  /* nothing: the block is skipped */
  FOVEA_BLOCK_PARTIAL = 1, /* the keys that the mask shows */
  FOVEA_BLOCK_FULL = 2,    /* every query sees every key */
};

/* A block of queries and a block of keys: queries [first_query, first_query + queries) and keys [first_key, first_key +
 * keys). */
typedef struct fovea_block {
  uint32_t batch, kv_head;       /* the entry and the key head */
  uint32_t first_query, queries; /* of the entry, and their count */
  uint32_t first_key, keys;      /* of the entry, and their count */
} fovea_block;

/* The arguments of fovea_block_map_make. Set all to 0 first, then fill in. */
typedef struct fovea_block_map_args {
  uint32_t struct_bytes; /* sizeof(fovea_block_map_args) */

  /* Counts. A batch of 1 makes lists for all entries, kv_heads of 1 lists for all heads. Heads are at least 1
   * (FOVEA_ERR_DIM), kv_heads divides q_heads (FOVEA_ERR_HEADS); at most 2^30 tokens (FOVEA_ERR_SIZE). */
  uint32_t batch, q_heads, kv_heads, q_tokens, kv_tokens;
  uint32_t q_block, kv_block; /* as in the map (FOVEA_ERR_MAP) */

  /* A mask or a function: FOVEA_ERR_NULL without either, FOVEA_ERR_UNSUPPORTED with both. */
  fovea_in mask; /* uint8_t [batch][q_heads][q_tokens][kv_tokens], as FOVEA_MASK_BYTE: a block is seen where all heads
                    of the head group see all of it, and hidden where none sees any of it */
  fovea_block_kind (*classify)(void* self, const fovea_block* block); /* is called twice for each block, to count and to
                    make, and returns the same both times. FOVEA_ERR_ENUM for a value that is no kind */
  void* self;                                                         /* for classify */

  /* The memory of the lists. */
  uint32_t* offsets;    /* required: [batch][kv_heads][ceil(q_tokens / q_block) + 1] */
  uint32_t* blocks;     /* [most_blocks] */
  uint32_t most_blocks; /* room for as many blocks as the map has (FOVEA_ERR_CAPACITY): never more than batch * kv_heads
                           * ceil(q_tokens / q_block) * ceil(kv_tokens / kv_block) */
  uint32_t reserved;    /* 0 (FOVEA_ERR_STRUCT): for later versions */
} fovea_block_map_args;

/* Makes a map. Its lists are in the memory of the arguments, to which the map points. */
fovea_status fovea_block_map_make(const fovea_block_map_args* args, fovea_block_map* map);

/* Writes how many blocks the map will list, for most_blocks. offsets and blocks are not read. */
fovea_status fovea_block_map_count(const fovea_block_map_args* args, uint32_t* count);

FOVEA_DECLARATIONS_END_

#endif /* FOVEA_BLOCK_MAP_H_ */
