/* fovea/kv_cache.h: caches: the keys and values of sequences that grow.
 *
 * SPDX-License-Identifier: Apache-2.0
 *
 *     #include <fovea/kv_cache.h>
 *
 *     static float q[64], key[64], value[64], out[64];  // of one new token
 *     static _Alignas(64) unsigned char memory[FOVEA_KV_CACHE_BYTES(FOVEA_I8, FOVEA_I8, 1, 1, 256, 64, 64)];
 *     static _Alignas(FOVEA_WORKSPACE_ALIGNMENT) unsigned char workspace[FOVEA_ATTENTION_KV_WORKSPACE_BYTES(64, 64)];
 *
 *     int main(void) {
 *       fovea_kv_cache_desc kept = {.struct_bytes = sizeof kept, .key_dtype = FOVEA_I8, .value_dtype = FOVEA_I8,
 *                                   .batch = 1, .kv_heads = 1, .head_dim = 64, .value_dim = 64, .max_tokens = 256};
 *       fovea_kv_cache cache;
 *       if (fovea_kv_cache_init(&cache, &kept, memory, sizeof memory) != FOVEA_OK) return 1;
 *       fovea_attention_desc desc = {.struct_bytes = sizeof desc, .q_heads = 1, .max_q_tokens = 1};
 *       fovea_attention_plan plan;
 *       if (fovea_kv_describe(&cache, &desc) != FOVEA_OK) return 1;
 *       if (fovea_attention_plan_init(&plan, &desc) != FOVEA_OK) return 1;
 *
 *       fovea_kv_append_args append = {.struct_bytes = sizeof append, .batch = 1, .tokens = 1,
 *                                      .keys = {.data = key}, .values = {.data = value}};
 *       fovea_attention_args args = {.struct_bytes = sizeof args, .q_tokens = 1,
 *                                    .q = {.data = q}, .out = {.data = out}};
 *       for (int token = 0; token < 20; ++token) {  // compute q, key and value of the token, then
 *         if (fovea_kv_append(&cache, &append) != FOVEA_OK || fovea_kv_attach(&cache, &args) != FOVEA_OK ||
 *             fovea_attention(&plan, &args, workspace, sizeof workspace) != FOVEA_OK) {
 *           return 1;
 *         }
 *       }
 *       return fovea_kv_cache_arrays(&cache)->lengths[0] == 20 ? 0 : 1;
 *     }
 *
 * A cache keeps the keys and values of some sequences in memory of the caller, as any kind of source but a loader, and
 * in any format of keys. fovea_kv_append converts and stores the rows of new tokens. fovea_attention reads the cache
 * as a fovea_kv_source: fovea_kv_describe and fovea_kv_attach fill in the description and the arguments.
 * Formats and their errors are those of base.h, kinds those of kv_source.h. Queries of an entry without tokens get the
 * result that attention.h states for a query that sees no key. */
#ifndef FOVEA_KV_CACHE_H_
#define FOVEA_KV_CACHE_H_

#include "fovea/attention.h"
#include "fovea/layers.h"

FOVEA_DECLARATIONS_BEGIN_

/* ---------------------------------------------------------------------------------------------------------- caches */

/* In a page table: no page. */
#define FOVEA_NO_PAGE 0xffffffffu

