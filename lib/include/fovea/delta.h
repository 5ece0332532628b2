/* fovea/delta.h: linear attention and delta rules: a matrix as the state, instead of keys and values.
 *
 * SPDX-License-Identifier: Apache-2.0
 *
 *     #include <fovea/delta.h>
 *
 *     static float q[5][32], k[5][32], v[5][32], decay[5], beta[5], out[5][32];  // of 5 tokens, one head
 *     static _Alignas(64) unsigned char state[FOVEA_DELTA_STATE_BYTES(1, 1, 32, 32, 1)];
 *     static _Alignas(FOVEA_WORKSPACE_ALIGNMENT) unsigned char workspace[FOVEA_DELTA_WORKSPACE_BYTES(32, 1)];
 *
 *     int main(void) {
 *       fovea_delta_state* sequence = (fovea_delta_state*)state;
 *       if (fovea_delta_begin(sequence, sizeof state, 1, 1, 32, 32, 1) != FOVEA_OK) return 1;
 *       fovea_delta_args args = {.struct_bytes = sizeof args, .rule = FOVEA_DELTA_RULE_GATED_DELTA, .batch = 1,
 *                                .q_heads = 1, .k_heads = 1, .v_heads = 1, .head_dim = 32, .value_dim = 32,
 *                                .decay_dim = 1, .tokens = 5};  // any number of tokens in a call
 *       args.q = (fovea_in){.data = q, .token_stride = 32};
 *       args.k = (fovea_in){.data = k, .token_stride = 32};
 *       args.v = (fovea_in){.data = v, .token_stride = 32};
 *       args.decay = (fovea_in){.data = decay, .token_stride = 1};
 *       args.beta = (fovea_in){.data = beta, .token_stride = 1};
 *       args.out = (fovea_out){.data = out, .token_stride = 32};
 *       return fovea_delta(sequence, &args, workspace, sizeof workspace);
 *     }
 *
 * Attention whose memory does not grow. For each head of values it keeps a matrix S [head_dim][value_dim]. Each token t
 * adds to S and reads from it, with the decay g_t = exp(decay_t) and a u_t that depends on the rule:
 *     S_t = g_t S_{t-1} + k_t u_t^T        o_t = scale * S_t^T q_t
 * fovea_delta_rule has the rules and their papers. The conventions of base.h hold. A NaN or an infinity does not leave
 * its head; one in an element of a value does not leave the column of S for that element.
 *
 * The general rule removes from S by other keys than those that it adds. a_t says what is read from S, and b_t where it
 * is added back, with a strength for each element; g_t has a decay for each element of a key:
 *     S_t = diag(g_t) S_{t-1} + b_t (a_t^T S_{t-1}) + k_t v_t^T
 *     here              q    k       v    g    a     b            S                 scale
 *     gated delta rule  q    beta k  v    g    k     -beta g k    S                 1 / sqrt(head_dim)
 *     RWKV-7            r    k~      v    w    -k^   a k^         its transpose     1
 * RWKV-7's k^ is the removal key, of norm 1, k~ the replacement key, a the learning rates in context, by element. A
 * state for the general rule has a decay_dim of FOVEA_DELTA_GENERAL_DIM(head_dim), and serves no other rule
 * (FOVEA_ERR_SIZE). */
#ifndef FOVEA_DELTA_H_
#define FOVEA_DELTA_H_

#include "fovea/base.h"
#include "fovea/workspace.h"

FOVEA_DECLARATIONS_BEGIN_

/* The decay_dim of states and calls of FOVEA_DELTA_RULE_GENERAL: a token has decays and b. */
#define FOVEA_DELTA_GENERAL_DIM(head_dim) (2u * (head_dim))

