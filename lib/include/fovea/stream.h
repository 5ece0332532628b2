/* fovea/stream.h: streams: attention over keys that are pushed in parts.
 *
 * SPDX-License-Identifier: Apache-2.0
 *
 *     #include <fovea/stream.h>
 *
 *     enum { kTokens = 64 };  // keys and values of a part
 *     static float q[64], keys[kTokens][64], values[kTokens][64], out[64];
 *     static _Alignas(64) unsigned char state[FOVEA_STREAM_STATE_BYTES(1, 64)];
 *     static _Alignas(FOVEA_WORKSPACE_ALIGNMENT) unsigned char workspace[FOVEA_ATTENTION_WORKSPACE_BYTES(64, 64)];
 *
 *     int main(void) {
 *       fovea_attention_desc desc = {.struct_bytes = sizeof desc, .q_heads = 1, .kv_heads = 1, .head_dim = 64,
 *                                    .value_dim = 64, .max_batch = 1, .max_q_tokens = 1, .max_kv_tokens = kTokens};
 *       fovea_attention_plan plan;
 *       if (fovea_attention_plan_init(&plan, &desc) != FOVEA_OK) return 1;
 *       fovea_attention_args args = {.struct_bytes = sizeof args, .batch = 1, .q_tokens = 1, .kv_tokens = kTokens,
 *                                    .q = {.data = q}, .out = {.data = out}};
 *       args.kv.keys = (fovea_in){.data = keys, .token_stride = 64};
 *       args.kv.values = (fovea_in){.data = values, .token_stride = 64};
 *
 *       fovea_stream_state* stream = (fovea_stream_state*)state;
 *       if (fovea_stream_begin(&plan, stream, sizeof state, 1, 1, 0) != FOVEA_OK) return 1;
 *       for (int piece = 0; piece < 10; ++piece) {  // read the next part into keys and values, then
 *         if (fovea_stream_push(&plan, stream, &args, workspace, sizeof workspace) != FOVEA_OK) return 1;
 *       }
 *       return fovea_stream_end(&plan, stream, &args, workspace, sizeof workspace);  // writes out
 *     }
 *
 * A stream computes what fovea_attention computes, but its keys come in parts: from a sensor, from flash or another
 * core, or because memory has no room for all of them. A state holds what the queries have seen so far: for each query
 * row the largest score, the sum of exponentials and the sum of weighted values (Milakov and Gimelshein, arXiv
 * 1805.02867). After a push the keys and values of the part are not needed any more. The conventions of base.h and the
 * edge cases of attention.h hold. */
#ifndef FOVEA_STREAM_H_
#define FOVEA_STREAM_H_

#include "fovea/attention.h"

FOVEA_DECLARATIONS_BEGIN_

/* The state of a stream, in memory of the caller, 64-byte aligned (FOVEA_ERR_ALIGNMENT). It may be copied.
 *
 * Order of calls. fovea_stream_begin, then fovea_stream_push for each part, then fovea_stream_end. After the end more
 * keys may be pushed.
 *
 * Layout. It is the same on every target: this header, followed by the f32 arrays max[rows], sum[rows],
 * o[rows][value_dim] with rows = batch * q_heads * q_tokens, in the order [batch][kv_heads][q_tokens][q_heads /
 * kv_heads]. Scores are in base 2.
 *
 * Bits. Key tiles are on a grid of 64 positions. If parts end only at multiples of 64, the result is the same to the
 * bit as the result of one call with all keys. If they end elsewhere, the order of sums differs, and so
 * does their rounding. With key_center the scores of a stream always include the center's part. One call includes it
 * only for options that see it ("Centred keys" in kv_source.h); without such an option the last bits of stream and call
 * differ. */
typedef struct fovea_stream_state {
  uint32_t magic;    /* tells a state of this layout from other bytes */
  uint32_t checksum; /* in an image: CRC-32 (IEEE 802.3) of all its bytes, computed with 0 here; in a state: 0 */
  uint32_t batch, q_heads, kv_heads, q_tokens, value_dim; /* of the plan and of fovea_stream_begin */
  uint32_t reserved;                                      /* 0 */
  int64_t next_key;                                       /* position of the key that is pushed next */
  uint32_t reserved_too[6];                               /* 0 */
} fovea_stream_state;

