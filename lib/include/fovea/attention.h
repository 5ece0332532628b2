/* fovea/attention.h: attention over keys and values that are there: description, plan, arguments, call.
 *
 * SPDX-License-Identifier: Apache-2.0
 *
 *     #include <fovea/attention.h>
 *
 *     static float q[2][16][64], keys[2][16][64], values[2][16][64], out[2][16][64];  // [heads][tokens][dim]
 *     static _Alignas(FOVEA_WORKSPACE_ALIGNMENT) unsigned char workspace[FOVEA_WORKSPACE_BYTES(64, 64)];
 *
 *     int main(void) {
 *       fovea_attention_desc desc = {.struct_bytes = sizeof desc, .q_heads = 2, .kv_heads = 2, .head_dim = 64,
 *                                    .value_dim = 64, .max_batch = 1, .max_q_tokens = 16, .max_kv_tokens = 16,
 *                                    .causal = FOVEA_CAUSAL_TOP_LEFT};
 *       fovea_plan plan;  // once
 *       if (fovea_plan_init(&plan, &desc) != FOVEA_OK) return 1;
 *
 *       fovea_attention_args args = {.struct_bytes = sizeof args, .batch = 1, .q_tokens = 16, .kv_tokens = 16};
 *       args.q = (fovea_in){.data = q, .head_stride = 16 * 64, .token_stride = 64};
 *       args.kv.keys = (fovea_in){.data = keys, .head_stride = 16 * 64, .token_stride = 64};
 *       args.kv.values = (fovea_in){.data = values, .head_stride = 16 * 64, .token_stride = 64};
 *       args.out = (fovea_out){.data = out, .batch_stride = 2 * 16 * 64, .head_stride = 16 * 64, .token_stride = 64};
 *       return fovea_attention(&plan, &args, workspace, sizeof workspace);  // for each layer and input; 0 is FOVEA_OK
 *     }
 *
 * Edge cases.
 *   a query that may see no key           its output is zeros, its lse -inf (with a sink: the sink), its row of weights
 *                                         zeros (Hugging Face's models differ: examples/recipes/hugging_face_mask.c)
 *   a score of +inf or NaN                NaN in that query's output, and in no other
 *   NaN or inf in a key or value that is  has no influence on that query
 *   hidden from a query
 *   a weight below 2^-126                 is exactly 0 (one below 2^-125 may be), and takes no longer than any other
 *                                         weight. With dropout this is the weight before its division by 1 - dropout
 *   zero queries, zero keys               allowed
 *   a score, sink, slope or mask beyond   counts as infinite: scores are kept in base 2
 *   2.3e38, or scale times a query
 *   values near FLT_MAX                   may overflow in the weighted sum, which is divided by the sum of weights only
 *                                         at the end: until then the weights are up to 1 each */
#ifndef FOVEA_ATTENTION_H_
#define FOVEA_ATTENTION_H_

#include "fovea/base.h"
#include "fovea/block_map.h"
#include "fovea/kv_source.h"
#include "fovea/workspace.h"

FOVEA_DECLARATIONS_BEGIN_

/* The same choice of p, the query's position, for windows and ALiBi without a causal limit. The diagonal is where key j
 * is at p. */
typedef enum fovea_diagonal FOVEA_ENUM_TYPE_(unsigned) {
  FOVEA_DIAGONAL_AS_CAUSAL = 0,    /* as causal says; with FOVEA_CAUSAL_NONE by positions, where an option needs p */
  FOVEA_DIAGONAL_TOP_LEFT = 1,     /* p = i: queries and keys begin together */
  FOVEA_DIAGONAL_BOTTOM_RIGHT = 2, /* p = i + (keys of the entry) - q_tokens: queries and keys end together */
  FOVEA_DIAGONAL_POSITIONS = 3,    /* p = i + positions[b] */
  FOVEA_DIAGONAL_IS_32_BITS = 0x7fffffff
} fovea_diagonal;

