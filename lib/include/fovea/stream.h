/* fovea/stream.h: attention over keys that come in pieces.
 *
 * SPDX-License-Identifier: Apache-2.0
 *
 *     #include <fovea/stream.h>
 *
 *     enum { kTokens = 64 };  // keys and values of a piece
 *     static float q[64], keys[kTokens][64], values[kTokens][64], out[64];
 *     static _Alignas(64) unsigned char state[FOVEA_STATE_BYTES(1, 64)];
 *     static _Alignas(FOVEA_WORKSPACE_ALIGNMENT) unsigned char workspace[FOVEA_WORKSPACE_BYTES(64, 64)];
 *
 *     int main(void) {
 *       fovea_attention_desc desc = {.struct_bytes = sizeof desc, .q_heads = 1, .kv_heads = 1, .head_dim = 64,
 *                                    .value_dim = 64, .max_batch = 1, .max_q_tokens = 1, .max_kv_tokens = kTokens};
 *       fovea_plan plan;
 *       if (fovea_plan_init(&plan, &desc) != FOVEA_OK) return 1;
 *       fovea_attention_args args = {.struct_bytes = sizeof args, .batch = 1, .q_tokens = 1, .kv_tokens = kTokens,
 *                                    .q = {.data = q}, .out = {.data = out}};
 *       args.kv.keys = (fovea_in){.data = keys, .token_stride = 64};
 *       args.kv.values = (fovea_in){.data = values, .token_stride = 64};
 *
 *       fovea_state* stream = (fovea_state*)state;
 *       if (fovea_stream_begin(&plan, stream, sizeof state, 1, 1, 0) != FOVEA_OK) return 1;
 *       for (int piece = 0; piece < 10; ++piece) {  // read the piece into keys and values, then
 *         if (fovea_stream_push(&plan, stream, &args, workspace, sizeof workspace) != FOVEA_OK) return 1;
 *       }
 *       return fovea_stream_end(&plan, stream, &args, workspace, sizeof workspace);  // writes out
 *     }
 */
#ifndef FOVEA_STREAM_H_
#define FOVEA_STREAM_H_

#include "fovea/attention.h"

FOVEA_DECLARATIONS_BEGIN_

/* Attention over keys that come in pieces: from a sensor, from flash or another core, or more of them than memory has
 * room for. A state holds what the queries have seen so far: for each query row the largest score, the sum of
 * exponentials and the sum of weighted values (Milakov and Gimelshein, arXiv 1805.02867). Pieces are pushed into it and
 * may then be thrown away.
 *
 *     fovea_stream_begin(&plan, state, bytes, batch, q_tokens, 0);
 *     while (...) fovea_stream_push(&plan, state, &args, workspace, workspace_bytes);   // args: q, and some keys
 *     fovea_stream_end(&plan, state, &args, workspace, workspace_bytes);                // args: out
 *
 * Bits. Keys lie on a grid of 64, by their position. If pieces end only at its lines, the result is the same to the bit
 * as one call with all keys; if they end elsewhere, it differs as sums in another order do. With key_center a stream's
 * scores have what was subtracted, those of one call only where something sees it (see fovea_kv_source): where nothing
 * does, the last bits differ.
 *
 * A state is plain memory, 64-byte aligned (FOVEA_ERR_ALIGNMENT), the same on every target: this header, followed by
 * the f32 arrays max[rows], sum[rows], o[rows][value_dim] with rows = batch * q_heads * q_tokens, in the order
 * [batch][kv_heads][q_tokens][q_heads / kv_heads]; scores are in base 2. It may be copied. */
typedef struct fovea_state {
  uint32_t magic;    /* tells a state of this layout from other bytes */
  uint32_t checksum; /* in an image: CRC-32 (IEEE 802.3) of all its bytes, computed with 0 here; in a state: 0 */
  uint32_t batch, q_heads, kv_heads, q_tokens, value_dim;
  uint32_t reserved; /* 0 */
  int64_t next_key;  /* position of the key that is pushed next */
  uint32_t reserved_too[6];
} fovea_state;

