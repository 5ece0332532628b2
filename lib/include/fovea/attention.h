/* fovea/attention.h: attention over keys and values in memory: description, plan, arguments, call.
 *
 * SPDX-License-Identifier: Apache-2.0
 *
 *     #include <fovea/attention.h>
 *
 *     static float q[2][16][64], keys[2][16][64], values[2][16][64], out[2][16][64];  // [heads][tokens][dim]
 *     static _Alignas(FOVEA_WORKSPACE_ALIGNMENT) unsigned char workspace[FOVEA_ATTENTION_WORKSPACE_BYTES(64, 64)];
 *
 *     int main(void) {
 *       fovea_attention_desc desc = {.struct_bytes = sizeof desc, .q_heads = 2, .kv_heads = 2, .head_dim = 64,
 *                                    .value_dim = 64, .max_batch = 1, .max_q_tokens = 16, .max_kv_tokens = 16,
 *                                    .causal = FOVEA_CAUSAL_TOP_LEFT};
 *       fovea_attention_plan plan;  // made once
 *       if (fovea_attention_plan_init(&plan, &desc) != FOVEA_OK) return 1;
 *
 *       fovea_attention_args args = {.struct_bytes = sizeof args, .batch = 1, .q_tokens = 16, .kv_tokens = 16};
 *       args.q = (fovea_in){.data = q, .head_stride = 16 * 64, .token_stride = 64};
 *       args.kv.keys = (fovea_in){.data = keys, .head_stride = 16 * 64, .token_stride = 64};
 *       args.kv.values = (fovea_in){.data = values, .head_stride = 16 * 64, .token_stride = 64};
 *       args.out = (fovea_out){.data = out, .batch_stride = 2 * 16 * 64, .head_stride = 16 * 64, .token_stride = 64};
 *       return fovea_attention(&plan, &args, workspace, sizeof workspace);  // for each layer and input. 0 is FOVEA_OK
 *     }
 *
 * fovea_attention computes out[i] = sum_j w[i][j] * value[j] with w[i] = softmax_j(score(i, j)), for each query i over
 * the keys j that it sees (Vaswani et al., arXiv 1706.03762, eq. 1), in one pass over the keys; fovea_score has the
 * scores. A description says what is the same in all calls; a plan is made of it once. Arguments name the arrays and
 * counts of one call. The conventions of base.h hold. The edge cases are also those of streams, caches and multi-head
 * layers.
 *
 * Edge cases.
 *   a query that sees no key              its output is zeros, its lse is -inf (with a sink: the sink), its row of
 *                                         weights is zeros. Hugging Face's models differ:
 *                                         examples/recipes/hugging_face_mask.c
 *   a score of +inf or NaN                makes the output of its query NaN, and no other
 *   NaN or inf in a key or value that is  does not reach that query
 *   hidden from a query
 *   a weight below 2^-126                 is exactly 0, and takes no longer than any other weight. A weight from 2^-126
 *                                         to 2^-125 may become 0, too. With dropout this is the weight before its
 *                                         division by 1 - dropout
 *   a score, a sink, a slope, a mask's    counts as infinite above 2.3e38 in magnitude: all of these are multiplied by
 *   element, an element of scale * query  log2(e), since scores are kept in base 2
 *   values near FLT_MAX                   may overflow in the weighted sum. The sum of the weights divides it only at
 *                                         the end, and until then a weight may be as large as 1 */
#ifndef FOVEA_ATTENTION_H_
#define FOVEA_ATTENTION_H_

#include "fovea/base.h"
#include "fovea/block_map.h"
#include "fovea/kv_source.h"
#include "fovea/workspace.h"

FOVEA_DECLARATIONS_BEGIN_

/* Where the position p of query i comes from, for windows and ALiBi without a causal limit. The diagonal is the line of
 * keys j = p. The choices are those of fovea_causal. */
FOVEA_ENUM_(fovea_diagonal, uint32_t) {
  FOVEA_DIAGONAL_AS_CAUSAL = 0,    /* as causal says; with FOVEA_CAUSAL_NONE p = i + first_positions[b] */
  FOVEA_DIAGONAL_TOP_LEFT = 1,     /* p = i: queries and keys begin together */
  FOVEA_DIAGONAL_BOTTOM_RIGHT = 2, /* p = i + (keys of the entry) - (queries of the entry): they end together */
  FOVEA_DIAGONAL_POSITIONS = 3,    /* p = i + first_positions[b] */
};

