/* fovea/workspace.h: the sizes of workspaces, states and caches as constant expressions, for static arrays.
 *
 * SPDX-License-Identifier: Apache-2.0
 *
 *     #include <fovea/attention.h>
 *     #include <stdio.h>
 *
 *     // The first is enough for any counts of tokens and heads, the second where each key head has one query row.
 *     static _Alignas(FOVEA_WORKSPACE_ALIGNMENT) unsigned char any[FOVEA_ATTENTION_WORKSPACE_BYTES(64, 64)];
 *     static _Alignas(FOVEA_WORKSPACE_ALIGNMENT) unsigned char
 *         decoding[FOVEA_ATTENTION_WORKSPACE_BYTES_FOR(64, 64, 1)];
 *
 *     int main(void) {
 *       fovea_attention_desc desc = {.struct_bytes = sizeof desc, .q_heads = 1, .kv_heads = 1, .head_dim = 64,
 *                                    .value_dim = 64, .max_batch = 1, .max_q_tokens = 1, .max_kv_tokens = 1024};
 *       fovea_attention_plan plan;
 *       size_t needed;
 *       if (fovea_attention_plan_init(&plan, &desc) != FOVEA_OK ||
 *           fovea_attention_workspace_bytes(&plan, &needed) != FOVEA_OK) return 1;
 *       printf("%zu of %zu bytes at %p; any counts: %zu at %p\n", needed, sizeof decoding, (void*)decoding,
 *              sizeof any, (void*)any);
 *       return needed <= sizeof decoding && sizeof decoding <= sizeof any ? 0 : 1;
 *     }
 *
 * The comment of each macro names the function whose result it bounds, and the parameters. The macro of a state gives
 * exactly the result of its function; the macros of workspaces and of the cache give at least as much. Then a static
 * array is
 *     static _Alignas(FOVEA_WORKSPACE_ALIGNMENT) unsigned char workspace[FOVEA_ATTENTION_WORKSPACE_BYTES(64, 64)];
 * (_Alignas is C11; in C99 use the compiler's attribute.) What holds for all macros of workspaces:
 *   target    The bound holds for all targets of the architecture that the program is compiled for. Compile the program
 *             for the same processor as the library: the macros ask the compiler which vector unit there is.
 *   workers   One worker. For each further worker add as much again.
 *   budget    None. With a budget a call needs less; ask the function.
 *   counts    Any counts of entries, heads, tokens and outputs that are not parameters. */
#ifndef FOVEA_WORKSPACE_H_
#define FOVEA_WORKSPACE_H_

#include "fovea/base.h"

/* ----------------------------------------------------------------------------------------------------------- tiles */

/* The sizes of tiles that the macros count with. Your compiler's flags choose them: on x86, if the library is compiled
 * for AVX512-FP16, compile your program for it, too, or ask the functions. Else a workspace may be too small, and is
 * refused.
 *   FOVEA_TILE_ROWS_MAX   most query rows of a query tile on any target of the architecture
 *   FOVEA_BLOCK_ROWS_MAX  most query rows of a row block, which share each key tile that is converted or gathered for
 *                         them: the rows of up to four query tiles
 *   FOVEA_KEY_TILE        keys in a key tile, on every target
 * Targets of one lane convert or gather a key tile in pieces, to need little memory:
 *   FOVEA_PIECE_KEYS      keys in a piece of the keys
 *   FOVEA_PIECE_ELEMENTS  elements of each value in a piece of the values */
#if defined(__AVX512FP16__) /* a vector has 32 halves */
#define FOVEA_TILE_ROWS_MAX 96
#define FOVEA_BLOCK_ROWS_MAX 96
#elif defined(__x86_64__) || defined(_M_X64) || defined(__i386__) || defined(__riscv_vector) || \
    (defined(FOVEA_SIMD_LANES) && FOVEA_SIMD_LANES > 1)
#define FOVEA_TILE_ROWS_MAX 48
#define FOVEA_BLOCK_ROWS_MAX 48
#elif defined(__ARM_NEON) && !defined(__aarch64__)
#define FOVEA_TILE_ROWS_MAX 24
#define FOVEA_BLOCK_ROWS_MAX 48
#elif defined(__ARM_NEON) || defined(__ARM_FEATURE_MVE) || defined(__wasm_simd128__)
#define FOVEA_TILE_ROWS_MAX 12
#define FOVEA_BLOCK_ROWS_MAX 48
#else
#define FOVEA_TILE_ROWS_MAX 4
#define FOVEA_BLOCK_ROWS_MAX 16
#endif
#define FOVEA_KEY_TILE 64
#define FOVEA_PIECE_KEYS 16
#define FOVEA_PIECE_ELEMENTS 8