/* What a cache is for: kind, formats and sizes. Set all to 0 first, then fill in.
 *
 * Values in keys. With values_in_keys a value is the first value_dim elements of its key, and only keys are stored:
 * source.values is source.keys. value_dtype is then key_dtype, and value_dim at most head_dim (FOVEA_ERR_SIZE). A scale
 * of I8 covers the whole key. This serves multi-head latent attention (DeepSeek-V2, arXiv 2405.04434, section 2.1, with
 * the up-projections in queries and outputs): kv_heads is 1, and a key is the latent vector followed by the elements
 * that carry the position.
 *
 * Centred keys. fovea_kv_append subtracts key_center from each key, after the key was turned ("smoothing",
 * SageAttention, arXiv 2410.02367, section 4.2). Where some elements of keys are always large, rows of I8 and I4 spend
 * their codes on these elements. Without the mean of many keys, which fovea_kv_center computes, the codes are finer.
 * The caller keeps key_center and does not change it while the cache is in use. kv_source.h says which options of
 * attention see it.
 *
 * Rotated keys and values. With a rotation, fovea_kv_append rotates each new key or value: keys after they were turned,
 * and before key_center is subtracted. So key_center is then the mean of rotated keys. Where a few elements are much
 * larger than the others, codes of 4 bits lose less in this way. fovea_kv_describe tells attention, which rotates
 * queries and takes the rotation of outputs back: see fovea_hadamard_rows.
 *
 * Pages. A pool of `pages` pages serves all entries. page_table names, for every page_tokens tokens of an entry, the
 * page that has them, and is FOVEA_NO_PAGE at first. The program that manages the pool sets the next pages of an entry
 * before tokens are appended, and takes pages back after a reset or truncation.
 *
 * At the same time. Calls that attend to entries, or copy from them, read their lengths, table and rows where they are:
 * until they return nothing may change these, so no token may be appended to these entries. Calls on other entries, in
 * other pages, may run at once, fovea_kv_append with a workspace for each. fovea_kv_attach reads all lengths. */
typedef struct fovea_kv_cache_desc {
  uint32_t struct_bytes;                  /* sizeof(fovea_kv_cache_desc) */
  fovea_kv_kind kind;                     /* not FOVEA_KV_LOAD (FOVEA_ERR_UNSUPPORTED) */
  fovea_dtype key_dtype, value_dtype;     /* not those of weights alone (FOVEA_ERR_UNSUPPORTED) */
  uint32_t batch;                         /* entries, each a sequence; may be 0 */
  uint32_t kv_heads, head_dim, value_dim; /* >= 1 (FOVEA_ERR_DIM) */
  uint32_t max_tokens;    /* of an entry, at most 2^30; in a ring its slots, more than pinned_tokens (FOVEA_ERR_SIZE) */
  uint32_t pinned_tokens; /* as in a description: the first tokens of an entry, which a ring keeps */
  uint32_t page_tokens;   /* tokens of a page, >= 1; 0 with other kinds (FOVEA_ERR_SIZE) */
  uint32_t pages;         /* in the pool, for all entries; 0 with other kinds (FOVEA_ERR_SIZE) */
  uint32_t values_in_keys;      /* nonzero: a value is a part of its key. See "Values in keys" above */
  fovea_hadamard_rows hadamard; /* of what is appended; NONE with values_in_keys (FOVEA_ERR_UNSUPPORTED). See "Rotated
                              keys and values" above */
  const float* key_center;      /* optional [kv_heads][head_dim], finite numbers; not with values_in_keys
                              (FOVEA_ERR_UNSUPPORTED). See "Centred keys" above */
  uint64_t hadamard_seed;       /* of the signs, as in fovea_hadamard_args; not read without a rotation */
} fovea_kv_cache_desc;

/* Writes how many bytes of memory such a cache needs: 0 for a batch of 0 without pages. For static arrays workspace.h
 * has FOVEA_KV_CACHE_BYTES, and FOVEA_KV_PAGED_CACHE_BYTES for pages. */
fovea_status fovea_kv_cache_bytes(const fovea_kv_cache_desc* desc, size_t* bytes);

/* A cache: storage that fovea_kv_cache_init fills in. Rows and lengths are in the memory that it got, so a copy of the
 * storage is the same cache. Functions of another version, whose layout differs, or of another lean configuration
 * refuse it (FOVEA_ERR_PLAN). */
typedef union fovea_kv_cache {
  unsigned char bytes[96u + (40u * sizeof(void*))]; /* for the library */
  uint64_t alignment;                               /* aligns the bytes */
} fovea_kv_cache;