/* How a query and a key make a score. Some score functions of papers contain a linear layer. Apply such a layer once to
 * all tokens, with fovea_linear or in a multi-head layer, instead of once to each pair of a query and a key (Bahdanau
 * et al., appendix A.1.2):
 *     scaled dot  q . k / sqrt(head_dim)   Vaswani et al., arXiv 1706.03762, section 3.2.1
 *     dot         q . k                    Luong et al., arXiv 1508.04025, section 3.1; so are the next two
 *     general     q^T W k                  keys are W k: a linear layer with the weights W[head_dim][elements of k]
 *     concat      v^T tanh(W [q; k])       queries are W_q q and keys W_k k, where W_q and W_k are the two parts of
 *                                          W's columns, each with W's row_stride
 *     additive    v^T tanh(W_1 q + W_2 k)  Bahdanau et al., arXiv 1409.0473, appendix A.1.2: queries are W_1 q, keys
 *                                          W_2 k */
FOVEA_ENUM_(fovea_score, uint32_t) {
  FOVEA_SCORE_SCALED_DOT = 0, /* scale * q . k; a scale of 0 is 1 / sqrt(head_dim) */
  FOVEA_SCORE_DOT = 1,        /* scale * q . k; a scale of 0 is 1 */
  FOVEA_SCORE_ADDITIVE = 2,   /* scale * sum_d score_vector[d] * tanh(q[d] + k[d]); a scale of 0 is 1. tanh has an error
                                 of at most 3.1e-7 */
  FOVEA_SCORE_GENERAL = FOVEA_SCORE_DOT,     /* with keys as described above */
  FOVEA_SCORE_CONCAT = FOVEA_SCORE_ADDITIVE, /* with queries and keys as described above */
};

/* -------------------------------------------------------------------------------------------- description and plan */

/* What a plan is for: capacities, and the options that decide how the work is divided. Set all to 0 first, then fill it
 * in.
 *
 * Visible keys. A query at position p sees the keys p - window_left < j < p + window_right. A window of 0 is unlimited,
 * and each window counts the key at p itself; in trees of drafts see fovea_tree_mask. A causal limit is the same as
 * window_right = 1, which is then not read. window_left does not hide the pinned keys j < pinned_tokens; the other
 * limits do. With a causal limit, diagonal is 0 or names the same positions (FOVEA_ERR_POSITIONS_TWICE).
 *     here                         sees       FlashAttention, BOTTOM_RIGHT  Hugging Face      llama.cpp
 *     causal, window_left = w      w keys     window_size (w - 1, 0)        sliding_window w  n_swa w
 *     window_left, _right = l, r   l + r - 1  window_size (l - 1, r - 1); unlimited is -1     n_swa 2 l - 2 where l = r
 *
 * Rings. A ring has ring_tokens slots for each entry: pinned_tokens of them keep the entry's first tokens, the others
 * its newest. Of n tokens that are appended at once all are in the ring before the first, as a query, looks back at
 * window_left tokens. So a ring that is smaller than max_kv_tokens needs a window_left, and
 *     ring_tokens - pinned_tokens >= window_left + n - 1
 * where n is max_q_tokens, or the most tokens of a rejected draft that are taken back, whichever is larger. A token is
 * gone when a newer token has its slot. Where a query should see a token that is gone, allow_evicted decides:
 *   0         FOVEA_ERR_RING. A plan is refused if the formula does not hold with n = max_q_tokens; a call, if lengths,
 *             first_tokens, first_positions, windows and mask.kv_tokens let a query see such a token. The elements of a
 *             mask are not read for this.
 *   nonzero   Nothing is refused: a query sees what the ring holds of the tokens that it should see. The first of n
 *             new tokens may then see n - 1 tokens fewer than in a call of its own.
 *
 * Tensors of I8. q, keys, values and out may be I8 tensors with one scale and one zero point for the whole tensor:
 * x = scale * (code - zero), codes from -128 to 127.
 *   scales    A scale is 0, or from 2^-126 to 2^126 (FOVEA_ERR_NUMBER). Only for I8 may it be above 0
 *             (FOVEA_ERR_UNSUPPORTED). If it is 0, each row of q, keys or values has its own scale, in an array of the
 *             arguments. If it is above 0, this array is NULL (FOVEA_ERR_UNSUPPORTED). out_scale is above 0 where out
 *             is I8, else 0.
 *   zeros     -128 to 127 (FOVEA_ERR_NUMBER). A zero point other than 0 needs a scale above 0 and FOVEA_COMPUTE_I8
 *             (FOVEA_ERR_UNSUPPORTED). q_zero_point needs keys of I8, key_zero_point needs queries of I8, and
 *             value_zero_point excludes dropout (FOVEA_ERR_UNSUPPORTED).
 *   scores    at every stage are those of the numbers x, not of codes, with the rounding that fovea_compute describes.
 *   outputs   y becomes the code round(y * (1 / out_scale)) + out_zero_point, to nearest, ties to even, and saturates
 *             at -128 and 127. NaN becomes out_zero_point.
 *
 * Dropout. Each weight becomes 0 with the probability dropout; the others are divided by 1 - dropout (inverted dropout,
 * Srivastava et al., JMLR 15, 2014). A dropped weight is still multiplied by its value, so a NaN there counts. Philox
 * 4x32-10 (Salmon et al., "Parallel random numbers: as easy as 1, 2, 3", SC 2011) makes four 32-bit numbers from a
 * cipher key, dropout_seed (low half first), and the counter (j / 4, i, query head, entry). The weight of query i and
 * key j is dropped where the upper 24 bits of number j % 4 are less than dropout * 2^24. So only the place of a weight
 * decides, and the tiles, splits, workers and pushes do not. In a stream, j counts from the first key of all, modulo
 * 2^34. i counts from 0 in each call and entry: use another seed for each step of a decoder, and for each layer. */
