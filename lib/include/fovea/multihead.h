/* fovea/multihead.h: layers of multi-head attention: attention with its four linear layers.
 *
 * SPDX-License-Identifier: Apache-2.0
 *
 *     #include <fovea/multihead.h>
 *
 *     static float x[8][64], y[8][64];                                 // [tokens][d_model]
 *     static float qkv[3 * 64][64], bias[3 * 64], projection[64][64];  // PyTorch's in_proj_weight, out_proj.weight
 *     static _Alignas(FOVEA_WORKSPACE_ALIGNMENT) unsigned char
 *         workspace[FOVEA_MULTIHEAD_WORKSPACE_BYTES(64, 4, 4, 16, 8, 8, FOVEA_F32)];
 *
 *     int main(void) {
 *       fovea_multihead_desc desc = {.struct_bytes = sizeof desc};  // 4 heads of 16 elements; d_model is their product
 *       desc.attention = (fovea_attention_desc){.struct_bytes = sizeof desc.attention, .q_heads = 4, .kv_heads = 4,
 *                                               .head_dim = 16, .value_dim = 16, .max_batch = 1, .max_q_tokens = 8,
 *                                               .max_kv_tokens = 8};
 *       fovea_multihead_plan plan;
 *       if (fovea_multihead_plan_init(&plan, &desc) != FOVEA_OK) return 1;
 *
 *       fovea_multihead_args args = {.struct_bytes = sizeof args, .batch = 1, .q_tokens = 8};
 *       args.attention.struct_bytes = sizeof args.attention;
 *       args.x = (fovea_in){.data = x, .token_stride = 64};
 *       args.y = (fovea_out){.data = y, .token_stride = 64};
 *       args.weights.qkv = (fovea_linear_weights){.data = qkv, .row_stride = 64, .bias = bias};
 *       args.weights.out = (fovea_linear_weights){.data = projection, .row_stride = 64};
 *       return fovea_multihead(&plan, &args, workspace, sizeof workspace);
 *     }
 *
 * A layer of multi-head attention (Vaswani et al., arXiv 1706.03762, section 3.2.2; PyTorch's nn.MultiheadAttention):
 *     q = x W_q^T + b_q,    k = keys W_k^T + b_k,    v = values W_v^T + b_v,
 *     y = concat_h(attention(q_h, k_h, v_h)) W_o^T + b_o
 * where head h has the elements [h * head_dim, (h + 1) * head_dim) of each token's q, and so on. The layer calls
 * fovea_attention and fovea_linear: masks, limits, scores, statuses and edge cases are theirs.
 *
 * Three uses.
 *   self-attention             x alone
 *   encoder-decoder attention  x, and keys from another sequence: given with each call, or projected once by
 *                              fovea_multihead_append into a cache, to which the calls then attend
 *   decoder self-attention     one or more tokens at a time: fovea_multihead_append of x, then fovea_multihead with the
 *                              cache; FOVEA_CAUSAL_BOTTOM_RIGHT is right for any number of new tokens */
#ifndef FOVEA_MULTIHEAD_H_
#define FOVEA_MULTIHEAD_H_

#include "fovea/attention.h"
#include "fovea/kv_cache.h"
#include "fovea/layers.h"
#include "fovea/linear.h"

FOVEA_DECLARATIONS_BEGIN_

/* -------------------------------------------------------------------------------------------- description and plan */

/* What a plan of a layer is for. Set all to 0 first, then fill in.
 *
 * Tensors of I8. Inputs and outputs of the layer may be I8 with one scale and one zero point, as in
 * fovea_attention_desc: x_scale and x_zero_point hold for keys and values of the arguments, too. Between the steps,
 * queries, keys, values and the outputs of the heads are F32, or I8 with a scale, as the description of attention says.
 * Each tensor may have either format, where attention serves it.
 *   x_dtype, y_dtype  F32 or I8 (FOVEA_ERR_UNSUPPORTED)
 *   x_scale, y_scale  I8: 2^-126 to 2^126 (FOVEA_ERR_NUMBER); F32: 0 (FOVEA_ERR_UNSUPPORTED)
 *   x_zero_point, y_zero_point  I8: -128 to 127 (FOVEA_ERR_NUMBER); F32: 0 (FOVEA_ERR_UNSUPPORTED)
 * Tensors of I8 need FOVEA_COMPUTE_I8 as linear_compute, and bias_i32 of weights needs an input of I8
 * (FOVEA_ERR_UNSUPPORTED). Also refused with FOVEA_ERR_UNSUPPORTED: rope for queries or keys of I8; a cache where
 * key_scale or value_scale is not 0; a linear layer that is left out where its input and its output do not have the
 * same format, scale and zero point.
 *
 * The description of attention. max_kv_tokens counts all keys that are attended to, also those in a cache. q_dtype and
 * out_dtype are F32, or I8 with one scale (FOVEA_ERR_UNSUPPORTED). kv_kind, its sizes, key_dtype and value_dtype are
 * those of the cache. Calls without a cache need FOVEA_KV_STRIDED, and key_dtype and value_dtype each F32, or I8 with
 * key_scale or value_scale (FOVEA_ERR_UNSUPPORTED). kv_kind is never FOVEA_KV_LOAD (FOVEA_ERR_UNSUPPORTED).
 * portable_bits and max_workers hold for the linear layers too. The budget holds for attention alone. */