/* Makes an empty cache in memory, which is 64-byte aligned (FOVEA_ERR_ALIGNMENT) and has at least
 * fovea_kv_cache_bytes(desc) bytes (FOVEA_ERR_WORKSPACE). On error nothing is written. */
fovea_status fovea_kv_cache_init(fovea_kv_cache* cache, const fovea_kv_cache_desc* desc, void* memory,
                                 size_t memory_bytes);

/* Where a cache has what. Of these arrays the caller may write page_table, and those that source names: see
 * fovea_kv_set_length. The others are for reading. */
typedef struct fovea_kv_arrays {
  fovea_kv_source source; /* for fovea_attention_args.kv */
  uint32_t* lengths;      /* [batch]: tokens that were put in; in a ring also the tokens that are gone */
  uint32_t* first_tokens; /* ring [batch]: the oldest token, apart from pinned ones, that is still there */
  uint32_t* page_table;   /* paged [batch][ceil(max_tokens / page_tokens)]. See "Pages" above */
} fovea_kv_arrays;

/* The arrays of a cache, which never move. The structure is a part of the cache. NULL for a cache that
 * fovea_kv_cache_init did not make. */
const fovea_kv_arrays* fovea_kv_cache_arrays(const fovea_kv_cache* cache);

/* ------------------------------------------------------------------------------------------------------- appending */

/* The arguments of fovea_kv_append. Set all to 0 first, then fill in.
 *
 * Turned keys. With rope, keys are turned before they are stored, by the position of their token in the entry plus
 * position_offset. Of rope, only these fields are read: struct_bytes, layout, rotary_dim, inverse, turns, cos, sin,
 * table_stride, table_positions and position_offset. With values_in_keys the elements of the value are not turned: the
 * elements to turn begin after them. position_offsets adds another offset for each entry: with left padding, for
 * example, minus the number of padding tokens. If rope has the tables cos and sin, positions with their offsets are in
 * these (FOVEA_ERR_POSITION_RANGE). */
typedef struct fovea_kv_append_args {
  uint32_t struct_bytes;  /* sizeof(fovea_kv_append_args) */
  fovea_target target;    /* FOVEA_TARGET_BEST, or one that must be used (FOVEA_ERR_TARGET). Bits depend on it only with
                             rope: they are those of fovea_rope */
  uint32_t entry, batch;  /* entries [entry, entry + batch), all of them in the cache (FOVEA_ERR_CAPACITY) */
  uint32_t tokens;        /* new tokens of each entry; with offsets, of all entries together */
  const uint32_t* counts; /* optional [batch]: entry b gets only the first counts[b] of its tokens
                             (FOVEA_ERR_LENGTH) */
  const uint32_t* offsets;     /* optional [batch + 1]: ragged, like kv_offsets of fovea_attention_args. Entry entry + b
                              gets the tokens offsets[b] <= t < offsets[b + 1]. Offsets never fall, and the last is at
                              most `tokens` (FOVEA_ERR_LENGTH). Batch strides are not read */
  fovea_dtype dtype;           /* of keys and values here: F32, F16 or BF16 (FOVEA_ERR_UNSUPPORTED) */
  fovea_in keys;               /* [batch][kv_heads][tokens][head_dim] */
  fovea_in values;             /* [batch][kv_heads][tokens][value_dim]. Not read with values_in_keys */
  const fovea_rope_args* rope; /* optional: turns keys. See "Turned keys" above */
  const int64_t* position_offsets; /* optional [batch], with rope (else FOVEA_ERR_NULL). FOVEA_ERR_SIZE where a position
                                      does not fit in 64 bits */
  void* workspace;        /* required where rows are changed before they are stored: if dtype is not F32, or with rope,
                             key_center or a rotation. Floats [kv_heads][head_dim] if these are keys alone, else
                             [kv_heads][the larger of head_dim and value_dim] (FOVEA_ERR_WORKSPACE), which
                             fovea_kv_append_workspace_bytes computes. More are faster: then several tokens are
                             converted at a time */
  size_t workspace_bytes; /* of workspace */
} fovea_kv_append_args;