typedef struct fovea_attention_desc {
  uint32_t struct_bytes; /* sizeof(fovea_attention_desc) */

  /* Shape: the same in every call. All four are >= 1 (FOVEA_ERR_DIM). */
  uint32_t q_heads, kv_heads; /* kv_heads divides q_heads (FOVEA_ERR_HEADS) */
  uint32_t head_dim;          /* elements of a query and of a key */
  uint32_t value_dim;         /* elements of a value and of an output row */

  /* Capacities: a call may have any count up to these. max_batch is at least 1, max_q_tokens and max_kv_tokens 0 to
   * 2^30, and max_q_tokens * q_heads / kv_heads below 2^31 (FOVEA_ERR_SIZE). */
  uint32_t max_batch, max_q_tokens, max_kv_tokens;

  /* Score: x = scale * score(q, k); with softcap > 0 then x = softcap * tanh(x / softcap); then bias and masks. */
  fovea_score score;
  float scale;   /* 0 = the default of the score; else of either sign, with a magnitude of at most 2.3e38. The same
                    holds for its product with q_scale (FOVEA_ERR_NUMBER) */
  float softcap; /* 0 = none; else normal, > 0 and at most 5.8e37 (FOVEA_ERR_NUMBER). Gemma 2, arXiv 2408.00118,
                    section 2 */

  /* Visible keys: see above. */
  fovea_causal causal;
  fovea_diagonal diagonal;
  uint32_t window_left, window_right;

  float dropout; /* 0 = none; else above 0 and below 1 (FOVEA_ERR_NUMBER). See "Dropout" above */

  /* Formats and arithmetic. */
  fovea_dtype q_dtype, key_dtype, value_dtype, out_dtype; /* q and out F32, F16 or BF16, and with FOVEA_COMPUTE_I8
                                                             also I8; keys and values not those of weights
                                                             (FOVEA_ERR_UNSUPPORTED) */
  fovea_compute compute;                                  /* the arithmetic of the products */
  float q_scale, key_scale, value_scale, out_scale;       /* 0 = a scale for each row. See "Tensors of I8" above */
  int32_t q_zero_point, key_zero_point, value_zero_point, out_zero_point; /* see "Tensors of I8" above */

  fovea_hadamard_rows hadamard; /* which rows of the source are rotated (FOVEA_ERR_ENUM): see fovea_hadamard_rows */
  uint64_t hadamard_seed;       /* of the signs, as in fovea_hadamard_args; not read without one */

  /* Source. ring_tokens is 0 unless kv_kind is a ring, page_tokens is 0 unless it is pages (FOVEA_ERR_SIZE). */
  fovea_kv_kind kv_kind;
  uint32_t ring_tokens;   /* slots of a ring, for each entry: more than pinned_tokens, at most 2^30 (FOVEA_ERR_SIZE).
                             See "Rings" above */
  uint32_t pinned_tokens; /* the first tokens of an entry, which stay visible: window_left does not hide them with any
                             kind, and a ring keeps them (StreamingLLM's sinks, arXiv 2309.17453). In a stream they are
                             the tokens at the first positions */
  uint32_t allow_evicted; /* nonzero: a query may miss tokens that are gone from its ring. See "Rings" above */
  uint32_t page_tokens;   /* tokens of a page, at least 1 (FOVEA_ERR_SIZE). Multiples of 64 are fastest */

  /* How. */
  fovea_target target;    /* FOVEA_TARGET_BEST, or one that must be used (FOVEA_ERR_TARGET) */
  uint32_t portable_bits; /* nonzero: only the kernel whose bits are the same on AVX2, AVX-512 and AArch64 NEON, and for
                             any number of rows in a tile. 0: few rows may take the kernel that is faster for them. With
                             FOVEA_COMPUTE_I8 and FOVEA_COMPUTE_F16 the bits are the same either way */
  uint32_t max_workers;   /* most workers of a call's executor; each adds its part to the workspace. 0 = 1; at most 4096
                             (FOVEA_ERR_SIZE). See fovea_executor */
  uint64_t processor_features; /* FOVEA_FEATURE_... that the processor has in addition to those that the compiler knows:
                                  on AArch64 they make targets available, elsewhere they are ignored. 0 = none; other
                                  bits are FOVEA_ERR_ENUM. Functions without this field know only the compiler's */
  size_t workspace_budget_bytes; /* 0 = as much as is fastest. Else the plan takes fewer query rows at a time until it
                                    fits; FOVEA_ERR_BUDGET if the least tile does not. Bits change in key_mass only */

  /* For few rows and many keys: every key_split_tokens keys become a task of their own, and the parts are merged in
   * order. 0 = a query's keys are never split; else a multiple of 64 (FOVEA_ERR_SIZE). The bits depend on it, but not
   * on the number of workers. It costs workspace: a partial state of all rows for each part. Streams ignore it. */
  uint32_t key_split_tokens;

  uint32_t key_mass_queries; /* how many of an entry's last queries args.key_mass counts; 0 = a call has no key_mass.
                                Not with key_split_tokens (FOVEA_ERR_UNSUPPORTED), nor in builds without it, as by
                                default on Cortex-M (FOVEA_ERR_LEFT_OUT). Costs workspace: "Key mass" in kv_cache.h */
  size_t max_prefix_tokens;  /* see kv_source.h; 0 = no prefixes. With max_kv_tokens at most 2^30 (FOVEA_ERR_SIZE) */
} fovea_attention_desc;