/* Writes how many bytes a state of these counts has. In an array of states each begins at a multiple of 64 bytes: round
 * the size up to one. FOVEA_STREAM_STATE_BYTES of workspace.h is the same for static arrays. */
fovea_status fovea_stream_state_bytes(const fovea_attention_plan* plan, uint32_t batch, uint32_t q_tokens,
                                      size_t* bytes);

/* Makes a state that has seen no key.
 *   state_bytes      bytes of memory at state (FOVEA_ERR_STATE if they are too few)
 *   batch, q_tokens  counts of the queries, within the plan's capacities (FOVEA_ERR_CAPACITY)
 *   first_key        0 to 2^62 (FOVEA_ERR_SIZE): the position of the key that is pushed first. It is not 0 where
 *                    another state, to be merged later, has the keys before it
 * A plan whose diagonal is bottom-right, by diagonal or by causal, is refused (FOVEA_ERR_UNSUPPORTED), here and below:
 * a stream does not know where the last key will be. */
fovea_status fovea_stream_begin(const fovea_attention_plan* plan, fovea_stream_state* state, size_t state_bytes,
                                uint32_t batch, uint32_t q_tokens, int64_t first_key);

/* Adds args->kv_tokens keys and values to the state. They are at the positions from state->next_key on; next_key then
 * grows by kv_tokens, to at most 2^62 (FOVEA_ERR_SIZE). Arguments and checks are those of fovea_attention.
 *   batch, q_tokens   are those of the state (FOVEA_ERR_STATE), and q is the same in every push
 *   kv_lengths, mask  count from the first key of this push: kv_lengths[b] keys are seen, and column 0 of the mask is
 *                     for the first key, with at_end for the first of the last mask.kv_tokens keys
 *   not read          out, lse, sinks and value_channel_scales: they act at the end
 *   refused           rings, ragged batches, scores out, key_mass and modifiers of weights (FOVEA_ERR_UNSUPPORTED).
 *                     With dropout, and f32 keys or values in pages of a multiple of 64 tokens, also a push that does
 *                     not begin at a multiple of 4 (FOVEA_ERR_UNSUPPORTED)
 * On an error the state is as before, except with FOVEA_ERR_EXECUTOR: see fovea_executor. */
fovea_status fovea_stream_push(const fovea_attention_plan* plan, fovea_stream_state* state,
                               const fovea_attention_args* args, void* workspace, size_t workspace_bytes);

/* Merges two states: `into` becomes the state that has seen the keys of both, and `from` stays as it was. Each may have
 * been made on any target. No key was pushed into both. The states have the same counts
 * (FOVEA_ERR_STATE), do not overlap (FOVEA_ERR_OVERLAP), and have the same queries, which the library cannot check.
 * next_key becomes the larger of the two.
 * Bits. Merging a with b or b with a is the same to the bit, except for the bits of a NaN. Three or more states in
 * another order give the same within rounding. */
fovea_status fovea_stream_merge(const fovea_attention_plan* plan, fovea_stream_state* into,
                                const fovea_stream_state* from);

/* Writes the outputs over all keys so far: out, and lse if asked for, with the sinks and value_channel_scales, if any.
 * The arguments of a push are not read: q, q_scales, kv, kv_tokens, kv_lengths, first_positions, mask, alibi_slopes,
 * score_vector, dropout_seed, block_map and modifier. batch and q_tokens are those of the state (FOVEA_ERR_STATE).
 * Ragged batches, scores out and key_mass are refused (FOVEA_ERR_UNSUPPORTED). The state stays as it was: more keys may
 * be pushed. */
fovea_status fovea_stream_end(const fovea_attention_plan* plan, const fovea_stream_state* state,
                              const fovea_attention_args* args, void* workspace, size_t workspace_bytes);

/* Writes an image of a state, to be sent or stored. It has as many bytes as the state, is little-endian with a
 * checksum, and may be at any address. FOVEA_ERR_STATE where image_bytes is too small. */
fovea_status fovea_stream_export(const fovea_stream_state* state, void* image, size_t image_bytes);

/* Makes a state from its image. FOVEA_ERR_IMAGE where the image is not whole, FOVEA_ERR_STATE where state_bytes is too
 * small; then the state is not written. */
fovea_status fovea_stream_import(fovea_stream_state* state, size_t state_bytes, const void* image, size_t image_bytes);

FOVEA_DECLARATIONS_END_

#endif /* FOVEA_STREAM_H_ */