/* What u_t is, and whether S decays; the general rule has no such u_t. */
FOVEA_ENUM_(fovea_delta_rule, uint32_t) {
  FOVEA_DELTA_RULE_LINEAR = 0, /* u = v; no decay. Katharopoulos et al., arXiv 2006.16236, without normalisation */
  FOVEA_DELTA_RULE_GATED = 1,  /* u = v. RetNet, arXiv 2307.08621; gated linear attention, arXiv 2312.06635; Mamba-2 */
  FOVEA_DELTA_RULE_DELTA = 2,  /* u = beta_t (v - S_{t-1}^T k); no decay. DeltaNet, arXiv 2406.06484 */
  FOVEA_DELTA_RULE_GATED_DELTA = 3, /* u = beta_t (v - (g_t S_{t-1})^T k). Gated DeltaNet, arXiv 2412.06464; with a
                                       decay for each element of a key Kimi Linear, arXiv 2510.26692 */
  FOVEA_DELTA_RULE_GENERAL = 4, /* adds b_t (a_t^T S_{t-1}) and k_t v_t^T. RWKV-7, arXiv 2503.14456. See "The general
                                   rule" above; FOVEA_ERR_LEFT_OUT if it is left out */
};

/* ---------------------------------------------------------------------------------------------------------- states */

/* The state of some sequences, in memory of the caller, 64-byte aligned (FOVEA_ERR_ALIGNMENT). It may be copied.
 *
 * Token groups. Tokens are added to S in token groups of four, counted from the first token. The 1 to 4 tokens of the
 * last token group are pending: the state holds their keys, values u and decays next to S, for the general rule also b
 * and v. The call that begins the next token group adds them to S. So S is written once for four tokens, and pending
 * tokens can be rolled back. To take back more tokens than are pending, continue with an earlier copy of the state.
 *
 * Layout. It is the same on every target: this header, followed by the counts of pending tokens, uint32_t [batch], and
 * by f32 arrays for each entry and head, in an order that may change between versions. fovea_delta_set and
 * fovea_delta_get take and give S as a matrix. */
typedef struct fovea_delta_state {
  uint32_t magic;    /* tells a state of this layout from other bytes */
  uint32_t checksum; /* in an image: CRC-32 (IEEE 802.3) of all its bytes, computed with 0 here; in a state: 0 */
  uint32_t batch, v_heads, head_dim, value_dim, decay_dim; /* as fovea_delta_begin got them */
  uint32_t reserved[9];                                    /* 0 */
} fovea_delta_state;

/* Writes how many bytes a state of these counts has, and refuses what fovea_delta_begin would.
 * FOVEA_DELTA_STATE_BYTES of workspace.h is the same for static arrays. */
fovea_status fovea_delta_state_bytes(uint32_t batch, uint32_t v_heads, uint32_t head_dim, uint32_t value_dim,
                                     uint32_t decay_dim, size_t* bytes);

/* Makes a state of `batch` sequences that have seen no token: S is 0.
 *   state_bytes         bytes of memory at state (FOVEA_ERR_STATE if they are too few)
 *   batch               entries, each a sequence; may be 0
 *   v_heads             heads of values, each with its own S; >= 1 (FOVEA_ERR_DIM)
 *   head_dim, value_dim  >= 1 (FOVEA_ERR_DIM), up to 2^31 - 1 (FOVEA_ERR_SIZE)
 *   decay_dim           decays of a token and head: 0 or 1 = one, or head_dim; FOVEA_DELTA_GENERAL_DIM(head_dim) for
 *                       the general rule (FOVEA_ERR_LEFT_OUT if it is left out). Else FOVEA_ERR_SIZE */
fovea_status fovea_delta_begin(fovea_delta_state* state, size_t state_bytes, uint32_t batch, uint32_t v_heads,
                               uint32_t head_dim, uint32_t value_dim, uint32_t decay_dim);

/* Begins one entry again, or all with FOVEA_ALL_ENTRIES: S becomes the given matrices, f32 [entries][v_heads][head_dim]
 * [value_dim], or 0 with NULL. token_stride of the matrices is from an element of the key to the next. No token is
 * pending then. An entry that the state does not have is refused (FOVEA_ERR_CAPACITY), here and below. */
fovea_status fovea_delta_set(fovea_delta_state* state, uint32_t entry, const fovea_in* matrices);