/* A plan: storage without pointers into the description, which fovea_attention_plan_init fills in once. Then it is
 * read-only, and may be copied. Functions of another version, whose layout differs, or of another lean configuration
 * refuse it (FOVEA_ERR_PLAN). */
#define FOVEA_ATTENTION_PLAN_BYTES 320
typedef union fovea_attention_plan {
  unsigned char bytes[FOVEA_ATTENTION_PLAN_BYTES]; /* for the library */
  uint64_t alignment;                              /* aligns the bytes */
} fovea_attention_plan;

/* Validates the description, picks the target and chooses the tiles. On error *plan is not written. */
fovea_status fovea_attention_plan_init(fovea_attention_plan* plan, const fovea_attention_desc* desc);

/* Writes how many bytes of workspace a call with this plan needs. For static arrays workspace.h has
 * FOVEA_ATTENTION_WORKSPACE_BYTES and its kin. */
fovea_status fovea_attention_workspace_bytes(const fovea_attention_plan* plan, size_t* bytes);

/* Writes how many bytes of workspace a plan of this description needs on another machine's target, so that a host can
 * size a board's memory. desc.target is ignored. With FOVEA_TARGET_BEST it is the most that any target needs. */
fovea_status fovea_attention_workspace_bytes_for(const fovea_attention_desc* desc, fovea_target target, size_t* bytes);