/* How a query and a key make a score. Linear layers inside a score function are not computed for each pair: apply them
 * once to all tokens, with fovea_linear or in a multi-head layer, as Bahdanau et al. do (appendix A.1.2):
 *     scaled dot  q . k / sqrt(head_dim)   Vaswani et al., arXiv 1706.03762, section 3.2.1
 *     dot         q . k                    Luong et al., arXiv 1508.04025, section 3.1; so are the next two
 *     general     q^T W k                  keys are W k: a linear layer with the weights W[head_dim][elements of k]
 *     concat      v^T tanh(W [q; k])       queries are W_q q and keys W_k k, where W_q and W_k are the two blocks of
 *                                          W's columns, each with W's row_stride
 *     additive    v^T tanh(W_1 q + W_2 k)  Bahdanau et al., arXiv 1409.0473, appendix A.1.2: queries are W_1 q, keys
 *                                          W_2 k */
typedef enum fovea_score FOVEA_ENUM_TYPE_(unsigned) {
  FOVEA_SCORE_SCALED_DOT = 0, /* scale * q . k; a scale of 0 is 1 / sqrt(head_dim) */
  FOVEA_SCORE_DOT = 1,        /* the same, but a scale of 0 is 1 */
  FOVEA_SCORE_ADDITIVE = 2,   /* scale * sum_d score_vector[d] * tanh(q[d] + k[d]); a scale of 0 is 1. tanh has an error
                                 of at most 1.5 ulp */
  FOVEA_SCORE_GENERAL = FOVEA_SCORE_DOT,     /* with keys as described above */
  FOVEA_SCORE_CONCAT = FOVEA_SCORE_ADDITIVE, /* with queries and keys as described above */
  FOVEA_SCORE_IS_32_BITS = 0x7fffffff
} fovea_score;

/* --------------------------------------------------------------------------------------------- description and plan */

/* What a plan is for: capacities, and the options that decide how the work is divided. Set all to 0 first, then fill
 * in. */