/* Writes S of one entry, or of all with FOVEA_ALL_ENTRIES, pending tokens included, in the shape of fovea_delta_set.
 * The state stays as it was. target is as in fovea_delta_args. If four tokens are pending, the bits are those that S
 * will have once the next call on this target has added the tokens. */
fovea_status fovea_delta_get(const fovea_delta_state* state, fovea_target target, uint32_t entry,
                             const fovea_out* matrices);

/* How many of the last tokens can be rolled back: 0 to 4. With FOVEA_ALL_ENTRIES the smallest number of any entry. 0
 * where there is no such state or entry. */
uint32_t fovea_delta_pending(const fovea_delta_state* state, uint32_t entry);

/* Rolls back the last `tokens` tokens of one entry, or of each with FOVEA_ALL_ENTRIES: the state is the same to the bit
 * as if it had not seen them. They must be pending (FOVEA_ERR_LENGTH). */
fovea_status fovea_delta_roll_back(fovea_delta_state* state, uint32_t entry, uint32_t tokens);

/* Write an image of a state, and make a state from its image, as fovea_stream_export and fovea_stream_import do, with
 * the same statuses. */
fovea_status fovea_delta_export(const fovea_delta_state* state, void* image, size_t image_bytes);
fovea_status fovea_delta_import(fovea_delta_state* state, size_t state_bytes, const void* image, size_t image_bytes);

/* ------------------------------------------------------------------------------------------------------- arguments */

/* The arguments of fovea_delta. Set all to 0 first, then fill in. No array may overlap out, the state or the workspace
 * (FOVEA_ERR_OVERLAP).
 *
 * Heads. All counts are >= 1 (FOVEA_ERR_DIM). Head h of the values reads key head h / (v_heads / k_heads): k_heads
 * divides v_heads. q_heads is a multiple of v_heads, or divides it (FOVEA_ERR_HEADS).
 *   q_heads >= v_heads   Query head h reads S of head h / (q_heads / v_heads).
 *   q_heads < v_heads    S of head h is read by query head h / (v_heads / q_heads). */
typedef struct fovea_delta_args {
  uint32_t struct_bytes; /* sizeof(fovea_delta_args) */
  fovea_target target;   /* FOVEA_TARGET_BEST, or one that must be used (FOVEA_ERR_TARGET) */
  fovea_delta_rule rule; /* the same in each call on a state */
  uint32_t entry, batch; /* entries [entry, entry + batch) of the state, all of them in it (FOVEA_ERR_CAPACITY) */

  uint32_t q_heads, k_heads;                        /* see "Heads" above */
  uint32_t v_heads, head_dim, value_dim, decay_dim; /* those of the state (FOVEA_ERR_STATE) */

  uint32_t tokens; /* of each entry; with offsets, of all entries together. At most 2^30 (FOVEA_ERR_SIZE); 0: nothing is
                      written */
  const uint32_t* offsets; /* optional [batch + 1]: ragged. Entry b has the tokens offsets[b] <= t < offsets[b + 1],
                              which may be none. Offsets never fall, and the last is at most `tokens`
                              (FOVEA_ERR_LENGTH). Batch strides are not read */
  float scale;             /* 0 = 1 / sqrt(head_dim); else finite, of either sign (FOVEA_ERR_NUMBER) */

  fovea_dtype dtype, out_dtype; /* of q, k, v, a and b, and of out: F32, F16 or BF16 (FOVEA_ERR_UNSUPPORTED) */
  fovea_out out;                /* required: [batch][max(q_heads, v_heads)][tokens][value_dim] */
  fovea_in q;                   /* required: [batch][q_heads][tokens][head_dim] */
  fovea_in k;                   /* required: [batch][k_heads][tokens][head_dim]. Delta rules want keys of norm 1 */
  fovea_in v;                   /* required: [batch][v_heads][tokens][value_dim] */
  fovea_in decay; /* f32 [batch][v_heads][tokens][1], or [head_dim] where decay_dim is head_dim and with the general
                     rule: the logarithm of g, at most 0 in models; -inf forgets all. Required by gated rules and the
                     general one, else not read. The product of up to four g is at most e^88, and 0 below 2^-125.5 */
  fovea_in beta;  /* f32 [batch][v_heads][tokens][1], required by delta rules, else not read. A head_stride of 0 = one
                     for all heads */
  fovea_in a, b;  /* required by the general rule, else not read: [batch][k_heads][tokens][head_dim], of dtype */

  size_t workspace_budget_bytes;  /* 0 = as much as is fastest. Else fewer token groups are taken at a time until it
                                    fits; FOVEA_ERR_BUDGET where one does not. Never changes bits */
  const fovea_executor* executor; /* optional; NULL = the calling thread does all. At most 4096 workers
                                     (FOVEA_ERR_CAPACITY), each of which needs workspace. Tasks are heads and, where
                                     heads are few, blocks of columns of S. Never changes bits */
} fovea_delta_args;