/* --------------------------------------------------------------------------------------------- sizes for attention */

/* These six bound fovea_attention_workspace_bytes for plans without key_split_tokens and without a loader; with
 * max_prefix_tokens only where max_batch is 1.
 *   head_dim   elements of a query and of a key
 *   value_dim  elements of a value and of an output row
 *   rows       in the macros that end in _FOR: the query rows that share a key head, max_q_tokens * q_heads / kv_heads,
 *              at least 1. For few rows, as in decoding, this is less than the macro without rows.
 *
 * Which one. FOVEA_ATTENTION_WORKSPACE_BYTES where keys and values are f32 in strided arrays.
 * FOVEA_ATTENTION_KV_WORKSPACE_BYTES where they have another format, with FOVEA_COMPUTE_F16, too, or are in a ring, in
 * pages or after a prefix: key tiles are then converted or gathered for several query tiles.
 * FOVEA_ATTENTION_I8_WORKSPACE_BYTES with FOVEA_COMPUTE_I8, for any of these sources. */
#define FOVEA_ATTENTION_WORKSPACE_BYTES(head_dim, value_dim) \
  FOVEA_WORKSPACE_BYTES_FOR_ROWS_(head_dim, value_dim, FOVEA_TILE_ROWS_MAX)
/* Keys and values of another format than f32, in a ring or in pages: see above. */
#define FOVEA_ATTENTION_KV_WORKSPACE_BYTES(head_dim, value_dim)                           \
  (4u * FOVEA_WORKSPACE_BYTES_FOR_ROWS_(head_dim, value_dim, FOVEA_BLOCK_ROWS_MAX / 4u) + \
   FOVEA_KV_STAGE_BYTES_(head_dim, value_dim))
/* FOVEA_ATTENTION_WORKSPACE_BYTES and FOVEA_ATTENTION_KV_WORKSPACE_BYTES for a known number of query rows. */
#define FOVEA_ATTENTION_WORKSPACE_BYTES_FOR(head_dim, value_dim, rows)                                     \
  FOVEA_LARGER_(                                                                                           \
      FOVEA_WORKSPACE_BYTES_FOR_ROWS_(head_dim, value_dim, FOVEA_LINEAR_ROWS_(rows, FOVEA_TILE_ROWS_MAX)), \
      FOVEA_FEW_ROWS_BYTES_(head_dim, value_dim, (rows) < FOVEA_FEW_ROWS_MAX_ ? (rows) : FOVEA_FEW_ROWS_MAX_))
#define FOVEA_ATTENTION_KV_WORKSPACE_BYTES_FOR(head_dim, value_dim, rows) \
  ((rows) > FOVEA_FEW_ROWS_MAX_                                           \
       ? FOVEA_ATTENTION_KV_WORKSPACE_BYTES(head_dim, value_dim)          \
       : FOVEA_ATTENTION_WORKSPACE_BYTES_FOR(head_dim, value_dim, rows) + FOVEA_KV_STAGE_BYTES_(head_dim, value_dim))

/* What to add to any of these where the description has rotated keys. */
#define FOVEA_ATTENTION_HADAMARD_WORKSPACE_BYTES(head_dim) \
  FOVEA_ALIGN_UP_(FOVEA_SIZE_(head_dim) * FOVEA_TILE_ROWS_MAX * 4u)

/* The same where it has key_mass_queries. kv_tokens is max_kv_tokens, or in a ring ring_tokens, and with prefixes
 * max_prefix_tokens more; rows is max_q_tokens * q_heads / kv_heads. */
#define FOVEA_ATTENTION_KEY_MASS_WORKSPACE_BYTES(kv_tokens, rows)                            \
  ((FOVEA_SIZE_(kv_tokens) / FOVEA_KEY_TILE + FOVEA_KEY_MASS_MORE_TILES_) * 4u *             \
       (FOVEA_KEY_MASS_ROWS_(rows) * (FOVEA_KEY_TILE + 1u) + 4u * (4u + FOVEA_LANES_MAX_)) + \
   4u * 64u)