/* Bytes of a state for these counts; 0 for no plan, or where they overflow. The macro is for static arrays. In an array
 * of states each begins at a multiple of 64 bytes: round the size up to one. */
size_t fovea_state_bytes(const fovea_plan* plan, uint32_t batch, uint32_t q_tokens);

/* Makes a state that has seen no key, in state_bytes bytes of memory (FOVEA_ERR_STATE if they are too few). first_key
 * >= 0 is the position of the key that is pushed first (FOVEA_ERR_SIZE). It is not 0 where another state, to be merged
 * later, has the keys before it. A plan whose diagonal is bottom-right, by itself or by causal, is refused
 * (FOVEA_ERR_UNSUPPORTED), here and below: no stream knows where the last key will be. */
fovea_status fovea_stream_begin(const fovea_plan* plan, fovea_state* state, size_t state_bytes, uint32_t batch,
                                uint32_t q_tokens, int64_t first_key);

/* Takes in args->kv_tokens keys and values at the positions from state->next_key on, and moves next_key behind them.
 * Arguments and checks are those of fovea_attention; batch and q_tokens are the state's (FOVEA_ERR_STATE), and q is the
 * same in every push. kv_lengths and the mask belong to these keys alone: kv_lengths[b] of them are seen, and column 0
 * of the mask is the first of them, or with at_end the first of its last ones. Rings, ragged batches and scores out are
 * refused (FOVEA_ERR_UNSUPPORTED); what acts at the end is not read: out, lse, sinks and value_channel_scales. With
 * dropout, f32 keys or values in pages of a multiple of 64 tokens must begin at a
 * position that is a multiple of 4 (FOVEA_ERR_UNSUPPORTED). On an error nothing was taken in, except with
 * FOVEA_ERR_EXECUTOR: see fovea_executor. */
fovea_status fovea_stream_push(const fovea_plan* plan, fovea_state* state, const fovea_attention_args* args,
                               void* workspace, size_t workspace_bytes);

/* Merges the states of two parts of the keys into `into`; `from` stays as it was. Both may have been made on any
 * target. Merging a with b or b with a is the same to the bit, except for the bits of a NaN; three or more in another
 * order are the same within rounding. next_key becomes the larger of the two. Both must have the same counts
 * (FOVEA_ERR_STATE) and the same queries, which nobody can check. */
fovea_status fovea_stream_merge(const fovea_plan* plan, fovea_state* into, const fovea_state* from);

/* Writes the answer over all keys so far: out, and lse if asked for, with the sinks and value_channel_scales, if any.
 * What pushes took is not read: q, q_scales, kv, kv_tokens, kv_lengths, positions, mask, alibi_slopes, score_vector,
 * dropout_seed, block_map and modifier. Ragged batches and scores out are refused (FOVEA_ERR_UNSUPPORTED). The state
 * stays as it was: more keys may be pushed. */
fovea_status fovea_stream_end(const fovea_plan* plan, const fovea_state* state, const fovea_attention_args* args,
                              void* workspace, size_t workspace_bytes);

/* Writes an image of a state, to be sent or stored. It has as many bytes as the state, is little-endian with a
 * checksum, and may lie at any address. FOVEA_ERR_STATE where image_bytes are too few. */
fovea_status fovea_stream_export(const fovea_state* state, void* image, size_t image_bytes);

/* Makes the state again from its image. FOVEA_ERR_IMAGE where the image is not whole, FOVEA_ERR_STATE where state_bytes
 * are too few; then the state is not written. */
fovea_status fovea_stream_import(fovea_state* state, size_t state_bytes, const void* image, size_t image_bytes);

FOVEA_DECLARATIONS_END_

#endif /* FOVEA_STREAM_H_ */