typedef struct fovea_attention_desc {
  uint32_t struct_bytes; /* sizeof(fovea_attention_desc) */

  /* Shape. The first four are >= 1 (FOVEA_ERR_DIM) and hold for every call; kv_heads divides q_heads
   * (FOVEA_ERR_HEADS). */
  uint32_t q_heads, kv_heads;
  uint32_t head_dim;  /* elements of a query and of a key */
  uint32_t value_dim; /* elements of a value and of an output row */
  /* Capacities: a call may have any count up to these. 0 is allowed; calls may then have only 0. */
  uint32_t max_batch, max_q_tokens, max_kv_tokens; /* max_kv_tokens <= 2^30 (FOVEA_ERR_SIZE) */

  /* Score: x = scale * score(q, k); with softcap > 0 then x = softcap * tanh(x / softcap); then bias and masks. */
  fovea_score score;
  float scale;   /* 0 = the default of the score; else finite, of either sign, at most 2.3e38 (FOVEA_ERR_NUMBER) */
  float softcap; /* 0 = none; else normal, > 0 and at most 5.8e37 (FOVEA_ERR_NUMBER). Gemma 2, arXiv 2408.00118,
                    section 2 */

  /* Visible keys. A query at position p sees the keys p - window_left < j < p + window_right; a window of 0 is
   * unlimited, and each window counts the key at p itself. window_left does not hide the pinned keys j < pinned_tokens.
   * The causal limit and the entry's length still apply to all of them. A causal limit is the same as window_right = 1.
   * With a causal limit, diagonal is 0 or names the same positions (FOVEA_ERR_POSITIONS_TWICE). For the slots that a
   * ring needs with window_left see ring_tokens. */
  fovea_causal causal;
  fovea_diagonal diagonal;
  uint32_t window_left, window_right;

  /* Each weight becomes 0 with probability dropout; the others are divided by 1 - dropout (Srivastava et al., JMLR 15,
   * 2014; inverted). 0 = none; else above 0 and below 1 (FOVEA_ERR_NUMBER). dropout_seed decides which are dropped.
   * A dropped weight is still multiplied by its value, so a NaN there counts. */
  float dropout;

  /* Types and source. */
  fovea_dtype q_dtype, key_dtype, value_dtype, out_dtype; /* q and out F32, F16 or BF16, and with FOVEA_COMPUTE_I8
                                                             also I8; keys and values not Q4_1
                                                             (FOVEA_ERR_UNSUPPORTED) */
  fovea_compute compute; /* the arithmetic of the products */

  /* Tensors of I8 with one scale and one zero point: x = scale * (code - zero), codes from -128 to 127.
   *   scales   0, or 2^-126 to 2^126 (FOVEA_ERR_NUMBER). 0 = each row of q, keys or values has a scale of its own, in
   *            an array, which else is NULL (FOVEA_ERR_UNSUPPORTED). out_scale is above 0 where out is I8, else 0. A
   *            scale beside another type is FOVEA_ERR_UNSUPPORTED.
   *   zeros    -128 to 127 (FOVEA_ERR_NUMBER); other than 0 only beside a scale here, and with FOVEA_COMPUTE_I8
   *            (FOVEA_ERR_UNSUPPORTED). q_zero needs keys of I8, key_zero queries of I8, and value_zero
   *            no dropout (FOVEA_ERR_UNSUPPORTED).
   * Scores are those of q and keys less their zeros, at every stage, but for the rounding that fovea_compute describes.
   * An output y becomes the code
   * round(y * (1 / out_scale)) + out_zero, to nearest, ties to even, and at most -128 or 127; NaN becomes out_zero. */
  float q_scale, key_scale, value_scale, out_scale;
  int32_t q_zero, key_zero, value_zero, out_zero;
  fovea_kv_kind kv_kind;

  /* Slots of a ring, for each entry: more than pinned_tokens; 0 with other kinds (FOVEA_ERR_SIZE). When n tokens are
   * appended at once, the first of them must still see window_left tokens (itself included), although the n - 1 after
   * it already have slots. The ring therefore needs (FOVEA_ERR_RING; see hide_gone)
   *     ring_tokens - pinned_tokens >= window_left + n - 1
   * where n is max_q_tokens, or the most tokens of a rejected draft that are taken back, whichever is more. Without a
   * window_left every token must stay: ring_tokens >= max_kv_tokens. */
  uint32_t ring_tokens;

  /* The first pinned_tokens tokens stay visible: window_left does not hide them, whatever the kind, and a ring keeps
   * them (StreamingLLM's sinks, arXiv 2309.17453). In a stream they are the tokens at the first positions. */
  uint32_t pinned_tokens;

  /* What happens when a query should see a token that is gone from its ring, its slot taken by a newer one.
   * 0: FOVEA_ERR_RING, for a plan whose ring is too small for max_q_tokens, and for a call in which lengths,
   * first_tokens, positions, windows and the count of keys that a mask covers let a query see such a token. The
   * elements of a mask are not looked at: a token that only they hide is refused, too.
   * Nonzero: both are served, and queries see what is there; without a window_left, all that the ring holds up to their
   * own position. The first of n new tokens then sees n - 1 tokens fewer than it would alone, because the other new
   * tokens have taken their slots. */
  uint32_t hide_gone;
  uint32_t page_tokens; /* tokens of a page, at least 1; 0 with other kinds (FOVEA_ERR_SIZE). Multiples of 64 are
                           fastest */

  /* How. */
  fovea_target target;    /* FOVEA_TARGET_BEST, or one that must be used (FOVEA_ERR_TARGET) */
  uint32_t portable_bits; /* nonzero: only the kernel whose bits are the same on AVX2, AVX-512 and AArch64 NEON, and for
                             any number of rows in a tile. 0: few rows may take the kernel that is faster for them.
                             With FOVEA_COMPUTE_I8 bits are the same either way */
  uint64_t processor_features; /* FOVEA_FEATURE_... that the processor has beside what the compiler was told of: on
                             AArch64 they make targets available, elsewhere they are ignored. 0 = none; other bits are
                             FOVEA_ERR_ENUM. Calls without this field take a target by what the compiler was told */
  size_t workspace_budget_bytes; /* 0 = as much as is fastest. Else the plan takes fewer query rows at a time until it
                                    fits; FOVEA_ERR_BUDGET when the smallest tile does not. Never changes bits */

  /* Threads: see fovea_executor. */
  uint32_t max_workers; /* most workers of a call's executor; each adds its part to the workspace. 0 = 1; at most 4096
                           (FOVEA_ERR_SIZE) */

  /* For few rows and many keys. 0 = a query's keys are never split. Else a multiple of 64 (FOVEA_ERR_SIZE): every
   * key_split_tokens keys become a task of their own, and the parts are merged in order. The bits depend on it, but not
   * on the number of workers. It costs workspace: a partial state of all rows for each part. Streams do not use it:
   * they merge by themselves. */
  uint32_t key_split_tokens;
} fovea_attention_desc;