/* Adds tokens to the mean of the keys of each head, for key_center: center[head][d] is the mean over all tokens of all
 * calls.
 *   center  [kv_heads][head_dim], both at least 1 (FOVEA_ERR_DIM). Must not overlap keys (FOVEA_ERR_OVERLAP)
 *   count   [1]: how many tokens the mean is of. Set it to 0 before the first call; center may then hold anything
 *   keys    F32 [batch][kv_heads][tokens][head_dim], already turned if the cache turns them, and rotated if it rotates
 * Sums are f32: after some millions of tokens the mean does not change any more. */
fovea_status fovea_kv_center(float* center, uint64_t* count, const fovea_in* keys, uint32_t batch, uint32_t kv_heads,
                             uint32_t tokens, uint32_t head_dim);

/* Appends tokens to entries, converted to the cache's formats. If any entry has no room for all of its tokens, nothing
 * is written (FOVEA_ERR_FULL): an entry holds max_tokens, and in pages no more than its table has pages for
 * (FOVEA_ERR_PAGE for a page that the pool does not have). A ring does not fill up, because new tokens take the slots
 * of the oldest ones. It refuses only more than 2^30 tokens in all (FOVEA_ERR_FULL). */
fovea_status fovea_kv_append(fovea_kv_cache* cache, const fovea_kv_append_args* args);

/* Writes how many bytes of workspace an append with these arguments needs at least: 0 where rows are stored as they
 * are. It reads no array. */
fovea_status fovea_kv_append_workspace_bytes(const fovea_kv_cache* cache, const fovea_kv_append_args* args,
                                             size_t* bytes);

/* ------------------------------------------------------------------------------------------------ changing entries */

/* Makes entry to_entry of `to` the first `tokens` tokens of entry from_entry of `from`: for a prompt that several
 * sequences share, for the beams of a search, for a move to a larger cache. Bytes are copied as they are, scales too.
 * An entry that a cache does not have is refused (FOVEA_ERR_CAPACITY), here and below.
 *   caches     may be the same one; else their memory does not overlap (FOVEA_ERR_OVERLAP). They have the same
 *              kv_heads, dimensions, formats, values_in_keys, key_center, rotation and its seed (FOVEA_ERR_SIZE). One
 *              may be strided and the other paged. If one is a ring, so is the other, with as many slots and pinned
 *              tokens (FOVEA_ERR_SIZE).
 *   tokens     at most from_entry's length, and in a ring a length that fovea_kv_truncate would allow
 *              (FOVEA_ERR_LENGTH). FOVEA_ERR_FULL and FOVEA_ERR_PAGE as if they were appended to an empty entry.
 *   pages      that both tables name in the same place are shared, not copied. So a prefix of one entry serves another
 *              entry, as long as neither entry is appended or copied to in a shared page: before that, give it another
 *              page. FOVEA_ERR_OVERLAP where a page of to_entry is also in from_entry's table, but in another place:
 *              even one after the copied tokens. */
fovea_status fovea_kv_copy(fovea_kv_cache* to, uint32_t to_entry, const fovea_kv_cache* from, uint32_t from_entry,
                           uint32_t tokens);

/* Says that the entry now has `length` tokens, for any length that it had before. Their rows are in the arrays of
 * source already: read from a file, written by another processor, or in pages that another entry has too.
 *   length         FOVEA_ERR_FULL where it is more than max_tokens (in a ring, than 2^30), or than the table has pages
 *                  for; FOVEA_ERR_PAGE where the table names a page that the pool does not have.
 *   first_token    in a ring: the oldest token, apart from pinned ones, whose row is there. At most `length`, and late
 *                  enough that the tokens from it on fit (FOVEA_ERR_LENGTH); not read where `length` is at most
 *                  pinned_tokens. 0 = the newest tokens that fit are all there. With other kinds 0 (FOVEA_ERR_LENGTH).
 * To take appended tokens back, use fovea_kv_truncate. */