/* Writes how many bytes args->slow_workspace needs in addition to a workspace of workspace_bytes. They are 0 if that
 * workspace is enough by itself, and all that the call needs if workspace_bytes is 0 (even then a call's workspace must
 * not be NULL). A larger workspace does not always save as many bytes here, because no array is divided. */
fovea_status fovea_attention_slow_workspace_bytes(const fovea_attention_plan* plan, size_t workspace_bytes,
                                                  size_t* bytes);

/* The description that the plan was made of, with a scale and a target that are never 0, and the diagonal, if causal
 * names one. It is a part of the plan. NULL for a plan that fovea_attention_plan_init did not make. */
const fovea_attention_desc* fovea_attention_plan_desc(const fovea_attention_plan* plan);

/* What a call does with the query rows that share a key head. */
typedef struct fovea_attention_kernel {
  uint32_t lanes;     /* floats in a vector of the target; halves, where the processor multiplies these */
  uint32_t most_rows; /* most query rows that the kernel takes, counted for one key head of one entry; UINT32_MAX = any
                         number */
  uint32_t tile_rows; /* most query rows in a query tile */
  uint32_t tiles;     /* most query tiles that share each key tile */
} fovea_attention_kernel;

/* The kernel that serves entries, or with a block map blocks of queries, of `rows` query rows for each key head. */
fovea_status fovea_attention_plan_kernel(const fovea_attention_plan* plan, uint32_t rows,
                                         fovea_attention_kernel* kernel);

/* Writes one line into text that says what the plan will do: target and backend, tile, kernel, bytes. It writes at most
 * text_bytes, the closing 0 included. Returns the length of the whole line without the closing 0, as snprintf does;
 * text may be NULL when text_bytes is 0. q_tokens and kv_tokens are the counts of the call in question. */
size_t fovea_attention_plan_describe(const fovea_attention_plan* plan, uint32_t q_tokens, uint32_t kv_tokens,
                                     char* text, size_t text_bytes);

/* ----------------------------------------------------------------------------------------------------------- masks */

/* What the elements of a mask are, and which of them hide the key. */
FOVEA_ENUM_(fovea_mask_kind, uint32_t) {
  FOVEA_MASK_NONE = 0,
  FOVEA_MASK_F32 = 1,  /* float, added to the score; -inf, and anything <= -FLT_MAX / 2, hides the key */
  FOVEA_MASK_BYTE = 2, /* one byte for each query and key: 0 hides the key, anything else shows it */
  FOVEA_MASK_F16 = 3,  /* uint16_t as FOVEA_F16, added; -inf and the lowest number, -65504, hide the key */
  FOVEA_MASK_BF16 = 4, /* uint16_t as FOVEA_BF16, added; hides the key where the same number in float does */
};

/* For kv_tokens of a mask: it covers no key, which hides all keys. */
#define FOVEA_MASK_NO_KEYS 0xffffffffu
/* A mask [batch][q_heads][q_tokens][kv_tokens]. Strides of 0 broadcast it over batch, heads or queries; the elements of
 * a row are adjacent. With FOVEA_MASK_NONE all fields are 0, and the other kinds need data (FOVEA_ERR_MASK). A mask
 * that depends only on key - query needs one line for each head, and a q_stride of -1:
 * examples/recipes/relative_bias.c, dilation.c.
 *
 * Covered keys. A row covers the first kv_tokens keys, and later keys are hidden. kv_tokens = 0 covers all keys of the
 * call; in a batch with kv_offsets, all of the longest entry, after kv_lengths have shortened entries. */
typedef struct fovea_mask {
  fovea_mask_kind kind; /* FOVEA_MASK_NONE = no mask */
  uint32_t kv_tokens;   /* keys that each row covers: 0 = all, FOVEA_MASK_NO_KEYS = none; at most the call's
                         (FOVEA_ERR_MASK) */
  const void* data;     /* the mask */
  ptrdiff_t batch_stride, head_stride, q_stride; /* from an entry, a head, a query to the next, in elements */
  uint32_t broadcast_keys;   /* nonzero: a row has one element, which serves all keys that the row covers */
  const float* head_factors; /* optional [q_heads], not for bytes (FOVEA_ERR_MASK): the mask is multiplied by its head's
                                factor before it is added; slopes for one mask of distances, for example (ggml's
                                max_bias). A hidden key stays hidden, even with a factor of 0; +inf times 0 is NaN */
  uint32_t at_end;           /* nonzero: the mask covers the last kv_tokens keys of each entry, and shows all keys
                                before them. kv_tokens is then at least 1, and no entry has fewer keys (FOVEA_ERR_MASK).
                                For new tokens after a long context: fovea_tree_mask */
  const void* reserved;      /* NULL (FOVEA_ERR_STRUCT): for later versions */
} fovea_mask;