/* What a plan knows about a kernel that its calls may take. */
typedef struct fovea_plan_kernel {
  uint32_t index;     /* of the kernel in the target's list */
  uint32_t most_rows; /* most query rows that it takes, counted for one key head of one batch entry; UINT32_MAX = any
                         number; 0 = calls do not take this kernel */
  uint32_t tile_rows; /* most query rows in a tile */
  uint32_t tiles;     /* most tiles that share each tile of keys */
} fovea_plan_kernel;

/* A plan: a plain structure without pointers into the description. fovea_plan_init makes it once; then it is read-only
 * and may be copied. Its fields are for reading, and may change between versions. */
typedef struct fovea_plan {
  fovea_attention_desc desc; /* scale and target resolved, so never 0; diagonal resolved where causal names it */
  uint32_t magic;            /* tells a plan of this version from other bytes */
  uint32_t lanes;            /* f32 elements in a vector of the target */
  uint32_t dot;              /* integer products: the target's instruction for them, as the library numbers these */
  fovea_plan_kernel kernels[2]; /* one for few query rows, then one for any number: a batch entry is served by the first
                                   that takes its rows */
  size_t worker_bytes;    /* of workspace, for each worker */
  size_t split_bytes;     /* of workspace, for the partial states of split keys, or of pushes with a loader */
  size_t workspace_bytes; /* in all */
} fovea_plan;

/* Validates the description, picks the target and chooses the tiles. On error *plan is not written. */
fovea_status fovea_plan_init(fovea_plan* plan, const fovea_attention_desc* desc);

/* Bytes of workspace that a call with this plan needs; 0 for a plan that fovea_plan_init did not make. */
size_t fovea_workspace_bytes(const fovea_plan* plan);

/* The same for another machine's target, so that a host can size a board's memory: desc.target is ignored.
 * FOVEA_TARGET_BEST asks for the largest over all targets. 0 when the description is not valid. */
size_t fovea_workspace_bytes_for(const fovea_attention_desc* desc, fovea_target target);

/* Bytes that args->slow_workspace needs beside a workspace of workspace_bytes. 0 if that workspace is enough by itself;
 * all that the call needs if workspace_bytes is 0 (the call's workspace is nevertheless never NULL). A larger workspace
 * does not always save as many bytes here, because each array lies wholly in one part or the other. */
size_t fovea_slow_workspace_bytes(const fovea_plan* plan, size_t workspace_bytes);

/* Writes one line into text that says what the plan will do: target and backend, tile, kernel, bytes. It writes at most
 * text_bytes, the closing 0 included. Returns the length of the whole line without the closing 0, as snprintf does;
 * text may be NULL when text_bytes is 0. q_tokens and kv_tokens are the counts of the call in question. */
size_t fovea_plan_describe(const fovea_plan* plan, uint32_t q_tokens, uint32_t kv_tokens, char* text,
                           size_t text_bytes);

/* ------------------------------------------------------------------------------------------------------------ masks */

typedef enum fovea_mask_kind FOVEA_ENUM_TYPE_(unsigned) {
  FOVEA_MASK_NONE = 0,
  FOVEA_MASK_F32 = 1,  /* float, added to the score; -inf, and anything <= -FLT_MAX / 2, hides the key */
  FOVEA_MASK_BYTE = 2, /* one byte for each query and key: 0 hides the key, anything else shows it */
  FOVEA_MASK_F16 = 3,  /* uint16_t as FOVEA_F16, added; -inf and the lowest number, -65504, hide the key */
  FOVEA_MASK_BF16 = 4, /* uint16_t as FOVEA_BF16, added; hides the key where the same number in float does */
  FOVEA_MASK_KIND_IS_32_BITS = 0x7fffffff
} fovea_mask_kind;

/* A mask [batch][q_heads][q_tokens][kv_tokens]; strides of 0 broadcast it over batch, heads or queries. Keys are
 * contiguous. With FOVEA_MASK_NONE all fields are 0; the other kinds need data (FOVEA_ERR_MASK). A mask that depends
 * only on key - query needs one line for each head, and a q_stride of -1: examples/recipes/relative_bias.c,
 * dilation.c. */