fovea_status fovea_kv_set_length(fovea_kv_cache* cache, uint32_t entry, uint32_t length, uint32_t first_token);

/* Keeps an entry's first `length` tokens and takes the others back, as after a draft that was not accepted. length is
 * at most the entry's length (FOVEA_ERR_LENGTH). In a ring, tokens that were overwritten do not come back: length is
 * also at least the entry's first_tokens, or at most pinned_tokens (FOVEA_ERR_LENGTH). A later call that would see an
 * overwritten token is refused (FOVEA_ERR_RING). "Rings" in attention.h says how many slots a draft needs. */
fovea_status fovea_kv_truncate(fovea_kv_cache* cache, uint32_t entry, uint32_t length);

/* Keeps only listed tokens of an entry, as policies that evict tokens do (H2O, arXiv 2306.14048; SnapKV, arXiv
 * 2404.14469): kept[i] becomes token i, and the entry's length `count`. Bytes are moved as they are, scales too, from
 * any format and in any kind. Turned keys keep the angle of the position that they had. For new tokens to go on after
 * the last old position, add the number of dropped tokens to the position_offset of rope; or renumber the moved tokens
 * by fovea_kv_shift.
 *   kept       [count]: increasing numbers below the entry's length. In a ring all of them still there
 *              (FOVEA_ERR_LENGTH)
 *   rings      The tokens that are then the first pinned_tokens are pinned.
 *   pages      FOVEA_ERR_FULL and FOVEA_ERR_PAGE where the table does not name the pages of all tokens up to the last
 *              kept one. Those past token `count` are free afterwards. Pages before the first dropped token are not
 *              written: they may be shared, others not. */
fovea_status fovea_kv_compact(fovea_kv_cache* cache, uint32_t entry, const uint32_t* kept, uint32_t count);

/* The arguments of fovea_kv_shift. Set all to 0 first, then fill in. */
typedef struct fovea_kv_shift_args {
  uint32_t struct_bytes;       /* sizeof(fovea_kv_shift_args) */
  fovea_target target;         /* as in fovea_kv_append_args */
  uint32_t entry;              /* of the cache (FOVEA_ERR_CAPACITY) */
  uint32_t first, tokens;      /* tokens [first, first + tokens) of the entry. In a ring all still there
                                  (FOVEA_ERR_LENGTH) */
  const fovea_rope_args* rope; /* required: of the fields that fovea_kv_append reads, as there, but position_offset is
                                  not read. With the tables cos and sin, the magnitude of the difference is in these
                                  (FOVEA_ERR_POSITION_RANGE), and they have cos^2 + sin^2 = 1 */
  void* workspace;             /* required: floats [head_dim] (FOVEA_ERR_WORKSPACE); more are faster */
  size_t workspace_bytes;      /* of workspace */
  int64_t difference;          /* what is added to the position of each key, of either sign. 0 changes no byte */
} fovea_kv_shift_args;

/* Turns keys that are stored to other positions, each by the same difference: for a context whose first tokens are
 * dropped (fovea_kv_compact, and then a difference of minus their number for those that moved), or a text whose image
 * goes to another place. Keys are widened, turned as fovea_rope does, with the rotation and key_center that they are
 * stored with, and stored again in the cache's format. Values and other tokens keep their bytes, except those of
 * values_in_keys, which are stored again. FOVEA_ERR_FULL and FOVEA_ERR_PAGE where the table does not name the pages up
 * to the last of the tokens; pages that entries share are shifted for all of them.
 *   errors     Each call converts each key once more, with the error that base.h states for the format. Elements that
 *              change by less than half of a code do not change: then small shifts one after the other are not what
 *              their sum is, above all in 4 bits. Shift by the sum where you can. tests/ACCURACY.md has 100 shifts. */