/* Writes the mask of a tree of tokens, as drafts of speculative decoding are (Miao et al., SpecInfer, arXiv
 * 2305.09781; Cai et al., Medusa, arXiv 2401.10774): FOVEA_MASK_BYTE, [tokens][tokens], 1 where the key is the query or
 * one of its ancestors, else 0. With at_end and kv_tokens = tokens it serves queries that are the last keys: they see
 * the whole context before the tree, and of the tree their own branch.
 *   parents     [tokens]: an earlier token's number, or -1 for a child of the context (FOVEA_ERR_MASK)
 *   tokens      0 to 2^30 (FOVEA_ERR_SIZE)
 *   mask        row i begins at mask + i * row_stride, row_stride >= tokens (FOVEA_ERR_STRIDE). It may not overlap
 *               parents (FOVEA_ERR_OVERLAP)
 * Positions for fovea_rope are depths: the position of the parent plus 1. window_left and alibi_slopes count keys,
 * not depths, and are wrong in a tree: put them into the mask (examples/recipes/draft_tree.c). */
fovea_status fovea_tree_mask(const int32_t* parents, uint32_t tokens, uint8_t* mask, size_t row_stride);

/* ------------------------------------------------------------------------------------------------------- modifiers */

/* A score block: scores or weights of some queries and keys, for a modifier to change in place. Element (r, k), with
 * r < rows and k < keys, is data[r * row_stride + k * key_stride]. One of the strides is 1; which one depends on the
 * kernel. Rows are queries of the query heads that share the key head.
 *   key       k is key first_key + k of the entry; in a stream, counted from the first key of all
 *   query     row r is token tokens[r] of the entry, at position first_position + tokens[r]. first_position comes from
 *             the diagonal or first_positions, and is 0 if neither gives one */
typedef struct fovea_score_block {
  float* data;                      /* element (0, 0) */
  ptrdiff_t row_stride, key_stride; /* in floats; one of them is 1 */
  uint32_t rows, keys;              /* at least 1; keys at most 64 */
  uint32_t batch;                   /* the entry */
  uint32_t kv_head;                 /* the key head */
  const uint32_t* heads;            /* [rows]: the query head of each row */
  const uint32_t* tokens;           /* [rows]: the query token of each row */
  int64_t first_position;           /* of token 0 of the entry */
  int64_t first_key;                /* of the entry; in a stream, of all keys */
  uint32_t worker;                  /* of the executor; 0 without one */
} fovea_score_block;

/* The caller's own change of scores or weights, where no option says it (PyTorch's FlexAttention, Dong et al., arXiv
 * 2412.05496; ONNX's operator FlexAttention).
 *   calls     Each function gets blocks of any shape, in any order, and from several workers of an executor at once. It
 *             may read what self points to, and change the block's elements, nothing else. It may call the library,
 *             with other buffers.
 *   passes    A call goes through the keys once; once more if it has a function for weights, and once more if it writes
 *             scores out. A function may get an element in each pass, and must change it in the same way each time.
 *   hidden    A block may have elements of keys that a row does not see. A change of these has no effect.
 *   scores    score_mod gets them after scale, softcap and ALiBi, in natural units, before masks and limits, which
 *             hide keys as they do without a modifier. A score that becomes -inf has the weight 0, but a NaN in its
 *             value counts: only masks and limits hide keys. A row whose scores are all -inf is a row that sees no key.
 *   weights   weight_mod gets them after the softmax, normalised, before dropout. The output is the sum of values with
 *             the changed weights, which are not normalised again. A changed weight that is negative or below 2^-126
 *             counts as 0. lse does not see the change. Such a call takes the kernel for any number of rows. Neither
 *             streams nor plans with key_split_tokens serve this function (FOVEA_ERR_UNSUPPORTED). With
 *             FOVEA_COMPUTE_I8 a weight of inf makes its row NaN.
 *
 * Bits. Scores are multiplied by ln(2) before the function and by log2(e) after it, so even an identity function
 * changes the last bits. If the function's arithmetic has the same bits everywhere, so has the call: see
 * fovea_attention.
 *
 * Time. The function is called once for each 64 keys and vector of rows. A function of scores that does nothing takes
 * hardly any time. With one of weights a call takes about one and a half times as long, because queries and keys are
 * multiplied twice (bench/README.md, "Blocks and modifiers"). */