/* FOVEA_COMPUTE_I8, for any number of query rows and for a known one: see above. */
#define FOVEA_ATTENTION_I8_WORKSPACE_BYTES(head_dim, value_dim)                                         \
  (4u * FOVEA_WORKSPACE_BYTES_FOR_ROWS_(FOVEA_I8_HEAD_DIM_(head_dim), value_dim, FOVEA_TILE_ROWS_MAX) + \
   FOVEA_I8_BYTES_(head_dim, value_dim, 4u * FOVEA_TILE_ROWS_MAX))
#define FOVEA_ATTENTION_I8_WORKSPACE_BYTES_FOR(head_dim, value_dim, rows)                     \
  ((rows) > FOVEA_FEW_ROWS_MAX_                                                               \
       ? FOVEA_ATTENTION_I8_WORKSPACE_BYTES(head_dim, value_dim)                              \
       : FOVEA_ATTENTION_WORKSPACE_BYTES_FOR(FOVEA_I8_HEAD_DIM_(head_dim), value_dim, rows) + \
             FOVEA_I8_BYTES_(head_dim, value_dim, FOVEA_LINEAR_ROWS_(rows, FOVEA_TILE_ROWS_MAX)))

/* The result of fovea_stream_state_bytes, for stream.h. rows is batch * q_heads * q_tokens, value_dim as above. In an
 * array of states each begins at a multiple of 64 bytes: round the size up to one. */
#define FOVEA_STREAM_STATE_BYTES(rows, value_dim) \
  (sizeof(fovea_stream_state) + FOVEA_SIZE_(rows) * (FOVEA_SIZE_(value_dim) + 2u) * 4u)

/* Bounds fovea_integer_attention_workspace_bytes. head_dim, value_dim and rows as above, with rows = q_tokens * q_heads
 * / kv_heads. */
#define FOVEA_INTEGER_ATTENTION_WORKSPACE_BYTES(head_dim, value_dim, rows) \
  FOVEA_INTEGER_BYTES_(FOVEA_INTEGER_DIM_(head_dim), FOVEA_INTEGER_DIM_(value_dim), FOVEA_INTEGER_ROWS_OF_(rows))

/* --------------------------------------------------------------------------------------- sizes for other operators */

/* Bounds fovea_linear_workspace_bytes with FOVEA_COMPUTE_F32 and FOVEA_COMPUTE_F16. in_dim is the number of inputs,
 * dtype the format of the weights. */
#define FOVEA_LINEAR_WORKSPACE_BYTES(in_dim, dtype) \
  FOVEA_LINEAR_BYTES_FOR_TOKENS_(in_dim, 2u * FOVEA_TILE_ROWS_MAX, dtype)
/* Bounds fovea_linear_workspace_bytes with FOVEA_COMPUTE_I8, for weights of any format that it serves. in_dim is the
 * number of inputs. */
#define FOVEA_LINEAR_I8_WORKSPACE_BYTES(in_dim) FOVEA_LINEAR_I8_BYTES_FOR_TOKENS_(in_dim, FOVEA_LINEAR_I8_ROWS_MAX_)

/* The result of fovea_delta_state_bytes, with its parameters. */
#define FOVEA_DELTA_STATE_BYTES(batch, v_heads, head_dim, value_dim, decay_dim)       \
  (sizeof(fovea_delta_state) + FOVEA_ALIGN_UP_(FOVEA_SIZE_(batch) * 4u) +            \
   FOVEA_SIZE_(batch) * (v_heads) * FOVEA_DELTA_HEAD_BYTES_(head_dim, value_dim, decay_dim))

/* Bounds fovea_delta_workspace_bytes. head_dim is that of the state, readers is q_heads / v_heads, at least 1. */
#define FOVEA_DELTA_WORKSPACE_BYTES(head_dim, readers) \
  FOVEA_DELTA_BYTES_FOR_GROUPS_(head_dim, FOVEA_DELTA_GROUPS_ * FOVEA_SIZE_(readers))
/* The same for FOVEA_DELTA_RULE_GENERAL. */
#define FOVEA_DELTA_GENERAL_WORKSPACE_BYTES(head_dim, readers) \
  (FOVEA_DELTA_WORKSPACE_BYTES(head_dim, readers) +            \
   FOVEA_DELTA_GIVEN_BYTES_FOR_GROUPS_(head_dim, FOVEA_DELTA_GROUPS_ * FOVEA_SIZE_(readers)))