/* Writes how many bytes of workspace a call with these arguments needs. It reads no array. The target may be another
 * machine's. More tokens never need less, and beyond 28 they need no more. For static arrays workspace.h has
 * FOVEA_DELTA_WORKSPACE_BYTES and FOVEA_DELTA_GENERAL_WORKSPACE_BYTES. */
fovea_status fovea_delta_workspace_bytes(const fovea_delta_args* args, size_t* bytes);

/* Adds the tokens of each entry to the state and writes their outputs. workspace has at least
 * fovea_delta_workspace_bytes(args) bytes (FOVEA_ERR_WORKSPACE) and is 64-byte aligned (FOVEA_ERR_ALIGNMENT). A call
 * does not read its earlier contents, and leaves no result in it.
 *
 * Errors. Arithmetic is f32. S is read once for four tokens. The effect of the tokens of a token group on one another
 * is computed from products of their keys. Errors are about as large as those of loops in f32 that compute S_t for one
 * token after the other.
 *
 * Bits. They are the same for every division of a sequence into calls, any budget, any workers, any strides and any
 * place in a batch, and on all IEEE targets with fused multiply-add. After fovea_delta_set, token groups are counted
 * from there.
 *
 * Time depends on shapes and counts, not on values.
 *
 * After FOVEA_ERR_EXECUTOR do not use the state: some heads have seen the tokens, others have not. */
fovea_status fovea_delta(fovea_delta_state* state, const fovea_delta_args* args, void* workspace,
                         size_t workspace_bytes);

/* The same without a state: S before the call is in one array of the caller, and S after it in another, both in the
 * shape of fovea_delta_set. So states in the form of another engine need no copies of their own. The bits are those of
 * fovea_delta_set, fovea_delta and fovea_delta_get.
 *   args       entry is not read. An entry without tokens gets S as it was
 *   before     NULL = 0. It may be the same array as `after`, with the same strides; otherwise it must not overlap that
 *              (FOVEA_ERR_OVERLAP)
 *   after      required (FOVEA_ERR_NULL)
 *   workspace  at least fovea_delta_matrices_workspace_bytes(args) bytes (FOVEA_ERR_WORKSPACE), 64-byte aligned
 *              (FOVEA_ERR_ALIGNMENT). For static arrays: FOVEA_DELTA_STATE_BYTES of one head for each worker, in
 *              addition to what fovea_delta needs. workspace_budget_bytes counts all of it
 *
 * S is read once and written once for a call of up to four tokens, where vectors have 8 lanes or more, value_dim is a
 * multiple of 16, the rule is not the general one, and code is not compiled for size. Other calls copy S. Tasks are
 * heads. */
fovea_status fovea_delta_matrices(const fovea_delta_args* args, const fovea_in* before, const fovea_out* after,
                                  void* workspace, size_t workspace_bytes);
fovea_status fovea_delta_matrices_workspace_bytes(const fovea_delta_args* args, size_t* bytes);

FOVEA_DECLARATIONS_END_

#endif /* FOVEA_DELTA_H_ */