typedef struct fovea_modifier {
  void (*score_mod)(void* self, const fovea_score_block* block);  /* optional */
  void (*weight_mod)(void* self, const fovea_score_block* block); /* optional */
  void* self;                                                     /* for both */
} fovea_modifier;

/* ------------------------------------------------------------------------------------------------------- arguments */

/* The stage at which scores are written out. A ring serves no stage, pages and a loader serve only MASKED and SOFTMAX
 * (FOVEA_ERR_UNSUPPORTED). */
FOVEA_ENUM_(fovea_scores_stage, uint32_t) {
  FOVEA_SCORES_NONE = 0,
  FOVEA_SCORES_SCALED = 1,  /* scale * dot(q, k), for every key < kv_tokens, hidden ones too */
  FOVEA_SCORES_CAPPED = 2,  /* after softcap, for every key < kv_tokens, hidden ones too */
  FOVEA_SCORES_MASKED = 3,  /* after bias, modifier and masks; hidden keys are -inf */
  FOVEA_SCORES_SOFTMAX = 4, /* the weights, after modifier and dropout; hidden keys are 0. With a sink a row sums to
                               less than 1 */
};

/* The arguments of one call. Set all to 0 first, then fill in. No array may overlap an output (FOVEA_ERR_OVERLAP).
 *
 * Positions. first_positions is required (FOVEA_ERR_POSITIONS_MISSING) where causal or diagonal says POSITIONS, and for
 * windows and ALiBi if neither gives a diagonal. It is NULL where they say TOP_LEFT or BOTTOM_RIGHT
 * (FOVEA_ERR_POSITIONS_TWICE).
 *
 * Ragged batches. With q_offsets or kv_offsets the tokens of all entries follow one another on the token axis, and
 * batch strides are not read. Each array has one offset more than the call has entries: entry b has the tokens
 * offsets[b] <= t < offsets[b + 1]. Offsets never fall, and the last is at most q_tokens or kv_tokens
 * (FOVEA_ERR_LENGTH), which here count the tokens of all entries. An entry has at most max_q_tokens queries and
 * max_kv_tokens keys, all entries together at most max_batch times as many (FOVEA_ERR_CAPACITY). Masks and
 * first_positions begin anew with each entry. With kv_lengths an entry may have fewer keys than its offsets say.
 * kv_offsets need strided keys and values, and with q_offsets or kv_offsets no scores are written out
 * (FOVEA_ERR_UNSUPPORTED). For documents in one sequence, prefixes and left padding see examples/recipes/documents.c,
 * prefix_lm.c, left_padding.c. */