/* Bound fovea_kv_cache_bytes: for strided caches and rings, and for pages and their table. The parameters are the
 * fields of fovea_kv_cache. With values_in_keys pass FOVEA_F32 as value_dtype and 0 as value_dim. */
#define FOVEA_KV_CACHE_BYTES(key_dtype, value_dtype, batch, kv_heads, max_tokens, head_dim, value_dim) \
  FOVEA_KV_CACHE_BYTES_(FOVEA_ROW_BYTES_(key_dtype, head_dim) + FOVEA_ROW_BYTES_(value_dtype, value_dim), \
                        FOVEA_SIZE_(batch) * (kv_heads) * (max_tokens), FOVEA_SIZE_(batch), FOVEA_SIZE_(batch))
#define FOVEA_KV_PAGED_CACHE_BYTES(key_dtype, value_dtype, batch, kv_heads, max_tokens, head_dim, value_dim,        \
                                   page_tokens, pages)                                                              \
  FOVEA_KV_CACHE_BYTES_(FOVEA_ROW_BYTES_(key_dtype, head_dim) + FOVEA_ROW_BYTES_(value_dtype, value_dim),           \
                        FOVEA_SIZE_(pages) * (kv_heads) * (page_tokens), FOVEA_SIZE_(batch),                        \
                        FOVEA_SIZE_(batch) * ((max_tokens) / (page_tokens) + ((max_tokens) % (page_tokens) != 0)))

/* These two bound fovea_multihead_workspace_bytes for head_dim == value_dim: the first for a linear_compute of
 * FOVEA_COMPUTE_F32 or FOVEA_COMPUTE_F16, the second for FOVEA_COMPUTE_I8.
 *   d_model        the largest of d_model, key_model and value_model
 *   q_heads, kv_heads, head_dim   as in the description of attention
 *   q_rows         max_batch * max_q_tokens
 *   kv_rows        max_batch * max_new_tokens
 *   weight_dtype   the format of the weights
 * They serve keys and values that are f32 in strided arrays. For other caches add
 * FOVEA_ATTENTION_KV_WORKSPACE_BYTES(head_dim, head_dim), or with FOVEA_COMPUTE_I8 in attention
 * FOVEA_ATTENTION_I8_WORKSPACE_BYTES(head_dim, head_dim). */
#define FOVEA_MULTIHEAD_WORKSPACE_BYTES(d_model, q_heads, kv_heads, head_dim, q_rows, kv_rows, weight_dtype)         \
  FOVEA_MULTIHEAD_BYTES_(q_heads, kv_heads, head_dim, q_rows, kv_rows,                                               \
                         FOVEA_LINEAR_BYTES_FOR_TOKENS_(                                                             \
                             FOVEA_LARGER_(FOVEA_SIZE_(d_model), FOVEA_SIZE_(q_heads) * (head_dim)),                 \
                             FOVEA_LARGER_(FOVEA_SIZE_(q_rows), FOVEA_SIZE_(kv_rows)), weight_dtype))
#define FOVEA_MULTIHEAD_I8_WORKSPACE_BYTES(d_model, q_heads, kv_heads, head_dim, q_rows, kv_rows)                    \
  FOVEA_MULTIHEAD_BYTES_(q_heads, kv_heads, head_dim, q_rows, kv_rows,                                               \
                         FOVEA_LINEAR_I8_BYTES_FOR_TOKENS_(                                                          \
                             FOVEA_LARGER_(FOVEA_SIZE_(d_model), FOVEA_SIZE_(q_heads) * (head_dim)),                 \
                             FOVEA_LARGER_(FOVEA_SIZE_(q_rows), FOVEA_SIZE_(kv_rows))))

/* -------------------------------------------------------------------------------- arithmetic of the macros */
/* clang-format off */
#define FOVEA_SIZE_(count) (sizeof(char) * (count)) /* as a size_t without a cast: C++ compilers warn of C casts */
/* Most lanes of a vector. A query tile has three vectors of rows; one of 24 rows has six. Tiles of 4 rows are for
 * targets of one lane. */
#if FOVEA_TILE_ROWS_MAX == 24
#define FOVEA_LANES_MAX_ 4u
#else
#define FOVEA_LANES_MAX_ (FOVEA_TILE_ROWS_MAX / 3u)
#endif
#define FOVEA_ALIGN_UP_(bytes) ((FOVEA_SIZE_(bytes) + 63u) / 64u * 64u)
/* Arrays of a query tile that have one element for each row. The library asserts that the macros for static arrays
 * agree with the functions that divide a workspace into arrays. */