#define FOVEA_MASK_COVERS_NONE 0xffffffffu
typedef struct fovea_mask {
  fovea_mask_kind kind;
  uint32_t kv_tokens; /* keys that each row covers, at most the call's (FOVEA_ERR_MASK); later keys are hidden. 0 = all
                         keys of the call, or if keys are ragged as many as the longest entry has, where kv_lengths
                         make entries shorter; FOVEA_MASK_COVERS_NONE covers none, which hides all */
  const void* data;
  ptrdiff_t batch_stride, head_stride, q_stride;
  uint32_t broadcast_keys;   /* nonzero: a row has one element, which serves all keys that the row covers */
  const float* head_factors; /* optional [q_heads], not for bytes (FOVEA_ERR_MASK): the mask is multiplied by its head's
                                factor before it is added. Slopes for one mask of distances, for example (ggml's
                                max_bias). A hidden key stays hidden, even with a factor of 0; +inf times 0 is NaN */
  uint32_t at_end;           /* nonzero: the mask covers the last kv_tokens keys of each entry, of which none has fewer
                                (FOVEA_ERR_MASK), and shows all keys before them. kv_tokens then says how many, from 1
                                (FOVEA_ERR_MASK). For new tokens behind a long context: fovea_tree_mask */
} fovea_mask;

/* Writes the mask of a tree of tokens, as drafts of speculative decoding are (Miao et al., SpecInfer, arXiv
 * 2305.09781; Cai et al., Medusa, arXiv 2401.10774): FOVEA_MASK_BYTE, [tokens][tokens], 1 where the key is the query or
 * one of its ancestors, else 0. With at_end and kv_tokens = tokens it serves queries that are the last keys: they see
 * the whole context before the tree, and of the tree their own branch.
 *   parents     [tokens]: an earlier token's number, or -1 for a child of the context (FOVEA_ERR_MASK)
 *   mask        row i begins at mask + i * row_stride, row_stride >= tokens (FOVEA_ERR_STRIDE). It may not overlap
 *               parents (FOVEA_ERR_OVERLAP)
 * Positions for fovea_rope_f32 are depths: those of an ancestor plus 1. */
fovea_status fovea_tree_mask(const int32_t* parents, uint32_t tokens, uint8_t* mask, size_t row_stride);

/* -------------------------------------------------------------------------------------------------------- modifiers */

/* Scores or weights of some queries and keys, for a modifier to change in place: element (r, k), r < rows and k < keys,
 * stands at data[r * row_stride + k * key_stride]; one of the strides is 1, whichever the kernel has. Rows are queries
 * of all heads that share the key head. Key k is the attention's key first_key + k, and in streams counts from the
 * first key of all. Query tokens count from the first of the call's entry; the position of row r is first_position +
 * tokens[r], with first_position as the diagonal or positions say, and 0 where nothing says any. */
typedef struct fovea_score_block {
  float* data;
  ptrdiff_t row_stride, key_stride;
  uint32_t rows, keys;    /* at least 1; keys at most 64 */
  uint32_t batch;         /* the entry */
  uint32_t kv_head;       /* the key head */
  const uint32_t* heads;  /* [rows]: the query head of each row */
  const uint32_t* tokens; /* [rows]: the query token of each row */
  int64_t first_position;
  int64_t first_key;
  uint32_t worker; /* of the executor; 0 without one */
} fovea_score_block;

/* What a call may do to scores and weights that no option says (PyTorch's FlexAttention, Dong et al., arXiv 2412.05496;
 * ONNX's operator of that name). Each function gets blocks of any shape, in any order, and from the workers of an
 * executor side by side. It may read what self points to, and change the block's elements, nothing else; it may call
 * the library, with other buffers. An element is handed out once in each pass over the keys, and must be changed in the
 * same way each time: calls with `weights` make one pass more, and scores out another. Elements of keys that a row does
 * not see may be among them: what becomes of those changes nothing.
 *   scores   after scale, softcap and ALiBi, in natural units, before masks and limits, which hide what they hide. A
 *            score that becomes -inf has the weight 0, but a NaN in its value counts: masks alone hide keys. A row of
 *            -inf alone is a row that sees no key.
 *   weights  after the softmax, normalised, and before dropout; the output is the sum of values with what stands
 *            there then, not normalised again. What is below 2^-126 then, negative numbers too, counts as 0. lse is
 *            that of the softmax. Such a call takes the kernel for any number of rows. Not in streams, and not with
 *            key_split_tokens (FOVEA_ERR_UNSUPPORTED). With FOVEA_COMPUTE_I8 a weight of inf makes its row NaN.
 * Bits. Scores are multiplied by ln(2) before and by log2(e) behind: a function that changes nothing changes last
 * bits. Where its arithmetic has the same bits everywhere, so has the call, as fovea_attention promises.
 * Time. One call of the function for each 64 keys and vector of rows. One of scores that does nothing costs 3 to 8 % of
 * a call with head_dim 64, one of weights two thirds of it: queries and keys are multiplied twice (bench/README.md,
 * "Blocks and modifiers"). */