typedef struct fovea_attention_args {
  uint32_t struct_bytes; /* sizeof(fovea_attention_args) */

  /* Counts, each from 0 to the plan's capacity (FOVEA_ERR_CAPACITY). */
  uint32_t batch, q_tokens, kv_tokens;

  /* Outputs. */
  fovea_out out;    /* required: [batch][q_heads][q_tokens][value_dim] */
  fovea_out lse;    /* optional f32 [batch][q_heads][q_tokens]: log(sum_j exp(score)), the natural logarithm, with the
                       sink in the sum; -inf for an empty sum. Tokens are its last dimension: usually token_stride
                       is 1 */
  fovea_out scores; /* f32 [batch][q_heads][q_tokens][kv_tokens], required unless scores_stage is 0 */
  fovea_scores_stage scores_stage;

  /* Inputs. */
  fovea_in q;        /* required: [batch][q_heads][q_tokens][head_dim] */
  fovea_in q_scales; /* float [batch][q_heads][q_tokens], strides as in lse: required for I8 unless the description has
                        q_scale. Otherwise data is NULL (FOVEA_ERR_UNSUPPORTED). An infinite scale counts as NaN */
  fovea_kv_source kv;
  const float* value_channel_scales; /* optional [kv_heads][value_dim], only with FOVEA_COMPUTE_I8
                                        (FOVEA_ERR_UNSUPPORTED): factors of the elements of the outputs, after the
                                        normalisation. They may be infinite or NaN */
  ptrdiff_t value_channel_stride;    /* from a key head to the next, in floats; 0 = the same for all */

  const uint32_t* kv_lengths; /* optional [batch]: keys of each entry, <= kv_tokens (FOVEA_ERR_LENGTH); later keys and
                                 values are hidden. NULL = kv_tokens */
  const uint32_t* q_offsets;  /* optional [batch + 1]: for q, out and lse. See "Ragged batches" above */
  const uint32_t* kv_offsets; /* optional [batch + 1]: for keys and values. See "Ragged batches" above */
  const int64_t* first_positions; /* [batch]: the position of each entry's first query, within -2^62 to 2^62
                                 (FOVEA_ERR_SIZE). See "Positions" above */
  fovea_mask mask;                /* FOVEA_MASK_NONE = no mask */
  const float* alibi_slopes;      /* optional [q_heads]: adds -slope * |p - j| (Press et al., arXiv 2108.12409) */
  const float* sinks;        /* optional [q_heads]: for each head a logit that joins the normalisation and has no value
                                (gpt-oss; Xiao et al., arXiv 2309.17453) */
  const float* score_vector; /* [kv_heads][head_dim]: the vector v of FOVEA_SCORE_ADDITIVE, which requires it; with
                                other scores NULL (FOVEA_ERR_UNSUPPORTED) */
  ptrdiff_t score_vector_stride; /* from a key head to the next, in floats; 0 = the same for all */
  uint64_t dropout_seed;         /* decides which weights are dropped: "Dropout" above fovea_attention_desc */

  void* slow_workspace; /* optional: more workspace, where no single region is large enough; see fovea_attention */
  size_t slow_workspace_bytes; /* 0 = none */

  const fovea_executor* executor; /* optional; NULL = the calling thread does all */

  const fovea_block_map* block_map; /* optional; NULL = queries look at all keys */
  const fovea_modifier* modifier;   /* optional; NULL = scores and weights stay as they are */

  fovea_out key_mass; /* optional f32 [batch][kv_heads][kv_tokens]: the weights that each key gets are added to it.
                         Tokens are adjacent, token_stride is not read. See "Key mass" in kv_cache.h */
  const void* reserved; /* NULL (FOVEA_ERR_STRUCT): for later versions */
} fovea_attention_args;

/* Computes attention. workspace has at least fovea_attention_workspace_bytes(plan) bytes (FOVEA_ERR_WORKSPACE) and is
 * 64-byte aligned (FOVEA_ERR_ALIGNMENT). A call does not read its earlier contents, and leaves no result in it.
 *
 * Two regions. workspace may be smaller if args->slow_workspace has the same alignment and at least
 * fovea_attention_slow_workspace_bytes(plan, workspace_bytes) bytes. workspace is then the fast region (DTCM, for
 * example): it takes the arrays that are used most, as far as they fit, and the slow region takes the others. The bits
 * do not depend on the division.
 *
 * Bits. out, lse and scores are the same to the bit for any budget, any workers, any kv_kind and, without dropout, any
 * place in a batch. Those of the tile kernel are also the same for any number of rows in a tile, and on all IEEE
 * targets with fused multiply-add: see portable_bits. With FOVEA_COMPUTE_I8 and FOVEA_COMPUTE_F16 they are the same
 * from all kernels, on all targets. For key_mass see kv_cache.h.
 *
 * Time. No branch, skip or early exit depends on values: only shapes, counts, lengths, positions and block maps decide.
 * Some processors are themselves slower on subnormal numbers: x86 on data below about 1e-20 with SSE4 and plain scalar
 * code, and below 1e-38 with AVX2 and AVX-512, where attention takes up to 1.13 times as long, with additive scores 1.9
 * times. Their flush-to-zero mode avoids that. With FOVEA_COMPUTE_I8 a key tile takes longer where the scale of a value
 * is infinite or NaN. */
fovea_status fovea_attention(const fovea_attention_plan* plan, const fovea_attention_args* args, void* workspace,
                             size_t workspace_bytes);

FOVEA_DECLARATIONS_END_

#endif /* FOVEA_ATTENTION_H_ */