#define FOVEA_TILE_ARRAYS_ 9u
#define FOVEA_WORKSPACE_BYTES_FOR_ROWS_(head_dim, value_dim, rows)                                                \
  (FOVEA_ALIGN_UP_(FOVEA_SIZE_(head_dim) * (rows) * 4u) + FOVEA_ALIGN_UP_(FOVEA_SIZE_(value_dim) * (rows) * 4u) + \
   FOVEA_ALIGN_UP_(FOVEA_KEY_TILE * FOVEA_SIZE_(rows) * 4u) +                                                     \
   FOVEA_TILE_ARRAYS_ * FOVEA_ALIGN_UP_(FOVEA_SIZE_(rows) * 4u))
#define FOVEA_LARGER_(a, b) ((a) > (b) ? (a) : (b))
/* A converted or gathered row has room for at least this many f32. */
#define FOVEA_STAGED_ELEMENTS_MIN_ 9u
#if FOVEA_TILE_ROWS_MAX == 4
#define FOVEA_KV_STAGE_BYTES_(head_dim, value_dim)                                                  \
  FOVEA_LARGER_(FOVEA_PIECE_KEYS * FOVEA_SIZE_(head_dim) * 4u, FOVEA_KEY_TILE * FOVEA_PIECE_ELEMENTS * 4u)
#else
#define FOVEA_KV_STAGE_BYTES_(head_dim, value_dim) \
  (FOVEA_KEY_TILE * 4u * (FOVEA_LARGER_(FOVEA_SIZE_(head_dim), FOVEA_STAGED_ELEMENTS_MIN_) +        \
                          FOVEA_LARGER_(FOVEA_SIZE_(value_dim), FOVEA_STAGED_ELEMENTS_MIN_)) +      \
   4u * FOVEA_ALIGN_UP_(FOVEA_BLOCK_ROWS_MAX))  /* with products of halves, another array of a tile */
#endif
/* Integer products read rows of keys in steps of up to 16 elements. In addition to the arrays above, a query row has
 * the codes of its weights and four more numbers. A key tile has its codes, and numbers for each key and for each
 * element of the values. */
#define FOVEA_I8_HEAD_DIM_(head_dim) ((FOVEA_SIZE_(head_dim) + 15u) / 16u * 16u)
#define FOVEA_I8_VALUE_DIM_(value_dim) ((FOVEA_SIZE_(value_dim) + 7u) / 8u * 8u)
#if FOVEA_LANES_MAX_ == 4u
#define FOVEA_I8_WEIGHT_BYTES_ 1u
#else
#define FOVEA_I8_WEIGHT_BYTES_ 2u
#endif
#if FOVEA_TILE_ROWS_MAX == 4
#define FOVEA_I8_STAGE_BYTES_(head_dim, value_dim) \
  (FOVEA_PIECE_KEYS * FOVEA_I8_HEAD_DIM_(head_dim) * 4u + FOVEA_KEY_TILE * FOVEA_PIECE_ELEMENTS * 4u)
#else
#define FOVEA_I8_STAGE_BYTES_(head_dim, value_dim) \
  (FOVEA_KEY_TILE * 4u * (FOVEA_I8_HEAD_DIM_(head_dim) + FOVEA_I8_VALUE_DIM_(value_dim)))
#endif
#define FOVEA_I8_BYTES_(head_dim, value_dim, rows)                                                              \
  ((rows) * (FOVEA_KEY_TILE * FOVEA_I8_WEIGHT_BYTES_ + 16u) + FOVEA_I8_STAGE_BYTES_(head_dim, value_dim) +      \
   FOVEA_ALIGN_UP_(FOVEA_KEY_TILE * 20u + FOVEA_I8_VALUE_DIM_(value_dim) * 4u) + 4u * 64u)
/* Integer attention takes rows in row blocks. A row has its state, the codes of its query, scores and weights of a key
 * tile, and sums. For processors that multiply bytes or pairs of 16 bits, keys and values are brought, and many rows
 * share what is brought. */