typedef struct fovea_modifier {
  void (*scores)(void* self, const fovea_score_block* block);  /* optional */
  void (*weights)(void* self, const fovea_score_block* block); /* optional */
  void* self;                                                  /* for both */
} fovea_modifier;

/* -------------------------------------------------------------------------------------------------------- arguments */

/* The stage at which scores are written out: no stage with a ring, and not the first two with pages or a loader
 * (FOVEA_ERR_UNSUPPORTED). */
typedef enum fovea_scores_stage FOVEA_ENUM_TYPE_(unsigned) {
  FOVEA_SCORES_NONE = 0,
  FOVEA_SCORES_SCALED = 1,  /* scale * dot(q, k), for every key < kv_tokens, hidden ones too */
  FOVEA_SCORES_CAPPED = 2,  /* after softcap, otherwise the same */
  FOVEA_SCORES_MASKED = 3,  /* after bias, modifier and masks; hidden keys are -inf */
  FOVEA_SCORES_SOFTMAX = 4, /* the weights, after modifier and dropout; hidden keys are 0. With a sink a row sums to
                               less than 1 */
  FOVEA_SCORES_IS_32_BITS = 0x7fffffff
} fovea_scores_stage;

/* The arguments of one call. Set all to 0 first, then fill in. No array may overlap an output (FOVEA_ERR_OVERLAP). */
typedef struct fovea_attention_args {
  uint32_t struct_bytes; /* sizeof(fovea_attention_args) */

  /* Counts, each within the plan's capacity (FOVEA_ERR_CAPACITY). */
  uint32_t batch, q_tokens, kv_tokens;

  /* Outputs. */
  fovea_out out;    /* required: [batch][q_heads][q_tokens][value_dim] */
  fovea_out lse;    /* optional f32 [batch][q_heads][q_tokens]: log(sum_j exp(score)), the natural logarithm, with the
                       sink in the sum; -inf for an empty sum. Tokens are its last dimension: usually token_stride
                       is 1 */
  fovea_out scores; /* f32 [batch][q_heads][q_tokens][kv_tokens], required unless scores_stage is 0 */
  fovea_scores_stage scores_stage;

  /* Inputs. */
  fovea_in q; /* required: [batch][q_heads][q_tokens][head_dim] */
  fovea_in q_scales; /* float [batch][q_heads][q_tokens], as lse: required for I8 unless the description has q_scale,
                        else data NULL (FOVEA_ERR_UNSUPPORTED). An infinite one counts as NaN */
  fovea_kv_source kv;
  const float* value_channel_scales; /* optional [kv_heads][value_dim], with FOVEA_COMPUTE_I8 (FOVEA_ERR_UNSUPPORTED):
                                        each element of the outputs is multiplied by its own, after the
                                        normalisation: by an infinite or NaN one, too */
  ptrdiff_t value_channel_stride;    /* from a key head to the next; 0 = the same for all */

  const uint32_t* kv_lengths; /* optional [batch]: keys of each entry, <= kv_tokens (FOVEA_ERR_LENGTH); NULL =
                                 kv_tokens. Keys and values behind the length are hidden */

  /* Ragged batches: entries lie one after the other on the token axis, and batch strides are not read. Each array has
   * one offset more than there are entries. Entry b has the tokens from offsets[b] up to, but without, offsets[b + 1].
   * Offsets never fall, and the last is at most q_tokens or kv_tokens (FOVEA_ERR_LENGTH), which here count the tokens
   * of all entries. For documents in one sequence, prefixes and left padding see examples/recipes/documents.c,
   * prefix_lm.c, left_padding.c. */
  const uint32_t* q_offsets;  /* optional [batch + 1]: for q, out and lse. An entry has at most max_q_tokens, all
                                 entries together at most max_batch * max_q_tokens (FOVEA_ERR_CAPACITY). Not with
                                 scores (FOVEA_ERR_UNSUPPORTED) */
  const uint32_t* kv_offsets; /* optional [batch + 1]: for strided keys and values. An entry has at most max_kv_tokens,
                                 all entries together at most max_batch * max_kv_tokens (FOVEA_ERR_CAPACITY); with
                                 kv_lengths an entry may have fewer than its offsets say. Masks and positions begin
                                 anew with each entry. Not with scores (FOVEA_ERR_UNSUPPORTED) */
  const int64_t* positions; /* [batch]: the position of each entry's first query, within -2^62 to 2^62 (FOVEA_ERR_SIZE).
                               Required (FOVEA_ERR_POSITIONS_MISSING) where causal or diagonal says POSITIONS, and for
                               windows and ALiBi where neither says anything. NULL where they say TOP_LEFT or
                               BOTTOM_RIGHT (FOVEA_ERR_POSITIONS_TWICE) */
  fovea_mask mask;
  const float* alibi_slopes; /* optional [q_heads]: adds -slope * |p - j| (Press et al., arXiv 2108.12409) */
  const float* sinks;        /* optional [q_heads]: for each head a logit that joins the normalisation and has no value
                                (gpt-oss; Xiao et al., arXiv 2309.17453) */
  const float* score_vector; /* [kv_heads][head_dim]: v of FOVEA_SCORE_ADDITIVE, required; else NULL
                                (FOVEA_ERR_UNSUPPORTED) */
  ptrdiff_t score_vector_stride; /* from a key head to the next; 0 = the same for all */

  /* Decides which weights dropout drops. Philox 4x32-10 (Salmon et al., "Parallel random numbers: as easy as 1, 2, 3",
   * SC 2011) makes four 32-bit numbers from dropout_seed as its key (low half first) and the counter (j / 4, i, query
   * head, batch entry). The weight of query i and attention key j is dropped where the upper 24 bits of number j % 4
   * are less than dropout * 2^24. In a stream, j counts from the first key of all, modulo 2^34. So the place of a
   * weight alone decides, whatever tile, split, worker or push it is in. i counts from 0 in each call and entry: give
   * each step of a decoder, and each layer, a seed of its own. */
  uint64_t dropout_seed;

  void* slow_workspace; /* optional: more workspace, where no single region is large enough; see fovea_attention */
  size_t slow_workspace_bytes; /* 0 = none */

  const fovea_executor* executor; /* optional; NULL = the calling thread does all */

  const fovea_block_map* block_map; /* optional; NULL = queries look at all keys */
  const fovea_modifier* modifier;   /* optional; NULL = scores and weights stay as they are */
} fovea_attention_args;