typedef struct fovea_multihead_desc {
  uint32_t struct_bytes;    /* sizeof(fovea_multihead_desc) */
  uint32_t d_model;         /* elements of a token of x and of y. 0 = q_heads * head_dim */
  uint32_t key_model;       /* elements of a token that keys are projected from. 0 = d_model */
  uint32_t value_model;     /* elements of a token that values are projected from. 0 = key_model */
  fovea_dtype weight_dtype; /* of all weights: any */

  fovea_compute linear_compute; /* of the linear layers: FOVEA_COMPUTE_I8 needs weights of I8 or in groups,
                                   FOVEA_COMPUTE_F16 of F16 (FOVEA_ERR_UNSUPPORTED). attention.compute is for
                                   attention */

  fovea_dtype x_dtype, y_dtype;       /* F32 or I8. See "Tensors of I8" above */
  float x_scale, y_scale;             /* of tensors of I8 */
  int32_t x_zero_point, y_zero_point; /* of tensors of I8 */

  uint32_t max_new_tokens; /* most keys of an entry that one call projects (FOVEA_ERR_CAPACITY): 1 where tokens come one
                              by one. 0 = attention.max_kv_tokens, or attention.ring_tokens if a ring has fewer */

  fovea_attention_desc attention; /* heads, capacities and options. See "The description of attention" above */
} fovea_multihead_desc;

/* A plan, like fovea_attention_plan. */
#define FOVEA_MULTIHEAD_PLAN_BYTES 640
typedef union fovea_multihead_plan {
  unsigned char bytes[FOVEA_MULTIHEAD_PLAN_BYTES]; /* for the library */
  uint64_t alignment;                              /* aligns the bytes */
} fovea_multihead_plan;

/* Validates the description. On error *plan is not written. */
fovea_status fovea_multihead_plan_init(fovea_multihead_plan* plan, const fovea_multihead_desc* desc);

/* The description that the plan was made of, where each 0 that stands for a default is replaced by the default. It is a
 * part of the plan. NULL for no plan. */
const fovea_multihead_desc* fovea_multihead_plan_desc(const fovea_multihead_plan* plan);

/* Writes how many bytes of workspace any call with this plan needs. There is room for attention or a linear layer, and
 * for the projections of max_batch * max_q_tokens queries, the outputs of their heads, and max_batch * max_new_tokens
 * keys and values. The second function is for another machine's target, as fovea_attention_workspace_bytes_for. For
 * static arrays workspace.h has FOVEA_MULTIHEAD_WORKSPACE_BYTES and FOVEA_MULTIHEAD_I8_WORKSPACE_BYTES. */
fovea_status fovea_multihead_workspace_bytes(const fovea_multihead_plan* plan, size_t* bytes);
fovea_status fovea_multihead_workspace_bytes_for(const fovea_multihead_desc* desc, fovea_target target, size_t* bytes);

/* ------------------------------------------------------------------------------------------------------- arguments */

/* Weights of a layer, each with a bias or none. A linear layer with data NULL is left out: its input is taken as its
 * output. The input then has as many elements as the output (FOVEA_ERR_SIZE), the same format, scale and zero point
 * (FOVEA_ERR_UNSUPPORTED), and gets no bias or scales (FOVEA_ERR_NULL).
 *
 * One layer for q, k and v. qkv takes the place of q, k and v (FOVEA_ERR_UNSUPPORTED with both): the rows of q, k and v
 * follow one another, and so do their scales and biases. d_model, key_model and value_model are then the same
 * (FOVEA_ERR_SIZE). Where x alone is projected, and the three outputs are all F32 or all the same kind of tensor, this
 * is one linear layer, which is faster than three. */