#if defined(__ARM_FEATURE_MVE) || defined(__ARM_FEATURE_SIMD32)
#define FOVEA_INTEGER_ROWS_ 32u
#else
#define FOVEA_INTEGER_ROWS_ 4u
#endif
#define FOVEA_INTEGER_ROWS_OF_(rows) \
  ((rows) < FOVEA_INTEGER_ROWS_ ? (FOVEA_SIZE_(rows) + ((rows) == 0) + 3u) / 4u * 4u : FOVEA_SIZE_(FOVEA_INTEGER_ROWS_))
#define FOVEA_INTEGER_DIM_(dim) ((FOVEA_SIZE_(dim) + 15u) / 16u * 16u)
#define FOVEA_INTEGER_STATE_BYTES_ (2u * sizeof(void*) + 32u)
#if defined(__ARM_FEATURE_MVE) || defined(__ARM_FEATURE_SIMD32)
#define FOVEA_INTEGER_BROUGHT_BYTES_(head_dim, value_dim) \
  FOVEA_LARGER_(FOVEA_PIECE_KEYS * (head_dim) * 2u,       \
                FOVEA_LARGER_(FOVEA_KEY_TILE * FOVEA_PIECE_ELEMENTS * 8u, \
                              (FOVEA_KEY_TILE + 12u) * (value_dim) + FOVEA_KEY_TILE * 4u))
#else
#define FOVEA_INTEGER_BROUGHT_BYTES_(head_dim, value_dim) 0u
#endif
#define FOVEA_INTEGER_BYTES_(head_dim, value_dim, rows)                                                  \
  (FOVEA_ALIGN_UP_((rows) * FOVEA_INTEGER_STATE_BYTES_) + FOVEA_ALIGN_UP_((head_dim) * 2u * (rows)) +    \
   FOVEA_ALIGN_UP_(FOVEA_KEY_TILE * 4u * (rows)) + FOVEA_ALIGN_UP_(FOVEA_KEY_TILE * 2u * (rows)) +       \
   FOVEA_ALIGN_UP_((value_dim) * 4u * (rows)) + FOVEA_ALIGN_UP_(FOVEA_INTEGER_BROUGHT_BYTES_(head_dim, value_dim)))
/* The few-rows kernel has tiles of up to four rows; its lanes run along a row. */
#if FOVEA_TILE_ROWS_MAX >= 48
#define FOVEA_FEW_ROWS_MAX_ 8u
#else
#define FOVEA_FEW_ROWS_MAX_ 4u
#endif
#define FOVEA_FEW_ROWS_BYTES_(head_dim, value_dim, rows)                                                             \
  (((rows) + 3u) / 4u *                                                                                              \
   (FOVEA_WHOLE_VECTORS_BYTES_(head_dim, (rows) > 2u ? 4u : (rows)) +                                                \
    FOVEA_WHOLE_VECTORS_BYTES_(value_dim, (rows) > 2u ? 4u : (rows)) +                                               \
    FOVEA_ALIGN_UP_(FOVEA_KEY_TILE * FOVEA_LANES_MAX_ * 4u) +                                                   \
    FOVEA_TILE_ARRAYS_ * FOVEA_ALIGN_UP_(FOVEA_LANES_MAX_ * 4u)))
/* Kept weights: of key tiles that are not full, and of those that pinned tokens share with others, there are a few. The
 * rows are those of all query tiles that share a key tile. */
#define FOVEA_KEY_MASS_MORE_TILES_ 4u
/* Most rows of a query tile with any arithmetic: with integers or halves up to 24 where f32 has 12. */
#if FOVEA_TILE_ROWS_MAX == 12
#define FOVEA_KEY_MASS_TILE_ROWS_ (2u * FOVEA_TILE_ROWS_MAX)
#else
#define FOVEA_KEY_MASS_TILE_ROWS_ FOVEA_TILE_ROWS_MAX
#endif
#define FOVEA_KEY_MASS_ROWS_(rows)                                                                        \
  ((rows) <= FOVEA_FEW_ROWS_MAX_ ? FOVEA_LARGER_(FOVEA_SIZE_(2u * FOVEA_LANES_MAX_), FOVEA_FEW_ROWS_MAX_) \
   : (rows) < 3u * FOVEA_KEY_MASS_TILE_ROWS_ ? FOVEA_SIZE_(rows) + FOVEA_KEY_MASS_TILE_ROWS_              \
                                             : FOVEA_SIZE_(4u * FOVEA_KEY_MASS_TILE_ROWS_))