/* Computes attention. workspace has at least fovea_workspace_bytes(plan) bytes (FOVEA_ERR_WORKSPACE) and is 64-byte
 * aligned (FOVEA_ERR_ALIGNMENT). What it holds before and after a call means nothing.
 * It may be smaller if args->slow_workspace has the same alignment and at least
 * fovea_slow_workspace_bytes(plan, workspace_bytes) bytes. workspace is then the fast part (DTCM, for example): it
 * takes the arrays that are used most, as far as they fit, and the slow part takes the others. The bits do not depend
 * on the division.
 * Bits. The output is the same to the bit for any budget, any workers, any kv_kind and any place in a batch. The output
 * of the tile kernel is also the same for any number of rows in a tile, and on all IEEE targets with fused
 * multiply-add; see portable_bits. With FOVEA_COMPUTE_I8 it is the same from all kernels, on all targets.
 * Time. No branch, skip or early exit depends on values: only shapes, counts, lengths and positions decide. Some
 * processors are themselves slower on subnormal numbers: x86 on data below about 1e-20 with SSE4 and plain scalar code,
 * and below 1e-38 with AVX2 and AVX-512, where attention takes up to 1.13 times as long, with additive scores 1.9
 * times. Their flush-to-zero mode avoids that. With FOVEA_COMPUTE_I8 a tile of keys takes longer where the scale of a
 * value is infinite or NaN. */
fovea_status fovea_attention(const fovea_plan* plan, const fovea_attention_args* args, void* workspace,
                             size_t workspace_bytes);

FOVEA_DECLARATIONS_END_

#endif /* FOVEA_ATTENTION_H_ */