typedef struct fovea_multihead_weights {
  fovea_linear_weights q;   /* [q_heads * head_dim][d_model] */
  fovea_linear_weights k;   /* [kv_heads * head_dim][key_model] */
  fovea_linear_weights v;   /* [kv_heads * value_dim][value_model] */
  fovea_linear_weights out; /* [d_model][q_heads * value_dim] */
  fovea_linear_weights qkv; /* optional, instead of q, k and v. See above */
  const void* reserved;     /* NULL (FOVEA_ERR_STRUCT): for later versions */
} fovea_multihead_weights;

/* The arguments of a call. Set all to 0 first, then fill in. Tokens are [batch][tokens][model], y of y_dtype, the
 * others of x_dtype; the strides say whether batch or tokens come first in memory. head_stride is not read.
 *
 * With a cache. The layer attends to what the first `batch` entries of the cache hold. keys, values and kv_lengths are
 * then NULL (FOVEA_ERR_UNSUPPORTED). The cache's kind, formats and sizes are those of the description, and
 * values_in_keys is 0 (FOVEA_ERR_SIZE). The largest length among the call's entries takes the place of kv_tokens: it is
 * the number of columns of scores out, and the most that a mask may cover (FOVEA_ERR_MASK). attention.kv.prefixes come
 * before the tokens of the cache (kv_source.h); without a cache they are NULL (FOVEA_ERR_UNSUPPORTED). The caller's
 * rope.position_offset then has their tokens, for fovea_multihead_append, too: with rope all are of one length.
 *
 * Rope. It turns queries, and keys unless they are in a cache, which turned them when they were appended. Of rope the
 * fields are read that fovea_kv_append reads, and first_positions, [batch]: where an entry's first query is and,
 * without a cache, its first key. NULL = 0. With a cache set them: the first query is mostly at position length -
 * q_tokens. */
typedef struct fovea_multihead_args {
  uint32_t struct_bytes; /* sizeof(fovea_multihead_args) */
  uint32_t batch;        /* entries */
  uint32_t q_tokens;     /* of x and y */
  uint32_t kv_tokens;    /* of keys and values. Not read where keys and values are x, or in a cache */
  fovea_out y;           /* required: [batch][q_tokens][d_model] */
  fovea_in x;            /* required: [batch][q_tokens][d_model] */
  fovea_in keys;         /* [batch][kv_tokens][key_model]. data NULL = x, whatever kv_tokens is */
  fovea_in values;       /* [batch][kv_tokens][value_model], as many as keys (FOVEA_ERR_SIZE). data NULL = keys */
  fovea_multihead_weights weights; /* of the four linear layers */

  const fovea_kv_cache* cache; /* optional. See "With a cache" above */
  const fovea_rope_args* rope; /* optional. See "Rope" above */

  /* lse, scores, key_mass, mask, block_map, modifier, kv_lengths, first_positions, alibi_slopes, sinks, score_vector,
   * value_channel_scales, dropout_seed and executor, as in fovea_attention. Set its struct_bytes too. Its batch, counts
   * of tokens, out, q and kv, but its prefixes, are not read. slow_workspace and ragged batches are refused
   * (FOVEA_ERR_UNSUPPORTED). Weights that are written out (scores) are those of each head; PyTorch's
   * nn.MultiheadAttention averages them over the heads unless average_attn_weights is false. */
  fovea_attention_args attention;
} fovea_multihead_args;

/* Computes y. workspace is as in fovea_attention, with fovea_multihead_workspace_bytes(plan) bytes. Arrays and the
 * cache must not overlap y, lse, scores, key_mass or the workspace (FOVEA_ERR_OVERLAP). */
fovea_status fovea_multihead(const fovea_multihead_plan* plan, const fovea_multihead_args* args, void* workspace,
                             size_t workspace_bytes);

/* Projects keys and values and appends them to the cache's first `batch` entries, as fovea_kv_append does and with its
 * statuses. Each entry gets kv_tokens tokens of args->keys and args->values, or q_tokens tokens of x. Of args, only
 * these arrays and counts are read, and batch, weights, rope (a key's position is its number in the entry),
 * attention.executor and attention.struct_bytes. */
fovea_status fovea_multihead_append(const fovea_multihead_plan* plan, fovea_kv_cache* cache,
                                    const fovea_multihead_args* args, void* workspace, size_t workspace_bytes);

FOVEA_DECLARATIONS_END_

#endif /* FOVEA_MULTIHEAD_H_ */