#define FOVEA_WHOLE_VECTORS_BYTES_(dim, rows) \
  FOVEA_ALIGN_UP_((FOVEA_SIZE_(dim) + FOVEA_LANES_MAX_ - 1u) / FOVEA_LANES_MAX_ * FOVEA_LANES_MAX_ * (rows) * 4u)
/* A tile of a linear layer has at most as many tokens as a query tile has rows, or twice as many where weights are
 * narrower than f32. If a call has fewer tokens, the tile has fewer vectors. */
#define FOVEA_LINEAR_ROWS_(tokens, most)                                                                      \
  ((tokens) < (most) ? (FOVEA_SIZE_(tokens) + FOVEA_LANES_MAX_ - 1u) / FOVEA_LANES_MAX_ * FOVEA_LANES_MAX_          \
                     : FOVEA_SIZE_(most))
#define FOVEA_LINEAR_OUTPUTS_ 64u         /* outputs that are summed at a time */
#define FOVEA_LINEAR_WIDENED_BYTES_ 4096u /* weights that are widened at a time, as f32 */
#define FOVEA_LINEAR_BYTES_FOR_TOKENS_(in_dim, tokens, dtype)                                                    \
  ((dtype) == FOVEA_F32                                                                                          \
       ? FOVEA_LINEAR_BYTES_FOR_ROWS_(in_dim, FOVEA_LINEAR_ROWS_(tokens, FOVEA_TILE_ROWS_MAX))                   \
       : FOVEA_LINEAR_BYTES_FOR_ROWS_(in_dim, FOVEA_LINEAR_ROWS_(tokens, 2u * FOVEA_TILE_ROWS_MAX)) +                 \
         FOVEA_LINEAR_WIDENED_BYTES_)
#define FOVEA_LINEAR_BYTES_FOR_ROWS_(in_dim, rows) \
  (FOVEA_ALIGN_UP_(FOVEA_SIZE_(in_dim) * (rows) * 4u) + FOVEA_LINEAR_OUTPUTS_ * (rows) * 4u)
/* Codes may be as wide as f32; where a vector has one lane but the processor has smlad, they have 16 bits. With weights
 * in groups a tile has twice as many tokens where vectors have more than four lanes. */
#if FOVEA_LANES_MAX_ == 4u
#define FOVEA_LINEAR_I8_ROWS_MAX_ 16u
#elif FOVEA_LANES_MAX_ > 4u
#define FOVEA_LINEAR_I8_ROWS_MAX_ (2u * FOVEA_TILE_ROWS_MAX)
#else
#define FOVEA_LINEAR_I8_ROWS_MAX_ FOVEA_TILE_ROWS_MAX
#endif
#define FOVEA_LINEAR_I8_BYTES_FOR_TOKENS_(in_dim, tokens) \
  FOVEA_LINEAR_I8_BYTES_FOR_ROWS_(in_dim, FOVEA_LINEAR_ROWS_(tokens, FOVEA_LINEAR_I8_ROWS_MAX_))
#define FOVEA_LINEAR_I8_BYTES_FOR_ROWS_(in_dim, rows)                                                            \
  (FOVEA_ALIGN_UP_((FOVEA_SIZE_(in_dim) + 15u) / 16u * 16u * (rows) * 4u) + FOVEA_ALIGN_UP_((rows) * 4u) +       \
   FOVEA_ALIGN_UP_((FOVEA_SIZE_(in_dim) + 31u) / 32u * (rows) * 4u) +                                            \
   FOVEA_ALIGN_UP_((FOVEA_SIZE_(in_dim) + 15u) / 16u * (rows) * 4u) +                                            \
   FOVEA_LINEAR_OUTPUTS_ * ((rows) + 1u) * 4u + FOVEA_LINEAR_WIDENED_BYTES_)
#define FOVEA_MULTIHEAD_BYTES_(q_heads, kv_heads, head_dim, q_rows, kv_rows, linear_bytes)                       \
  (2u * FOVEA_ALIGN_UP_(FOVEA_SIZE_(q_rows) * (q_heads) * (head_dim) * 4u) +                                     \
   2u * FOVEA_ALIGN_UP_(FOVEA_SIZE_(kv_rows) * (kv_heads) * (head_dim) * 4u) +                                   \
   FOVEA_LARGER_(FOVEA_ATTENTION_WORKSPACE_BYTES(head_dim, head_dim), linear_bytes))
/* Linear attention stores keys and queries of token groups, and factors for each element of the keys. For wide vectors
 * a row has one factor of 128 elements; for others each element has room for 16 factors. */