fovea_status fovea_kv_shift(fovea_kv_cache* cache, const fovea_kv_shift_args* args);

/* Key mass. Policies that evict tokens rank them by the weights that queries gave them: H2O by those of all queries,
 * SnapKV by those of the last of a prompt. args.key_mass of fovea_attention adds them up:
 *     key_mass[b][h][j] += sum of softmax weights of key j, over the last key_mass_queries queries of entry b and the
 *                          query heads that read key head h
 *   added      So a decoder's calls add up. Set it to 0 first. Keys that no such query sees keep what they have. After
 *              fovea_kv_compact move its elements as the tokens were moved.
 *   place      j is the token's place in its entry with every kind, in a ring and in pages, too. With kv_offsets the
 *              elements of entry b begin at element kv_offsets[b] of a head, and batch_stride is not read.
 *   weights    are those of FOVEA_SCORES_SOFTMAX without dropout: with a sink those of a query sum to less than 1. With
 *              FOVEA_COMPUTE_I8 and _F16 they are those before they are rounded.
 *   NaN        A query whose output is NaN may make the elements of all keys NaN.
 *   bits       do not depend on workers. They may differ between targets, budgets, and batches of other sizes.
 *   refused    without key_mass_queries in the description; in streams; with a modifier of weights
 *              (FOVEA_ERR_UNSUPPORTED).
 *   failed     after FOVEA_ERR_LOAD or FOVEA_ERR_EXECUTOR some weights may have been added: keep a copy to try again.
 *   cost       workspace for the weights of a row block, at most FOVEA_ATTENTION_KEY_MASS_WORKSPACE_BYTES. Decoding
 *              with head_dim 64 takes 1.1 times as long at most, with FOVEA_COMPUTE_I8 1.13 times (Zen 5, AVX2). Row
 *              blocks with queries that count are one task for each key head of an entry, for an executor, too.
 * examples/recipes/evict_tokens.c is a program. */

/* Empties an entry, or all entries with FOVEA_ALL_ENTRIES. Page tables stay as they are. */
fovea_status fovea_kv_reset(fovea_kv_cache* cache, uint32_t entry);

/* ---------------------------------------------------------------------------------------------------------- images */

/* Images. An image has the rows of some tokens of an entry as bytes, to be stored or sent: a prompt that a PC computed
 * is continued by a microcontroller, with the same bits. Rows are those of the cache's formats, whatever its kind is:
 * so caches of any kind take them in. An image may be at any address, and is little-endian. It begins with words of 32
 * bits, of which numbers of 64 bits are two, the lower half first:
 *     0   0x316b6f66, "fok1"            4   key_dtype       9       hadamard
 *     1   CRC-32 (IEEE 802.3) of all    5   value_dtype     10, 11  hadamard_seed; 0 without a rotation
 *         its bytes, computed with 0    6   kv_heads        12, 13  position
 *     2   tokens                        7   head_dim        14, 15  fingerprint
 *     3   1 for values_in_keys,         8   value_dim
 *         added to 2 for a key_center
 * Arrays follow: keys, key_scales, values, value_scales and key_center, those of them that the cache has. Each begins
 * at the next multiple of 64 bytes, with zeros before it, and the image ends at one: so an array is aligned as the
 * image is, and images may follow one another. Rows are dense, as those of a strided source:
 * [kv_heads][tokens][row], where from a token to the next is a row of the format (base.h), and from a head to the next
 * `tokens` rows. key_center is float [kv_heads][head_dim]. */

/* The arguments of fovea_kv_export and fovea_kv_import. Set all to 0 first, then fill in. */
typedef struct fovea_kv_image_args {
  uint32_t struct_bytes; /* sizeof(fovea_kv_image_args) */
  uint32_t entry;        /* of the cache (FOVEA_ERR_CAPACITY) */
  uint32_t first;        /* the first token; of an import the entry's length, after which the tokens go
                            (FOVEA_ERR_LENGTH) */
  uint32_t tokens;       /* [first, first + tokens) of the entry; of an import the image's first ones
                            (FOVEA_ERR_LENGTH where there are fewer) */
  int64_t position;      /* for which key `first` was turned: `first` and rope's offsets; without rope any number */
  uint64_t fingerprint;  /* any number that says of which weights and which layer the rows are */
} fovea_kv_image_args;

/* Writes how many bytes an image of this number of tokens has. FOVEA_ERR_SIZE for more than 2^30 tokens, or more bytes
 * than an array may have. */
fovea_status fovea_kv_image_bytes(const fovea_kv_cache* cache, uint32_t tokens, size_t* bytes);

/* Writes an image of tokens of an entry. In a ring all of them are still there (FOVEA_ERR_LENGTH), in pages the table
 * names all up to theirs (FOVEA_ERR_FULL, FOVEA_ERR_PAGE). FOVEA_ERR_STATE where image_bytes is too small. */
fovea_status fovea_kv_export(const fovea_kv_cache* cache, const fovea_kv_image_args* args, void* image,
                             size_t image_bytes);

/* Appends tokens of an image to an entry. FOVEA_ERR_FULL and FOVEA_ERR_PAGE are as for fovea_kv_set_length, and a ring
 * keeps the newest. All of the image is read first. On error nothing is written:
 *   FOVEA_ERR_IMAGE   where the image is not whole, or of a later version
 *   FOVEA_ERR_SIZE    where kv_heads, dimensions, formats, values_in_keys, key_center's numbers, rotation or seed are
 *                     not those of the cache, or these bytes of the image have changed
 *   FOVEA_ERR_STATE   where its position or fingerprint is not that of the arguments
 * A ring that has lost tokens goes into a ring with as many pinned tokens by two images, one of the pinned tokens and
 * one of the newest: after the first was taken in, fovea_kv_set_length(cache, entry, first, first) says where the
 * second one goes. */
fovea_status fovea_kv_import(fovea_kv_cache* cache, const fovea_kv_image_args* args, const void* image,
                             size_t image_bytes);

/* Makes a prefix (kv_source.h) of the first args->tokens tokens of an image, which stays where it is, in flash for
 * example, and is not copied. Its rows must be aligned as those of a source are: an address that is a multiple of 4
 * does. Queries see its first token at position 0: so its position is mostly 0. args->entry and first are not read.
 * All of the image is read once. Errors are those of fovea_kv_import, but not those of entries. */
fovea_status fovea_kv_image_prefix(const fovea_kv_cache* cache, const fovea_kv_image_args* args, const void* image,
                                   size_t image_bytes, fovea_kv_prefix* prefix);

/* -------------------------------------------------------------------------------------------- attending to a cache */

/* Writes what the cache knows into a description whose struct_bytes is set (FOVEA_ERR_STRUCT): kv_heads, head_dim,
 * value_dim, max_batch, max_kv_tokens, the formats and the rotation of keys and values, pinned_tokens, and the kind
 * with its sizes. The max_kv_tokens of a ring is 2^30, of which a plan subtracts max_prefix_tokens: the description
 * then needs a window_left, or allow_evicted. */
fovea_status fovea_kv_describe(const fovea_kv_cache* cache, fovea_attention_desc* desc);

/* Writes what the cache holds now into arguments whose struct_bytes is set (FOVEA_ERR_STRUCT): batch, kv_tokens,
 * kv_lengths and kv, of which it leaves prefixes as they are. Call it after each append. */
fovea_status fovea_kv_attach(const fovea_kv_cache* cache, fovea_attention_args* args);

FOVEA_DECLARATIONS_END_

#endif /* FOVEA_KV_CACHE_H_ */