#define FOVEA_DELTA_DIM_(dim) ((FOVEA_SIZE_(dim) + 15u) / 16u * 16u)
#define FOVEA_DELTA_HEAD_BYTES_(head_dim, value_dim, decay_dim)                                         \
  (4u * ((FOVEA_SIZE_(head_dim) + 4u) * FOVEA_DELTA_DIM_(value_dim) +                                   \
         4u * (FOVEA_DELTA_DIM_(head_dim) + ((decay_dim) > 1u ? FOVEA_DELTA_DIM_(head_dim) : 4u)) +      \
         ((decay_dim) == 2u * (head_dim) ? 4u * (FOVEA_DELTA_DIM_(head_dim) + FOVEA_DELTA_DIM_(value_dim)) : 0u)))
#if FOVEA_TILE_ROWS_MAX == 4
#define FOVEA_DELTA_GROUPS_ 1u
#else
#define FOVEA_DELTA_GROUPS_ 8u
#endif
#define FOVEA_DELTA_GROUP_BYTES_ (160u + sizeof(void*))
#if FOVEA_TILE_ROWS_MAX >= 48
#define FOVEA_DELTA_FACTORS_(head_dim) \
  FOVEA_LARGER_(FOVEA_DELTA_DIM_(head_dim) * 16u, (FOVEA_SIZE_(head_dim) + 127u) / 128u * 1872u)
#else
#define FOVEA_DELTA_FACTORS_(head_dim) (FOVEA_DELTA_DIM_(head_dim) * 16u)
#endif
#define FOVEA_DELTA_BYTES_FOR_GROUPS_(head_dim, groups)                                       \
  (FOVEA_DELTA_DIM_(head_dim) * 48u + 1024u + FOVEA_ALIGN_UP_((groups) * FOVEA_DELTA_GROUP_BYTES_) + \
   FOVEA_ALIGN_UP_((groups) * FOVEA_DELTA_FACTORS_(head_dim) * 4u))
/* What the general rule needs in addition: keys, sums, and four more factors. */
#define FOVEA_DELTA_GIVEN_GROUP_BYTES_ (128u + sizeof(void*))
#if FOVEA_TILE_ROWS_MAX >= 48
#define FOVEA_DELTA_GIVEN_FACTORS_(head_dim) \
  FOVEA_LARGER_(FOVEA_DELTA_DIM_(head_dim) * 4u, (FOVEA_SIZE_(head_dim) + 127u) / 128u * 576u)
#else
#define FOVEA_DELTA_GIVEN_FACTORS_(head_dim) (FOVEA_DELTA_DIM_(head_dim) * 4u)
#endif
#define FOVEA_DELTA_GIVEN_BYTES_FOR_GROUPS_(head_dim, groups)                                              \
  (FOVEA_DELTA_DIM_(head_dim) * 48u + 1024u + FOVEA_ALIGN_UP_((groups) * FOVEA_DELTA_GIVEN_GROUP_BYTES_) + \
   FOVEA_ALIGN_UP_((groups) * FOVEA_DELTA_GIVEN_FACTORS_(head_dim) * 4u))
#define FOVEA_ROW_BYTES_(dtype, dim)                                                               \
  ((dtype) == FOVEA_F32 ? FOVEA_SIZE_(dim) * 4u                                                    \
   : (dtype) == FOVEA_F16 || (dtype) == FOVEA_BF16 ? FOVEA_SIZE_(dim) * 2u                         \
   : (dtype) == FOVEA_I8 ? FOVEA_SIZE_(dim) + 4u                                                   \
   : (FOVEA_SIZE_(dim) + 31u) / 32u * ((dtype) == FOVEA_Q8_0   ? 34u                               \
                                       : (dtype) == FOVEA_Q5_0 ? 22u                               \
                                       : (dtype) == FOVEA_Q5_1 ? 24u                               \
                                       : (dtype) == FOVEA_Q4_1 ? 20u                               \
                                                               : 18u))
#define FOVEA_KV_CACHE_BYTES_(row_bytes, rows, lengths, of_kind)                                   \
  ((rows) * (row_bytes) + FOVEA_ALIGN_UP_((lengths) * 4u) + FOVEA_ALIGN_UP_((of_kind) * 4u) + 4u * 63u)
/* clang-format on */

#endif /* FOVEA_WORKSPACE_H_ */
