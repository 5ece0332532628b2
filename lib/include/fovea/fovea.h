/* fovea: attention on small machines.
 *
 * SPDX-License-Identifier: Apache-2.0
 *
 * This header is the whole C interface (C99) and its manual.
 *
 * What the library does. Given queries, keys and values in buffers that the caller owns, it computes
 *
 *     out[i] = sum_j w[i][j] * value[j],   w[i] = softmax_j(score(i, j)),   score(i, j) = scale * dot(query[i], key[j])
 *
 * (Vaswani et al., "Attention Is All You Need", arXiv 1706.03762, eq. 1; for other scores see fovea_score) with the
 * options that models use today. It does so in one pass over the keys, with a running maximum and sum (Milakov and
 * Gimelshein, arXiv 1805.02867; Dao et al., FlashAttention, arXiv 2205.14135), so the matrix of scores never exists.
 *
 * What it never does: allocate, throw, print, abort, read the environment, start a thread, keep global state, or touch
 * a byte outside the buffers it was given.
 *
 * Re-entrance. Every function is re-entrant: all state is in the arguments. A plan is read-only after fovea_plan_init.
 * Any number of threads may use it at once, each with its own workspace. An interrupt handler or a fibre may call
 * fovea if its stack is large enough (3.25 KiB on Cortex-M, 5.5 KiB on 64-bit processors, 6 KiB with AVX-512;
 * multi-head layers need 1.3 KiB more, and integer products with rows of I4 need 3 KiB more on 64-bit processors:
 * bench/size.py) and if the floating-point and vector registers that the target uses are saved (on Cortex-M lazy
 * stacking does that when left on; on x86 the operating system does).
 * fovea runs in the caller's floating-point environment and assumes the default rounding mode. Flush-to-zero, which is
 * always on for the vectors of 32-bit Arm, changes only subnormal results, and sets scores smaller than
 * softcap * 2^-126, and with FOVEA_COMPUTE_I8 scales of keys below 2^-126, to 0.
 *
 * Conventions.
 *   tokens    q_tokens queries attend to kv_tokens keys; each key has a value.
 *   heads     q_heads query heads share kv_heads key/value heads: query head h reads key head h / (q_heads / kv_heads).
 *             q_heads == kv_heads is multi-head, kv_heads == 1 multi-query, anything between grouped-query attention.
 *   _stride   counts elements of the array, not bytes. An input's stride may be 0 (the same data again: broadcasting)
 *             or negative. Strides have no defaults. The last dimension is always contiguous.
 *   _bytes    counts bytes.
 *   NULL      for an optional array means: do without it. Required pointers are marked as required.
 *   errors    are negative fovea_status values. A call that fails has written nothing, except with FOVEA_ERR_LOAD and
 *             FOVEA_ERR_EXECUTOR.
 *   numbers   arithmetic is IEEE single precision; products may be of integers (fovea_compute). Only memory limits
 *             sizes: every product of sizes is checked for overflow (FOVEA_ERR_SIZE).
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
 *                                         at the end: until then the weights are up to 1 each
 *
 * Versions. While the first number is 0, names and structures may change whenever the second number does; a program
 * can check it with fovea_version(). The third number counts corrections. These two promises hold already: a structure
 * that begins with struct_bytes may grow at its end, and 0 in a new field means what the version before did.
 * Results may change in the last bits with any version. */
#ifndef FOVEA_FOVEA_H_
#define FOVEA_FOVEA_H_

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif
#if defined(__GNUC__)
#pragma GCC visibility push(default) /* all that a shared library exports */
#endif

#define FOVEA_VERSION_MAJOR 0
#define FOVEA_VERSION_MINOR 2
#define FOVEA_VERSION_PATCH 0
#define FOVEA_VERSION (FOVEA_VERSION_MAJOR * 10000 + FOVEA_VERSION_MINOR * 100 + FOVEA_VERSION_PATCH)

/* The linked library's FOVEA_VERSION, to be compared with the header's. */
uint32_t fovea_version(void);

/* Alignment in bytes that a workspace must have. Inputs and outputs need only the alignment of their elements. */
#define FOVEA_WORKSPACE_ALIGNMENT 64

/* In C++ each enum has a fixed underlying type, so that a field may hold any 32 bits and a wrong value is refused
 * (FOVEA_ERR_ENUM). */
#if defined(__cplusplus) && __cplusplus >= 201103L
#define FOVEA_ENUM_TYPE_(type) : type
#else
#define FOVEA_ENUM_TYPE_(type)
#endif

/* ---------------------------------------------------------------------------------------------------- statuses */

typedef enum fovea_status FOVEA_ENUM_TYPE_(int) {
  FOVEA_OK = 0,
  FOVEA_ERR_NULL = -1,        /* a required pointer is NULL */
  FOVEA_ERR_STRUCT = -2,      /* struct_bytes is not the size of the structure in this version */
  FOVEA_ERR_ENUM = -3,        /* an enum field holds no value of its enum */
  FOVEA_ERR_UNSUPPORTED = -4, /* a valid choice that this build, or this combination of options, does not serve */
  FOVEA_ERR_TARGET = -5,      /* the target is not compiled in, or this processor cannot run it */
  FOVEA_ERR_DIM = -6,         /* head_dim, value_dim, q_heads, kv_heads, dim, in_dim or out_dim is 0; rotary_dim is odd
                                or larger than dim */
  FOVEA_ERR_HEADS = -7,       /* kv_heads does not divide q_heads */
  FOVEA_ERR_SIZE = -8,        /* a size is out of range, differs from its counterpart, or overflows with the strides */
  FOVEA_ERR_NUMBER = -9,      /* scale, softcap, dropout, base or position_scale is NaN, infinite or out of its range */
  FOVEA_ERR_BUDGET = -10,     /* workspace_budget_bytes is too small for even the smallest tile of rows */
  FOVEA_ERR_PLAN = -11,       /* the plan or cache was not initialised by this version */
  FOVEA_ERR_CAPACITY = -12,   /* a count is greater than the capacity of the plan or cache */
  FOVEA_ERR_LENGTH = -13,     /* a length or offset is greater than the whole that it is part of: kv_lengths greater
                                than kv_tokens, for example */
  FOVEA_ERR_POSITIONS_MISSING = -14, /* an option needs the queries' positions, but neither positions nor a diagonal
                                       gives them */
  FOVEA_ERR_MASK = -15,       /* the mask's fields contradict one another */
  FOVEA_ERR_STRIDE = -16,    /* an output's strides do not nest: each must be large enough to step over everything that
                                the smaller ones cover, or two elements could share a place */
  FOVEA_ERR_OVERLAP = -17,   /* an output or the workspace overlaps another buffer of the call. An array counts as the
                                whole span from its first to its last element */
  FOVEA_ERR_ALIGNMENT = -18, /* a pointer is not aligned to its element, or the workspace to 64 bytes */
  FOVEA_ERR_WORKSPACE = -19, /* the workspace, or a cache's memory, is smaller than its size function says */
  FOVEA_ERR_LOAD = -20,      /* a load callback failed: outputs are unspecified */
  FOVEA_ERR_STATE = -21,     /* the memory is too small for the state, or holds no state that fits the call */
  FOVEA_ERR_IMAGE = -22,     /* the bytes are not the image of a state, or have changed since they were written */
  FOVEA_ERR_EXECUTOR = -23,  /* the executor failed, skipped a task, or used a task or worker that does not exist */
  FOVEA_ERR_PAGE = -24,      /* a page table names a page that the pool does not have */
  FOVEA_ERR_FULL = -25,      /* a cache has no room for the tokens */
  FOVEA_ERR_POSITIONS_TWICE = -26, /* positions are given twice: positions beside a diagonal or token_positions, or a
                                     diagonal other than the one that causal names */
  FOVEA_ERR_POSITION_RANGE = -27,  /* a token's position is not in the tables of cos and sin */
  FOVEA_ERR_RING = -28,      /* a ring has too few slots for its window and the most new tokens, or a query should see a
                                token that the ring has lost: see ring_tokens and hide_gone */
  FOVEA_ERR_MAP = -29,       /* a block map's sizes are out of range, or a list of it is out of order or names a block of
                                keys that does not exist */
  FOVEA_STATUS_IS_32_BITS = 0x7fffffff /* not a status: keeps the type 32 bits wide under -fshort-enums */
} fovea_status;

/* A short English sentence for the status, without a full stop; "unknown status" for any other number. Never NULL. */
const char* fovea_status_string(fovea_status status);

/* ----------------------------------------------------------------------------------------------------- targets */

/* The instruction set that the kernels use. */
typedef enum fovea_target FOVEA_ENUM_TYPE_(unsigned) {
  FOVEA_TARGET_BEST = 0,   /* the best that is compiled in and that this processor runs */
  FOVEA_TARGET_SCALAR = 1, /* no vector unit: 1 lane */
  FOVEA_TARGET_SSE4 = 2,   /* x86 SSE4.2, 4 lanes; no fused multiply-add */
  FOVEA_TARGET_AVX2 = 3,   /* x86 AVX2 + FMA3 + F16C, 8 lanes */
  FOVEA_TARGET_AVX512 = 4, /* x86 AVX-512 F, BW, DQ, VL, 16 lanes */
  FOVEA_TARGET_NEON = 5,   /* Arm Advanced SIMD, 4 lanes */
  FOVEA_TARGET_HELIUM = 6, /* Arm M-profile vector extension with floating point, 4 lanes */
  FOVEA_TARGET_WASM = 7,   /* WebAssembly SIMD128, 4 lanes; no fused multiply-add */
  /* Targets that extend another one: they run its kernels, with its bits, on processors that have more. */
  FOVEA_TARGET_AVX512_VNNI = 8,   /* FOVEA_TARGET_AVX512, and AVX-512 VNNI */
  FOVEA_TARGET_AVX2_VNNI = 9,     /* FOVEA_TARGET_AVX2, and AVX-VNNI */
  FOVEA_TARGET_NEON_DOTPROD = 10, /* FOVEA_TARGET_NEON, and dot products of int8: FEAT_DotProd */
  FOVEA_TARGET_NEON_I8MM = 11,    /* FOVEA_TARGET_NEON_DOTPROD, and matrix products of int8: FEAT_I8MM */
  /* The same for processors that run instructions in order, as Cortex-A53, A55 and A510 do: products of f32 have kernels
   * of their own, with the same bits. In builds for AArch64 with both: see FOVEA_IN_ORDER of CMake. */
  FOVEA_TARGET_NEON_IN_ORDER = 12,
  FOVEA_TARGET_NEON_IN_ORDER_DOTPROD = 13,
  FOVEA_TARGET_NEON_IN_ORDER_I8MM = 14,
  FOVEA_TARGET_XSIMD = 64, /* the target that the xsimd backend was compiled for, where a build has several backends */
  FOVEA_TARGET_IS_32_BITS = 0x7fffffff
} fovea_target;

/* Features of AArch64 processors, for processor_features of fovea_attention_desc. The processor does not tell them to a
 * program: where the compiler was not told of them either (-march=armv8.2-a+dotprod), the caller asks the system, on
 * Linux getauxval(AT_HWCAP) and getauxval(AT_HWCAP2). */
#define FOVEA_FEATURE_NEON_DOTPROD 1u /* HWCAP_ASIMDDP */
#define FOVEA_FEATURE_NEON_I8MM 2u    /* HWCAP2_I8MM */
/* It runs instructions in order, by its number in MIDR_EL1. Where processors differ, say so only if all of them do: the
 * kernels for them take a tenth to a fifth longer on others. */
#define FOVEA_FEATURE_NEON_IN_ORDER 4u

/* How many of the compiled targets this processor can run, at least 1; and the i-th of them, best first
 * (FOVEA_TARGET_BEST when i is out of range). On AArch64 these are the targets for processor_features = 0. */
uint32_t fovea_target_count(void);
fovea_target fovea_target_at(uint32_t index);

/* "avx2", "scalar", ...; "xsimd" for FOVEA_TARGET_XSIMD; NULL for a number that is no target. */
const char* fovea_target_name(fovea_target target);
/* The reverse: FOVEA_TARGET_IS_32_BITS where no target has that name. "best" and "" name FOVEA_TARGET_BEST. */
fovea_target fovea_target_from_name(const char* name);
/* The backend that serves the target in this build, "helium", "highway", "neon", "xsimd" or "scalar"; NULL where the
 * target is not compiled in. */
const char* fovea_target_backend(fovea_target target);

/* ----------------------------------------------------------------------------------------------------- softmax */

/* Softmax along one axis of a three-dimensional array, in[outer][axis][inner]:
 *     out = exp(x - max(x)) / sum(exp(x - max(x))),    x = scale * in + mask,    over the axis.
 * Any array fits: all dimensions before the axis together are outer, all dimensions after it together inner. With
 * inner == 1 the axis may have any stride; with inner > 1 the inner dimension is contiguous.
 *   outer, axis, inner    counts; any may be 0: nothing is written.
 *   scale                 1 / temperature. 0 means 1, that is, no scaling. Finite (FOVEA_ERR_NUMBER).
 *   in, out               required unless a count is 0. out may be in with the same strides; any other overlap is
 *                         FOVEA_ERR_OVERLAP.
 *   mask                  optional, added to scale * in; strides of 0 broadcast it. mask_inner_stride is 0 or 1.
 *                         A mask value of -FLT_MAX / 2 or below (-inf too) hides the element: its weight is 0, even
 *                         where in is NaN.
 * Results. Every weight has an error of at most 3 ulp, plus half an ulp for each doubling of the axis, plus the effect
 * of rounding x and x - max(x) to float (up to |x - max(x)| half ulps of a weight). A row in which everything is
 * hidden or -inf gives zeros (log-softmax: -inf). A +inf or NaN that is not hidden makes its row NaN. The bits are the same
 * on AVX2, AVX-512 and AArch64. */
typedef struct fovea_softmax_args {
  uint32_t struct_bytes; /* sizeof(fovea_softmax_args) */
  fovea_target target;   /* FOVEA_TARGET_BEST, or one that must be used (FOVEA_ERR_TARGET) */
  float* out;
  ptrdiff_t out_outer_stride, out_axis_stride;
  const float* in;
  ptrdiff_t in_outer_stride, in_axis_stride;
  const float* mask;
  ptrdiff_t mask_outer_stride, mask_axis_stride, mask_inner_stride;
  size_t outer, axis, inner;
  float scale;
} fovea_softmax_args;

fovea_status fovea_softmax_f32(const fovea_softmax_args* args);

/* out = x - max(x) - log(sum(exp(x - max(x)))): the same arguments and edge cases, but a hidden element gives -inf. */
fovea_status fovea_log_softmax_f32(const fovea_softmax_args* args);

/* --------------------------------------------------------------------------------------------------- attention */

/* The type of elements in memory; for that of the products see fovea_compute. Queries and outputs may be f32, f16 or
 * bf16; keys and values may have any type but Q4_1, each their own. Narrowing rounds to nearest, ties to even. */
typedef enum fovea_dtype FOVEA_ENUM_TYPE_(unsigned) {
  FOVEA_F32 = 0,
  FOVEA_F16 = 1,  /* uint16_t, IEEE 754 binary16 */
  FOVEA_BF16 = 2, /* uint16_t, the upper half of an f32 */
  /* int8_t q from -127 to 127, with one float scale for each row of a token and head: x = scale * q. The element of
   * largest magnitude in a row becomes 127 or -127, so the error is at most scale / 2, plus f32 rounding of less than
   * scale / 10000. The scale is at least 2^-126: rows below 127 * 2^-126 use smaller q, with the same bound. A row with
   * a NaN or an infinity becomes all NaN. An infinite scale that is read counts as NaN. */
  FOVEA_I8 = 3,
  /* uint8_t[16] for each group of 32 elements of a row (the last group is filled up), with one f16 scale, a uint16_t:
   * x = scale * (u - 8). The low nibble of byte i is u of element i, the high nibble is u of element i + 16.
   * The scale has either sign; of a few candidates it is the one with the least squared error. Its magnitude is at most
   * 65504: where a group needs more, its elements saturate at 8 * 65504 with the sign of the largest and at 7 * 65504
   * with the other sign. A group whose elements are all below 2e-7 becomes zeros; a group with a NaN or an infinity
   * becomes all NaN. Where an infinite scale is read, elements are infinite, and NaN where u is 8. */
  FOVEA_I4 = 4,
  /* ggml's blocks, as a GGUF file has them: so many uint8_t for each group of 32 elements of a row (the last group is
   * filled up), scales inside. Strides count bytes, a block may lie at any address, and arrays of scales are NULL.
   * d and m are f16, little-endian; the 16 bytes of u are those of I4. Where an infinite d or m is read, elements are
   * infinite or NaN.
   * Narrowing to Q8_0: d is the largest magnitude / 127, rounded to f16, and q the nearest to x / d. The error is at
   * most d / 2, plus f32 rounding of less than d / 10000, where the largest magnitude is 0.008 to 127 * 65504; smaller
   * groups have a coarser d, larger elements saturate. Narrowing to Q4_0 is that to I4. A group with a NaN or an
   * infinity becomes all NaN. */
  FOVEA_Q8_0 = 5, /* uint8_t[34]: d, int8_t q[32]: x = d * q */
  FOVEA_Q4_0 = 6, /* uint8_t[18]: d, u: x = d * (u - 8) */
  FOVEA_Q4_1 = 7, /* uint8_t[20]: d, m, u: x = d * u + m. For weights of linear layers alone */
  FOVEA_DTYPE_IS_32_BITS = 0x7fffffff
} fovea_dtype;

/* Which keys a query may see because of its position. Key j of a batch entry is at position j. A causal query at
 * position p sees the keys at positions <= p. Libraries differ on p, the position of query i in batch entry b: */
typedef enum fovea_causal FOVEA_ENUM_TYPE_(unsigned) {
  FOVEA_CAUSAL_NONE = 0,         /* every query sees every key */
  FOVEA_CAUSAL_TOP_LEFT = 1,     /* p = i */
  FOVEA_CAUSAL_BOTTOM_RIGHT = 2, /* p = i + (keys of the entry) - q_tokens: the last query sees the last key. Queries at
                                    negative positions (more queries than keys) see nothing */
  FOVEA_CAUSAL_POSITIONS = 3,    /* p = i + positions[b], which may be negative */
  FOVEA_CAUSAL_IS_32_BITS = 0x7fffffff
} fovea_causal;

/* The same choice of p, the query's position, for windows and ALiBi without a causal limit. The diagonal is where key j
 * is at p. */
typedef enum fovea_diagonal FOVEA_ENUM_TYPE_(unsigned) {
  FOVEA_DIAGONAL_AS_CAUSAL = 0,    /* as causal says; with FOVEA_CAUSAL_NONE by positions, where an option needs p */
  FOVEA_DIAGONAL_TOP_LEFT = 1,     /* p = i: queries and keys begin together */
  FOVEA_DIAGONAL_BOTTOM_RIGHT = 2, /* p = i + (keys of the entry) - q_tokens: queries and keys end together */
  FOVEA_DIAGONAL_POSITIONS = 3,    /* p = i + positions[b] */
  FOVEA_DIAGONAL_IS_32_BITS = 0x7fffffff
} fovea_diagonal;

/* Where keys and values come from. The choice does not change the bits of the result. */
typedef enum fovea_kv_kind FOVEA_ENUM_TYPE_(unsigned) {
  FOVEA_KV_STRIDED = 0, /* arrays with strides, like the inputs of most libraries */
  FOVEA_KV_RING = 1,    /* a fixed number of slots, which hold some pinned tokens and the newest others */
  FOVEA_KV_PAGED = 2,   /* pages of a pool, in the order of a table */
  FOVEA_KV_LOAD = 3,    /* not in memory: a callback brings a tile at a time */
  FOVEA_KV_KIND_IS_32_BITS = 0x7fffffff
} fovea_kv_kind;

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

/* The arithmetic of the two products of attention, q.k and weights times values. All that lies between them is f32
 * either way: softcap, bias, masks, and the softmax with its running maximum and sum.
 * FOVEA_COMPUTE_I8. Keys and values are I8, I4, Q8_0 or Q4_0; a row of groups is converted to an I8 row first. A query
 * row is converted like a row of I8 keys, after it was multiplied by scale. Weights are rounded for each key tile: with
 * p the weight and c the scale of the value's row, to u = round(255 p c / max(p c)), where the maximum is that of the
 * keys of the tile that the query sees, and at least 2^-116. A tile that holds both pinned keys and keys of a window or
 * ring is attended to in two parts, each with a maximum of its own. A negative scale of a value counts as NaN.
 * Both sums of products of codes are exact. What zero points and key_center add to a score, and what value_zero adds to
 * the sums of a key tile, is put in or taken out in f32, and rounds.
 * lse and the scores that are written out, weights among them, come from weights that are not rounded to codes. These
 * weights have a shorter exp2, with a relative error of up to 1.02e-4: a weight that is written out has an error of up
 * to 2.1e-4 of its size, lse one of up to 1.1e-4. The bits are the same on every target, with fused multiply-add or
 * without, and for any number of rows: portable_bits changes nothing. tests/ACCURACY.md has the errors.
 * A query row of I8 is taken as it is: its codes are the factors, and its scale, times scale, is that of the sums. An
 * infinite scale counts as NaN.
 * Refused with FOVEA_ERR_UNSUPPORTED: keys or values of another type, additive scores, head_dim above 1024. */
typedef enum fovea_compute FOVEA_ENUM_TYPE_(unsigned) {
  FOVEA_COMPUTE_F32 = 0, /* f32 products of numbers widened from whatever type */
  FOVEA_COMPUTE_I8 = 1,  /* products of 8-bit integers */
  FOVEA_COMPUTE_IS_32_BITS = 0x7fffffff
} fovea_compute;

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

/* fovea_workspace_bytes as a constant expression, for static arrays. It is an upper bound over the targets of the
 * architecture that the program is compiled for, without a budget, for one worker and any counts of tokens and heads.
 *     static _Alignas(FOVEA_WORKSPACE_ALIGNMENT) unsigned char workspace[FOVEA_WORKSPACE_BYTES(64, 64)];
 * (_Alignas is C11; in C99 use the compiler's attribute.) Compile the program for the same processor as the library:
 * the macro asks the compiler which vector unit there is.
 *   FOVEA_TILE_ROWS_MAX   most query rows of a tile on any of these targets
 *   FOVEA_BLOCK_ROWS_MAX  most query rows that share a key tile which is converted or gathered for them: the rows of up
 *                         to four tiles
 *   FOVEA_KEY_TILE        keys in a key tile, on every target
 * Targets of one lane convert or gather a key tile in pieces, to need little memory:
 *   FOVEA_PIECE_KEYS      keys in a piece of the keys
 *   FOVEA_PIECE_ELEMENTS  elements of each value in a piece of the values */
#if defined(__x86_64__) || defined(_M_X64) || defined(__i386__)
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
#define FOVEA_WORKSPACE_BYTES(head_dim, value_dim) \
  FOVEA_WORKSPACE_BYTES_FOR_ROWS_(head_dim, value_dim, FOVEA_TILE_ROWS_MAX)
/* The same where keys and values are not f32, or are in a ring or in pages: key tiles are converted or gathered for
 * several query tiles. Not for loaders. */
#define FOVEA_KV_WORKSPACE_BYTES(head_dim, value_dim)                                     \
  (4u * FOVEA_WORKSPACE_BYTES_FOR_ROWS_(head_dim, value_dim, FOVEA_BLOCK_ROWS_MAX / 4u) + \
   FOVEA_KV_STAGE_BYTES_(head_dim, value_dim))
/* The same two for a plan of few query rows, as in decoding. rows is the number of query rows that share a key head:
 * max_q_tokens * q_heads / kv_heads, at least 1. */
#define FOVEA_WORKSPACE_BYTES_FOR(head_dim, value_dim, rows)                                                          \
  FOVEA_LARGER_(                                                                                                      \
      FOVEA_WORKSPACE_BYTES_FOR_ROWS_(head_dim, value_dim, FOVEA_LINEAR_ROWS_(rows, FOVEA_TILE_ROWS_MAX)),            \
      FOVEA_FEW_ROWS_BYTES_(head_dim, value_dim, (rows) < FOVEA_FEW_ROWS_MAX_ ? (rows) : FOVEA_FEW_ROWS_MAX_))
#define FOVEA_KV_WORKSPACE_BYTES_FOR(head_dim, value_dim, rows)                                                       \
  ((rows) > FOVEA_FEW_ROWS_MAX_                                                                                       \
       ? FOVEA_KV_WORKSPACE_BYTES(head_dim, value_dim)                                                                \
       : FOVEA_WORKSPACE_BYTES_FOR(head_dim, value_dim, rows) + FOVEA_KV_STAGE_BYTES_(head_dim, value_dim))

/* The same where products are of integers: FOVEA_COMPUTE_I8. Not for loaders. */
#define FOVEA_I8_WORKSPACE_BYTES(head_dim, value_dim)                                                                 \
  (4u * FOVEA_WORKSPACE_BYTES_FOR_ROWS_(FOVEA_I8_HEAD_DIM_(head_dim), value_dim, FOVEA_TILE_ROWS_MAX) +               \
   FOVEA_I8_BYTES_(head_dim, value_dim, 4u * FOVEA_TILE_ROWS_MAX))
#define FOVEA_I8_WORKSPACE_BYTES_FOR(head_dim, value_dim, rows)                                                       \
  ((rows) > FOVEA_FEW_ROWS_MAX_                                                                                       \
       ? FOVEA_I8_WORKSPACE_BYTES(head_dim, value_dim)                                                                \
       : FOVEA_WORKSPACE_BYTES_FOR(FOVEA_I8_HEAD_DIM_(head_dim), value_dim, rows) +                                   \
             FOVEA_I8_BYTES_(head_dim, value_dim, FOVEA_LINEAR_ROWS_(rows, FOVEA_TILE_ROWS_MAX)))

/* Writes one line into text that says what the plan will do: target and backend, tile, kernel, bytes. It writes at most
 * text_bytes, the closing 0 included. Returns the length of the whole line without the closing 0, as snprintf does;
 * text may be NULL when text_bytes is 0. q_tokens and kv_tokens are the counts of the call in question. */
size_t fovea_plan_describe(const fovea_plan* plan, uint32_t q_tokens, uint32_t kv_tokens, char* text,
                           size_t text_bytes);

/* An input array [batch][heads][tokens][dim] of the type that the description names. */
typedef struct fovea_in {
  const void* data;
  ptrdiff_t batch_stride, head_stride, token_stride;
} fovea_in;

/* An output array [batch][heads][tokens][dim]. Its strides nest, in any order (FOVEA_ERR_STRIDE). */
typedef struct fovea_out {
  void* data;
  ptrdiff_t batch_stride, head_stride, token_stride;
} fovea_out;

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

/* A tile of keys and values that a callback has to bring: tokens [first, first + count), at most 64, of one key head of
 * one batch entry. The callback writes dense rows: keys [count][head_dim], values [count][value_dim], and scales, where
 * the format has them, [count] for I8 or [count][groups] for I4. All four arrays are 64-byte aligned and share no 64
 * bytes with the library's own data, so whole cache lines may be cleaned or invalidated. */
typedef struct fovea_kv_tile {
  uint32_t batch, kv_head;
  uint32_t first, count; /* first counts from the first key of the call, also in streams */
  uint32_t worker;       /* of the executor; 0 without one */
  uint32_t buffer;       /* which of the worker's two buffers these are: 0 and 1 by turns, 0 first in a call */
  void *keys, *values;
  void *key_scales, *value_scales; /* NULL where the format has none, or the description has one for all */
} fovea_kv_tile;

/* Brings tiles from where the processor cannot read them: flash on a bus, a file, another core. start begins the
 * transfer and may return before it is done; finish returns when the bytes are there and visible to the processor. The
 * library works one tile ahead: it starts the next tile before it computes with the one just finished, so that transfer
 * and arithmetic overlap. Each worker finishes every tile that it started, in the order of the starts, even when the
 * call fails. Both callbacks return 0, or anything else if the tile cannot be had; then the call ends with
 * FOVEA_ERR_LOAD. They may call the library, with other buffers. The workers of an executor call them side by side.
 * How often. Query rows go through the keys in blocks, and each block asks once for each tile that any of its rows may
 * see. For each key head, an entry has rows = q_heads / kv_heads * (its queries). A block holds tile_rows * tiles of
 * them: fields of the plan's kernel that serves the entry. A block map ends blocks where its blocks of queries end, and
 * asks for listed tiles alone; a modifier of weights asks for each tile twice. Scores out ask for the tiles once more
 * for each tile of query rows. With a window, a tile that holds some pinned tokens is asked for in two parts, and
 * the part behind the pinned tokens is not asked for ahead. To bring each tile once whatever the number of rows, push
 * tiles into a stream: see examples/recipes/each_tile_once.c. */
typedef struct fovea_loader {
  int (*start)(void* self, const fovea_kv_tile* tile);
  int (*finish)(void* self, const fovea_kv_tile* tile); /* optional; NULL = start does not return before it is done */
  void* self;
} fovea_loader;

/* Keys and values. The description names their kind, types and sizes.
 *   strided   [batch][kv_heads][kv_tokens][dim] by the strides of the arrays.
 *   ring      [batch][kv_heads][ring_tokens][dim]. Tokens keep their numbers for ever: kv_tokens, kv_lengths, positions
 *             and masks count all tokens that were ever put in. Token j is in slot j if j < pinned_tokens, else in slot
 *             pinned_tokens + (j - pinned_tokens) % (ring_tokens - pinned_tokens). A query that should see
 *             a token that is gone is refused (FOVEA_ERR_RING), unless hide_gone is set.
 *   paged     a pool [pages][kv_heads][page_tokens][dim]: batch_stride steps from page to page. Token j of entry b is
 *             row j % page_tokens of page page_table[b * page_table_stride + j / page_tokens]. Pages may overlap, and
 *             may be blocks of plain arrays: examples/recipes/neighbourhood.c and cache_batch_idx.c.
 *   load      no arrays: loader brings them. */
typedef struct fovea_kv_source {
  fovea_in keys, values;
  fovea_in key_scales, value_scales; /* I8: one float for each row, unless the description has one for all; I4:
                                        ceil(dim / 32) uint16_t. Else data NULL */

  const uint32_t* first_tokens; /* ring, optional [batch]: the oldest token, apart from pinned ones, that is there. At
                                   most the entry's length, and late enough that the tokens from it on fit
                                   (FOVEA_ERR_LENGTH). NULL = as many tokens are there as fit. That is wrong once tokens
                                   were taken back: a rejected draft has overwritten some,
                                   and only this array shows it */
  const uint32_t* page_table;   /* paged: for each entry as many as its length needs, each < pages (FOVEA_ERR_PAGE) */
  ptrdiff_t page_table_stride;
  uint32_t pages;
  const fovea_loader* loader;

  /* Optional [kv_heads][head_dim]: what was subtracted from every key of a head (see fovea_kv_cache). The softmax does
   * not see it. What does see it is as if nothing had been subtracted, with FOVEA_COMPUTE_I8 and queries of F32 or I8,
   * and else refused (FOVEA_ERR_UNSUPPORTED): softcap, modifiers of scores, sinks, lse, scores out before the softmax,
   * and streams. Additive scores are refused. */
  const float* key_center;
} fovea_kv_source;

/* What runs tasks in parallel: the library starts no thread. run must call task(arg, i, worker) once for each i <
 * tasks, in any order and on any threads. It returns when all are done: 0, or anything else if it failed. worker is a
 * number below workers that no other task has at the same time. As with any pool of threads, parallel loop or second
 * core, the tasks must see what was written before run was called, and the caller must see what they wrote after run
 * has returned. A call may use run more than once, or not at all where there is only one task, but never from within a
 * task. Shapes alone decide what the tasks are, so results are the same to the bit whatever runs them.
 * FOVEA_ERR_EXECUTOR: run did not return 0, or it skipped a task (not noticed on processors without atomic addition,
 * such as Cortex-M0+), or it called a task with an i that is not below tasks or a worker that is not below max_workers.
 * Outputs are then unspecified. So is the state of a stream into which keys were pushed: some of its rows have seen
 * them, others not. Begin the stream again, or go on with an earlier copy. No other memory was written. */
typedef struct fovea_executor {
  int (*run)(void* self, size_t tasks, void (*task)(void* arg, size_t index, uint32_t worker), void* arg);
  void* self;       /* for run */
  uint32_t workers; /* 1 to max_workers of the description (FOVEA_ERR_CAPACITY) */
} fovea_executor;

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

/* ----------------------------------------------------------------------------------------------------- streams */

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
#define FOVEA_STATE_BYTES(rows, value_dim) \
  (sizeof(fovea_state) + FOVEA_SIZE_(rows) * (FOVEA_SIZE_(value_dim) + 2u) * 4u)

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

/* ------------------------------------------------------------------------------------------- integer attention */

/* Attention on int8 tensors without floating point: for processors that have none, and the smallest and fastest on
 * microcontrollers. Queries, keys, values and outputs are int8, -128 included, each tensor with one scale and one zero
 * point: x = scale * (code - zero). There is no plan, and the build has one kernel, chosen when it is compiled.
 *
 * Two numbers hold all scales, each as multiplier * 2^(shift - 31), the way of TensorFlow Lite:
 *     score    q_scale * key_scale * scale * log2(e), where scale is mostly 1 / sqrt(head_dim): turns a sum of products
 *              of codes into a score in octaves
 *     out      value_scale / out_scale
 * fovea_integer_multiplier computes both parts of such a number. A zero point of keys adds the same to all scores of a
 * query, which no softmax sees: there is no field for it.
 *
 * What is computed, the same on every target, to the bit. All products and sums are exact; round() is to the nearest
 * integer, halves upwards; steps(x) = round(64 x multiplier 2^(shift - 31)) of the score, where shift counts at most 6.
 *     s_j = sum_e (q_e - q_zero) key_je                          for the keys that the query sees
 *   For each key tile, of 64 keys on a grid that starts at key 0, of which it sees some, in the order of keys:
 *     m   = max_j s_j,   d_j = steps(m - s_j),   u_j = round(255 * 2^(-d_j / 64)), and 0 where d_j is 576 or more
 *     r'  = steps(m) for the first tile, else max(r, steps(m)), and at least r + 64 where l > 2^30
 *     l'  = round(f(r' - r) l) + round(f(r' - steps(m)) 2^14 sum_j u_j)
 *     o'_e = round(f(r' - r) o_e) + round(f(r' - steps(m)) 2^6 sum_j u_j value_je)
 *     f(d) = floor(min(2^31 - 1, round(2^(31 - (d mod 64) / 64))) / 2^floor(d / 64)) / 2^31, and 0 from 31 * 64 on
 *   At the end, with n = l * 2^z, 2^30 <= n < 2^31, and h = round(n / 2^15):
 *     g   = floor(out_multiplier * floor((2^31 + floor(h / 2)) / h) / 2^16)
 *     out_e = out_zero + round((o_e - value_zero * round(l / 2^8)) * g * 2^(out_shift + z - 53)), saturated
 * A query that sees no key gets out_zero. tests/ACCURACY.md has the errors: those of the codes, mostly, since a
 * weight's is at most half a code of 255 in its tile, and half a step. */
typedef struct fovea_integer_attention_args {
  uint32_t struct_bytes; /* sizeof(fovea_integer_attention_args) */

  /* Counts. Any of batch, q_tokens and kv_tokens may be 0. The others are >= 1 (FOVEA_ERR_DIM). */
  uint32_t batch;
  uint32_t q_heads, kv_heads;   /* kv_heads divides q_heads (FOVEA_ERR_HEADS) */
  uint32_t q_tokens, kv_tokens; /* kv_tokens at most 2^24 (FOVEA_ERR_SIZE) */
  uint32_t head_dim, value_dim; /* head_dim at most 1024 (FOVEA_ERR_UNSUPPORTED), value_dim at most 2^24
                                   (FOVEA_ERR_SIZE) */

  fovea_out out;   /* required: int8_t [batch][q_heads][q_tokens][value_dim] */
  fovea_in q;      /* required: int8_t [batch][q_heads][q_tokens][head_dim] */
  fovea_in keys;   /* required: int8_t [batch][kv_heads][kv_tokens][head_dim] */
  fovea_in values; /* required: int8_t [batch][kv_heads][kv_tokens][value_dim] */

  /* Zero points, from -128 to 127, and multipliers from 2^30 to 2^31 - 1 with shifts from -31 to 31
   * (FOVEA_ERR_NUMBER). */
  int32_t q_zero, value_zero, out_zero;
  int32_t score_multiplier, score_shift;
  int32_t out_multiplier, out_shift;

  /* Visible keys, as in fovea_attention_desc and fovea_attention_args: a query at position p sees the keys
   * p - window_left < j < p + window_right, a window of 0 being unlimited. */
  fovea_causal causal;
  uint32_t window_left, window_right;
  const int64_t* positions; /* [batch]: the position of each entry's first query, within -2^62 to 2^62 (FOVEA_ERR_SIZE).
                               Required with FOVEA_CAUSAL_POSITIONS, and for windows without a causal limit
                               (FOVEA_ERR_POSITIONS_MISSING). NULL where causal names them (FOVEA_ERR_POSITIONS_TWICE) */
  const uint32_t* kv_lengths; /* optional [batch]: keys of each entry, <= kv_tokens (FOVEA_ERR_LENGTH) */
} fovea_integer_attention_args;

/* Computes out. workspace is aligned to FOVEA_WORKSPACE_ALIGNMENT. No array may overlap out or the workspace
 * (FOVEA_ERR_OVERLAP). */
fovea_status fovea_integer_attention(const fovea_integer_attention_args* args, void* workspace, size_t workspace_bytes);

/* Bytes of workspace that a call needs; 0 for arguments whose counts are not valid. Of the arguments, counts alone are
 * read. */
size_t fovea_integer_attention_workspace_bytes(const fovea_integer_attention_args* args);

/* The same as a constant expression, for static arrays: an upper bound. rows is the number of query rows that share a
 * key head, q_tokens * q_heads / kv_heads. Compile the program for the same processor as the library. */
#define FOVEA_INTEGER_WORKSPACE_BYTES(head_dim, value_dim, rows) \
  FOVEA_INTEGER_BYTES_(FOVEA_INTEGER_DIM_(head_dim), FOVEA_INTEGER_DIM_(value_dim), FOVEA_INTEGER_ROWS_OF_(rows))

/* multiplier and shift of a positive number: real = multiplier * 2^(shift - 31), rounded to the nearest.
 * FOVEA_ERR_NUMBER where shift would not be from -31 to 31, and for NaN; then nothing is written. It is computed in
 * integers. */
fovea_status fovea_integer_multiplier(double real, int32_t* multiplier, int32_t* shift);

/* -------------------------------------------------------------------------------------------------------- rope */

/* Rotary position embedding (Su et al., RoFormer, arXiv 2104.09864). The first rotary_dim elements of a query or key
 * are taken in pairs. Pair i of a token at position p is turned by p times an angle that falls with i:
 *     (a, b) -> (a cos - b sin, b cos + a sin),    angle = p * position_scale * base^(-2 i / rotary_dim) radians
 * The dot product of two rows turned in this way depends only on the difference of their positions.
 *
 * Models differ in which elements make a pair: weights trained with one layout are useless with the other. */
typedef enum fovea_rope_layout FOVEA_ENUM_TYPE_(unsigned) {
  FOVEA_ROPE_INTERLEAVED = 1, /* 2 i and 2 i + 1: the paper, GPT-J, Meta's Llama; ONNX with interleaved = 1 */
  FOVEA_ROPE_HALF_SPLIT = 2,  /* i and i + rotary_dim / 2: GPT-NeoX, Hugging Face; ONNX with interleaved = 0 */
  FOVEA_ROPE_LAYOUT_IS_32_BITS = 0x7fffffff
} fovea_rope_layout;

/* Computes the angle from a position to the next for each pair, once for a model:
 *     turns[i] = position_scale * base^(-2 i / rotary_dim) / (2 pi), the part of a whole turn, in units of 2^-64.
 * The angle at a position is then position * turns[i] in 64-bit integers, which drop whole turns exactly; at long
 * contexts a float would have lost all digits of it.
 *   turns           [rotary_dim / 2], required. They are plain numbers: a model that scales each pair's angle in its
 *                   own way (YaRN, Llama 3.1) multiplies them or computes them itself.
 *   base            theta. 0 = 10000; else finite and at least 1 (FOVEA_ERR_NUMBER).
 *   position_scale  multiplies positions (linear interpolation, Chen et al., arXiv 2306.15595): 1 / 8 stretches what
 *                   was trained for 4096 positions over 32768. 0 = 1; else above 0 and at most 1 (FOVEA_ERR_NUMBER).
 *   rotary_dim      even and at least 2 (FOVEA_ERR_DIM).
 * Error: turns[i] is off by at most rotary_dim / 16 + 2 units, or rotary_dim / 4 + 2 for bases below 1.5. It is
 * computed in integers, so no double-precision functions are linked. */
fovea_status fovea_rope_frequencies(uint64_t* turns, double base, double position_scale, uint32_t rotary_dim);

/* The arguments of fovea_rope_f32. Set all to 0 first, then fill in. */
typedef struct fovea_rope_args {
  uint32_t struct_bytes; /* sizeof(fovea_rope_args) */
  fovea_target target;   /* FOVEA_TARGET_BEST, or one that must be used (FOVEA_ERR_TARGET) */

  uint32_t batch, heads, tokens; /* counts; any may be 0: nothing is written */
  uint32_t dim;                  /* elements of a row, at least 1 (FOVEA_ERR_DIM) */
  uint32_t rotary_dim;           /* the first rotary_dim elements are turned, the others copied. 0 = dim. Even, and at
                                    most dim (FOVEA_ERR_DIM) */
  fovea_rope_layout layout;      /* never 0 (FOVEA_ERR_ENUM) */
  uint32_t inverse;              /* nonzero: turns back what was turned */

  fovea_out out; /* f32 [batch][heads][tokens][dim]. May be in with the same strides; any other overlap is
                    FOVEA_ERR_OVERLAP */
  fovea_in in;   /* f32 [batch][heads][tokens][dim] */

  /* The angles: either turns, or cos and sin. FOVEA_ERR_NULL without any, FOVEA_ERR_UNSUPPORTED with both kinds. */
  const uint64_t* turns;  /* [rotary_dim / 2], as fovea_rope_frequencies computes them */
  const float* cos;       /* [table_positions][rotary_dim / 2] */
  const float* sin;       /* [table_positions][rotary_dim / 2] */
  ptrdiff_t table_stride; /* from a position to the next, for cos and for sin */
  size_t table_positions; /* a token whose position is negative or not below it is refused
                             (FOVEA_ERR_POSITION_RANGE) */

  /* A token's position: position_offset + positions[b] + its number in the entry, or position_offset +
   * token_positions[b][token]. It may be negative, and must fit in 64 bits (FOVEA_ERR_SIZE). */
  const int64_t* positions;         /* optional [batch]: the position of each entry's first token. NULL = 0 */
  const int64_t* token_positions;   /* optional [batch][tokens]; then positions is NULL
                                       (FOVEA_ERR_POSITIONS_TWICE) */
  ptrdiff_t token_positions_stride; /* from an entry to the next; 0 = the same positions for all */
  int64_t position_offset;
} fovea_rope_args;

/* Turns all pairs. With turns, cos and sin are computed without libm and are within 2e-7 at any position, for exactly
 * those turns. With turns from fovea_rope_frequencies and a rotary_dim up to 256 they are within 2e-7 of the true
 * angle's cos and sin up to position 2^32, and within 1e-6 up to 2^36; negative positions too. Turning adds two
 * roundings, of the products of a and of b. Bits: the same in both layouts, and on all IEEE targets with fused
 * multiply-add. At position 0 out equals in, where both numbers of a pair are finite. */
fovea_status fovea_rope_f32(const fovea_rope_args* args);

/* ------------------------------------------------------------------------------------------------------ linear */

/* Weights of a linear layer, as PyTorch's nn.Linear and ONNX's Gemm with transB = 1 hold them: a row for each output.
 * Weights of x @ W (NumPy, ONNX MatMul, TensorFlow) have a column for each output: transpose them first. */
typedef struct fovea_linear_weights {
  fovea_dtype dtype; /* any */
  const void* data;  /* required: [out_dim][in_dim] */
  ptrdiff_t row_stride;
  const void* scales; /* required for I8, float[out_dim], and for I4, uint16_t[out_dim][ceil(in_dim / 32)]. Else NULL
                         (FOVEA_ERR_UNSUPPORTED) */
  const float* bias;  /* optional [out_dim] */
  const int32_t* bias_i32; /* optional [out_dim], instead of bias: in units of x's scale times the row's, and added to
                              the sums of codes before these are scaled. Only with I8 x of one scale and I8 weights,
                              and without bias (FOVEA_ERR_UNSUPPORTED) */
} fovea_linear_weights;

/* The arguments of fovea_linear. Set all to 0 first, then fill in. */
typedef struct fovea_linear_args {
  uint32_t struct_bytes;  /* sizeof(fovea_linear_args) */
  fovea_target target;    /* FOVEA_TARGET_BEST, or one that must be used (FOVEA_ERR_TARGET) */
  uint32_t portable_bits; /* nonzero: a token's bits are the same among any number of tokens, and on AVX2, AVX-512 and
                             AArch64 NEON. 0: few tokens may take the kernel that is faster for them.
                             With FOVEA_COMPUTE_I8 bits are the same either way */
  fovea_compute compute;  /* FOVEA_COMPUTE_F32, or FOVEA_COMPUTE_I8 with weights of I8, I4, Q8_0, Q4_0 or Q4_1
                             (FOVEA_ERR_UNSUPPORTED) */
  uint64_t processor_features; /* as in fovea_attention_desc */

  uint32_t tokens;          /* at most 2^30 (FOVEA_ERR_SIZE); 0: nothing is written */
  uint32_t in_dim, out_dim; /* 1 (FOVEA_ERR_DIM) to 2^31 - 1, with FOVEA_COMPUTE_I8 in_dim to 2^16 (FOVEA_ERR_SIZE) */

  fovea_dtype x_dtype, y_dtype; /* F32; or I8, only with FOVEA_COMPUTE_I8 (FOVEA_ERR_UNSUPPORTED) */
  void* y;                      /* required: [tokens][out_dim] */
  ptrdiff_t y_stride;
  const void* x; /* required: [tokens][in_dim] */
  ptrdiff_t x_stride;
  fovea_linear_weights weights;

  /* I8 x: x = scale * (code - x_zero), with a code from -128 to 127. Required then: [tokens] scales, x_scales_stride
   * apart; a stride of 0 means one scale for all. With F32 x they are NULL and 0 (FOVEA_ERR_UNSUPPORTED). */
  const float* x_scales;
  ptrdiff_t x_scales_stride;
  int32_t x_zero; /* -128 to 127 (FOVEA_ERR_NUMBER) */

  /* I8 y: code = y / y_scale, rounded to the nearest, ties to even, + y_zero, and at least -128, at most 127; NaN
   * becomes y_zero. With F32 y they are 0 (FOVEA_ERR_UNSUPPORTED). */
  float y_scale;  /* 2^-126 to 2^126 (FOVEA_ERR_NUMBER) */
  int32_t y_zero; /* -128 to 127 (FOVEA_ERR_NUMBER) */

  size_t workspace_budget_bytes; /* 0 = as much as is fastest. Else fewer tokens are taken at a time until it fits;
                                    FOVEA_ERR_BUDGET where one vector of them does not. Never changes bits */
  const fovea_executor* executor; /* optional; NULL = the calling thread does all. At most 4096 workers
                                     (FOVEA_ERR_CAPACITY), each of which needs workspace. Never changes bits */
} fovea_linear_args;

/* Bytes of workspace that a call with these arguments needs: 0 for arguments that fovea_linear refuses, and where
 * none is needed (few tokens with FOVEA_COMPUTE_F32, but not on scalar targets or with portable_bits). It reads counts,
 * weights.dtype, compute, types, scales and zero points of x and y, processor_features, budget, executor and target,
 * and whether biases and scales are there, but no array. The target may be another machine's, so that a host can size a
 * board's memory. More tokens never need less, and beyond some tens of them they need no more. */
size_t fovea_linear_workspace_bytes(const fovea_linear_args* args);

/* The same as a constant expression, for static arrays. It is an upper bound over the targets of the architecture that
 * the program is compiled for (see FOVEA_WORKSPACE_BYTES), without a budget, for one worker and any counts of tokens
 * and outputs. dtype is the weights' type. */
#define FOVEA_LINEAR_WORKSPACE_BYTES(in_dim, dtype) \
  FOVEA_LINEAR_BYTES_FOR_TOKENS_(in_dim, 2u * FOVEA_TILE_ROWS_MAX, dtype)
/* The same with FOVEA_COMPUTE_I8. */
#define FOVEA_LINEAR_I8_WORKSPACE_BYTES(in_dim) FOVEA_LINEAR_I8_BYTES_FOR_TOKENS_(in_dim, FOVEA_LINEAR_I8_ROWS_MAX_)

/* y = x W^T + bias: y[t][o] = sum_i x[t][i] * W[o][i] + bias[o].
 * workspace has at least fovea_linear_workspace_bytes(args) bytes (FOVEA_ERR_WORKSPACE) and is 64-byte aligned
 * (FOVEA_ERR_ALIGNMENT); it may be NULL where no bytes are needed. What it holds before and after a call means nothing.
 * Arithmetic is f32. Narrower weights are widened exactly, except for the scale of I8 and the sum of Q4_1, which round;
 * an infinite scale counts as NaN, and one of a group makes its outputs infinite or NaN. A sum consists of partial
 * sums, each a chain of 32 multiply-adds in the order of the inputs; for few tokens it has as many chains as a vector
 * has lanes, and a group's scale may multiply the group's sum. NaN and infinity go where the sums take them. y and the
 * workspace must not overlap anything (FOVEA_ERR_OVERLAP).
 * With FOVEA_COMPUTE_I8 a token of f32 is converted like a row of I8 keys first, so that a NaN or infinity in it makes
 * all of its outputs NaN. Sums of products of codes are exact. Then y = sum * x's scale * the weights' scale + bias, in
 * this order and without fused multiply-add: the bits are the same on every target, and for any number of tokens. An
 * infinite scale counts as NaN. A sum with bias_i32 wraps at 2^31.
 * Weights in groups have a sum of products for each group, which is exact, and y = (0 + sum * d * s of the first group
 * + sum * d * s of the next ...) * t + bias. d is the group's scale. If x is f32, each group of 32 inputs is converted
 * like a row of I8 keys; s is its scale, and t is 1. If x is codes, s is 1, and t is x's scale. Codes of weights are
 * u - 8 in I4 and Q4_0, q in Q8_0 and u in Q4_1. There sum * d + m * the sum of x's codes (less x_zero) stands for
 * sum * d. A d or m that is not finite makes its outputs infinite or NaN. */
fovea_status fovea_linear(const fovea_linear_args* args, void* workspace, size_t workspace_bytes);
#define fovea_linear_f32 fovea_linear /* its name before version 0.2 */

/* ------------------------------------------------------------------------------------------- linear attention */

/* Attention whose memory does not grow: instead of keys and values it keeps a matrix S [key_dim][value_dim] for each
 * head of values, to which each token adds and from which it reads:
 *     S_t = g_t S_{t-1} + k_t u_t^T        o_t = scale * S_t^T q_t
 * with the decay g_t = exp(decay_t), and u_t as the rule has it: */
typedef enum fovea_delta_rule FOVEA_ENUM_TYPE_(unsigned) {
  FOVEA_DELTA_RULE_LINEAR = 0, /* u = v; no decay. Katharopoulos et al., arXiv 2006.16236, without normalisation */
  FOVEA_DELTA_RULE_GATED = 1,  /* u = v. RetNet, arXiv 2307.08621; gated linear attention, arXiv 2312.06635; Mamba-2 */
  FOVEA_DELTA_RULE_DELTA = 2,  /* u = beta_t (v - S_{t-1}^T k); no decay. DeltaNet, arXiv 2406.06484 */
  FOVEA_DELTA_RULE_GATED_DELTA = 3, /* u = beta_t (v - (g_t S_{t-1})^T k). Gated DeltaNet, arXiv 2412.06464; with a decay
                                       for each element of a key Kimi Linear, arXiv 2510.26692 */
  FOVEA_DELTA_RULE_IS_32_BITS = 0x7fffffff
} fovea_delta_rule;

/* The state of some sequences, in the caller's memory: 64-byte aligned (FOVEA_ERR_ALIGNMENT), the same on every target.
 * It may be copied; a copy is how a draft of more tokens than are pending is taken back.
 *
 *     size_t bytes = fovea_delta_state_bytes(1, 16, 128, 128, 1);
 *     fovea_delta_begin(state, bytes, 1, 16, 128, 128, 1);
 *     while (...) fovea_delta(state, &args, workspace, workspace_bytes);    // any number of tokens at a time
 *
 * Tokens are added to S in groups of four, counted from the first. The tokens of the last group, 1 to 4 of them, are
 * pending: the state holds their keys, values u and decays beside S, and the call that begins the next group adds them.
 * So S is written for every fourth token only, and pending tokens can be rolled back. This header is followed by the
 * numbers of pending tokens, uint32_t [batch], and for each entry and head by f32 arrays whose layout is the library's
 * own: fovea_delta_set and fovea_delta_get have S as a matrix. */
typedef struct fovea_delta_state {
  uint32_t magic;    /* tells a state of this layout from other bytes */
  uint32_t checksum; /* in an image: CRC-32 (IEEE 802.3) of all its bytes, computed with 0 here; in a state: 0 */
  uint32_t batch, v_heads, key_dim, value_dim, decay_dim;
  uint32_t reserved[9]; /* 0 */
} fovea_delta_state;

/* Bytes of a state: 0 where fovea_delta_begin would refuse the counts. The macro is for static arrays. */
size_t fovea_delta_state_bytes(uint32_t batch, uint32_t v_heads, uint32_t key_dim, uint32_t value_dim,
                               uint32_t decay_dim);
#define FOVEA_DELTA_STATE_BYTES(batch, v_heads, key_dim, value_dim, decay_dim)       \
  (sizeof(fovea_delta_state) + FOVEA_ALIGN_UP_(FOVEA_SIZE_(batch) * 4u) +            \
   FOVEA_SIZE_(batch) * (v_heads) * FOVEA_DELTA_HEAD_BYTES_(key_dim, value_dim, decay_dim))

/* Makes a state of `batch` sequences that have seen no token: S is 0. In state_bytes bytes (FOVEA_ERR_STATE if they are
 * too few).
 *   batch               entries, each a sequence; may be 0
 *   v_heads             heads of values, each with an S of its own; >= 1 (FOVEA_ERR_DIM)
 *   key_dim, value_dim  >= 1 (FOVEA_ERR_DIM), up to 2^31 - 1 (FOVEA_ERR_SIZE)
 *   decay_dim           decays of a token and head: 0 or 1 = one, or key_dim (else FOVEA_ERR_SIZE) */
fovea_status fovea_delta_begin(fovea_delta_state* state, size_t state_bytes, uint32_t batch, uint32_t v_heads,
                               uint32_t key_dim, uint32_t value_dim, uint32_t decay_dim);

#define FOVEA_ALL_ENTRIES 0xffffffffu

/* Begins an entry again, or all of them with FOVEA_ALL_ENTRIES, from given matrices f32 [entries][v_heads][key_dim]
 * [value_dim], whose token_stride is that from an element of the key to the next; with NULL from zeros. No token is
 * pending then. An entry that the state does not have is refused (FOVEA_ERR_CAPACITY), here and below. */
fovea_status fovea_delta_set(fovea_delta_state* state, uint32_t entry, const fovea_in* matrices);

/* Writes S of an entry, or of all with FOVEA_ALL_ENTRIES, pending tokens included, laid out as in fovea_delta_set. The
 * state stays as it was. Bits are those that S will have once the next call has added the tokens, if four are pending.
 */
fovea_status fovea_delta_get(const fovea_delta_state* state, fovea_target target, uint32_t entry,
                             const fovea_out* matrices);

/* How many of the last tokens can be rolled back: 0 to 4; of all entries the least, with FOVEA_ALL_ENTRIES; 0 for no
 * state or entry. */
uint32_t fovea_delta_pending(const fovea_delta_state* state, uint32_t entry);

/* Takes the last `tokens` tokens of an entry, or of each, back: as if they had not been seen, to the bit. They must be
 * pending (FOVEA_ERR_LENGTH). Before more tokens than that are tried, copy the state. */
fovea_status fovea_delta_roll_back(fovea_delta_state* state, uint32_t entry, uint32_t tokens);

/* Images of states, as fovea_stream_export and fovea_stream_import have them, with the same statuses. */
fovea_status fovea_delta_export(const fovea_delta_state* state, void* image, size_t image_bytes);
fovea_status fovea_delta_import(fovea_delta_state* state, size_t state_bytes, const void* image, size_t image_bytes);

/* The arguments of fovea_delta. Set all to 0 first, then fill in. No array may overlap out, the state or the workspace
 * (FOVEA_ERR_OVERLAP). */
typedef struct fovea_delta_args {
  uint32_t struct_bytes; /* sizeof(fovea_delta_args) */
  fovea_target target;   /* FOVEA_TARGET_BEST, or one that must be used (FOVEA_ERR_TARGET) */
  fovea_delta_rule rule; /* the same in each call on a state */
  uint32_t entry, batch; /* entries [entry, entry + batch) of the state, all of them in it (FOVEA_ERR_CAPACITY) */

  /* Heads. Head h of the values reads key head h / (v_heads / k_heads): k_heads divides v_heads (FOVEA_ERR_HEADS).
   * Query heads are a multiple of v_heads, and then each reads S of head h / (q_heads / v_heads), or a divisor, and
   * then head h of the values is read by query head h / (v_heads / q_heads). All are >= 1 (FOVEA_ERR_DIM). */
  uint32_t q_heads, k_heads;
  uint32_t v_heads, key_dim, value_dim, decay_dim; /* those of the state (FOVEA_ERR_STATE) */

  uint32_t tokens; /* of each entry; with offsets, of all entries together. At most 2^30 (FOVEA_ERR_SIZE); 0: nothing is
                      written */
  const uint32_t* offsets; /* optional [batch + 1]: ragged. Entry b has the tokens from offsets[b] up to, but without,
                              offsets[b + 1], which may be none. Offsets never fall, and the last is at most `tokens`
                              (FOVEA_ERR_LENGTH). Batch strides are not read */
  float scale;             /* 0 = 1 / sqrt(key_dim); else finite, of either sign (FOVEA_ERR_NUMBER) */

  fovea_dtype dtype, out_dtype; /* of q, k and v, and of out: F32, F16 or BF16 (FOVEA_ERR_UNSUPPORTED) */
  fovea_out out;                /* required: [batch][max(q_heads, v_heads)][tokens][value_dim] */
  fovea_in q;                   /* required: [batch][q_heads][tokens][key_dim] */
  fovea_in k;                   /* required: [batch][k_heads][tokens][key_dim]. Delta rules want keys of length 1 */
  fovea_in v;                   /* required: [batch][v_heads][tokens][value_dim] */
  fovea_in decay; /* f32 [batch][v_heads][tokens][1 or decay_dim], required by gated rules, else not read: the logarithm
                     of g, at most 0 in models. -inf forgets all. A product of decays of up to four tokens counts as
                     e^88 where it is more, and as 0 where it is below 2^-125.5 */
  fovea_in beta;  /* f32 [batch][v_heads][tokens][1], required by delta rules, else not read. A head_stride of 0 = one
                     for all heads */

  size_t workspace_budget_bytes; /* 0 = as much as is fastest. Else fewer groups of tokens are taken at a time until it
                                    fits; FOVEA_ERR_BUDGET where one does not. Never changes bits */
  const fovea_executor* executor; /* optional; NULL = the calling thread does all. At most 4096 workers
                                     (FOVEA_ERR_CAPACITY), each of which needs workspace. Tasks are heads and, where
                                     these are few, blocks of columns of S. Never changes bits */
} fovea_delta_args;

/* Bytes of workspace that a call with these arguments needs: 0 for arguments that fovea_delta refuses. It reads no
 * array. The target may be another machine's. More tokens never need less, and beyond 28 they need no more. The macro
 * is for static arrays: an upper bound like FOVEA_WORKSPACE_BYTES, for one worker, without a budget; readers is q_heads
 * / v_heads, at least 1. */
size_t fovea_delta_workspace_bytes(const fovea_delta_args* args);
#define FOVEA_DELTA_WORKSPACE_BYTES(key_dim, readers) \
  FOVEA_DELTA_BYTES_FOR_GROUPS_(key_dim, FOVEA_DELTA_GROUPS_ * FOVEA_SIZE_(readers))

/* Takes in the tokens of each entry and writes their outputs. workspace has at least fovea_delta_workspace_bytes(args)
 * bytes (FOVEA_ERR_WORKSPACE) and is 64-byte aligned (FOVEA_ERR_ALIGNMENT); what it holds before and after a call means
 * nothing. Arithmetic is f32. S is read once for four tokens: what the tokens of a group do to one another comes from
 * products of their keys. Errors are about those of the recurrence, a token at a time, in f32.
 * Bits. The same for every division of a sequence into calls, any budget, any workers, any strides and any place in a
 * batch, and on all IEEE targets with fused multiply-add. Where S was given (fovea_delta_set), groups are counted from
 * there.
 * Time. Shapes and counts alone decide, no value does. NaN and infinity stay in their head: in their column if they
 * come with a value. After FOVEA_ERR_EXECUTOR the state is not to be used: some heads have seen the tokens, others not.
 */
fovea_status fovea_delta(fovea_delta_state* state, const fovea_delta_args* args, void* workspace,
                         size_t workspace_bytes);

/* ------------------------------------------------------------------------------------- what stands beside attention */

/* Normalisation, activation and short convolution, as the layers of language models have them around attention and
 * linear attention. Rows are f32 [batch][heads][tokens][dim]. Any count of rows may be 0: nothing is written. An output
 * may be an input of the same places; any other overlap is FOVEA_ERR_OVERLAP. Bits: the same on all IEEE targets with
 * fused multiply-add, and for any strides. */

typedef enum fovea_activation FOVEA_ENUM_TYPE_(unsigned) {
  FOVEA_ACTIVATION_SILU = 0,   /* x sigmoid(alpha x). Also called swish. -inf becomes NaN */
  FOVEA_ACTIVATION_SIGMOID = 1 /* sigmoid(alpha x) = 1 / (1 + e^(-alpha x)); 0 where alpha x is below -87 */
} fovea_activation;

typedef struct fovea_activation_args {
  uint32_t struct_bytes;       /* sizeof(fovea_activation_args) */
  fovea_target target;         /* FOVEA_TARGET_BEST, or one that must be used (FOVEA_ERR_TARGET) */
  fovea_activation activation; /* FOVEA_ERR_ENUM */
  float alpha;                 /* 0 = 1. Finite (FOVEA_ERR_NUMBER) */

  uint32_t batch, heads, tokens; /* counts of rows */
  uint32_t dim;                  /* elements of a row, at least 1 (FOVEA_ERR_DIM) */

  fovea_out y; /* y = activation(x) * factor */
  fovea_in x;
  fovea_in factor; /* data NULL = 1. With SILU this is SwiGLU: x is the gate's projection, factor the other one */
} fovea_activation_args;

/* The relative error is below 4e-7, and 6e-7 where multiply-adds are not fused. Unless alpha is a power of two, the
 * rounding of alpha * x adds up to |alpha x| * 2^-24: 5.2e-6 where alpha x is -87. */
fovea_status fovea_activation_f32(const fovea_activation_args* args);

typedef enum fovea_norm FOVEA_ENUM_TYPE_(unsigned) {
  FOVEA_NORM_RMS = 0, /* n(x) = x / sqrt(mean of x^2 + epsilon). RMSNorm, arXiv 1910.07467 */
  FOVEA_NORM_L2 = 1   /* n(x) = x / sqrt(sum of x^2 + epsilon) */
} fovea_norm;

typedef enum fovea_norm_gate FOVEA_ENUM_TYPE_(unsigned) {
  FOVEA_NORM_GATE_AFTER = 0, /* y = n(x) (weight + weight_offset) activation(gate), as Qwen3-Next has it */
  FOVEA_NORM_GATE_BEFORE = 1 /* y = n(x activation(gate)) (weight + weight_offset), as Mamba-2 has it */
} fovea_norm_gate;

typedef struct fovea_norm_args {
  uint32_t struct_bytes; /* sizeof(fovea_norm_args) */
  fovea_target target;   /* FOVEA_TARGET_BEST, or one that must be used (FOVEA_ERR_TARGET) */
  fovea_norm norm;       /* FOVEA_ERR_ENUM */
  float epsilon;         /* at least 0, finite (FOVEA_ERR_NUMBER). Where it is 0 a row whose squares are 0
                            becomes zeros */

  uint32_t batch, heads, tokens; /* counts of rows */
  uint32_t dim;                  /* elements of a row, at least 1 (FOVEA_ERR_DIM) */

  fovea_out y;
  fovea_in x;
  const float* weight;           /* [heads][dim], NULL = 1, and then weight_offset is 0 (FOVEA_ERR_NULL) */
  ptrdiff_t weight_head_stride;  /* 0 = the same for all heads */
  float weight_offset;           /* 1 where a model stores weights less 1, as Gemma does. Finite (FOVEA_ERR_NUMBER) */
  fovea_in gate;                 /* data NULL = none, and then the two below are not read. Must not overlap y */
  fovea_norm_gate gate_order;    /* FOVEA_ERR_ENUM */
  fovea_activation gate_activation; /* FOVEA_ERR_ENUM */
} fovea_norm_args;

/* Squares are summed in 16 chains, and these in a tree. A row whose squares sum up to more than FLT_MAX becomes zeros,
 * as with other libraries; NaN in it makes all of it NaN, infinity becomes NaN among zeros. */
fovea_status fovea_norm_f32(const fovea_norm_args* args);

#define FOVEA_CONV1D_MOST_WIDTH 8

/* A short causal depthwise convolution, as stands before linear attention: each channel has weights of its own,
 *
 *     y[t] = bias + weight[0] x[t - width + 1] + ... + weight[width - 1] x[t],
 *
 * in this order, by multiply-adds. What came before the first token of a call is in the state. */
typedef struct fovea_conv1d_args {
  uint32_t struct_bytes; /* sizeof(fovea_conv1d_args) */
  fovea_target target;   /* FOVEA_TARGET_BEST, or one that must be used (FOVEA_ERR_TARGET) */

  uint32_t batch, tokens; /* any may be 0: nothing is written */
  uint32_t channels;      /* at least 1 (FOVEA_ERR_DIM) */
  uint32_t width;         /* taps, 1 to FOVEA_CONV1D_MOST_WIDTH (FOVEA_ERR_DIM) */
  uint32_t silu;          /* nonzero: y becomes y sigmoid(y) */

  /* f32 [batch][tokens][channels] in any order: token strides or channel strides are 1 in both (FOVEA_ERR_STRIDE).
   * y may be x with the same strides. */
  float* y;
  ptrdiff_t y_batch_stride, y_token_stride, y_channel_stride;
  const float* x;
  ptrdiff_t x_batch_stride, x_token_stride, x_channel_stride;

  const float* weight; /* [channels][width], the tap of the newest token last */
  ptrdiff_t weight_stride; /* from a channel to the next */
  const float* bias;   /* [channels], NULL = 0 */

  /* [batch][width - 1][channels], dense: the inputs before those of the call, oldest first. The call replaces them by
   * the last ones that it has seen. Zeros for a sequence that begins; NULL = zeros, and nothing is kept. A copy of it
   * rolls back. Must not overlap anything (FOVEA_ERR_OVERLAP). */
  float* state;
} fovea_conv1d_args;

fovea_status fovea_conv1d_f32(const fovea_conv1d_args* args);

/* ------------------------------------------------------------------------------------------------------ caches */

/* The keys and values of some sequences, in the caller's memory. fovea_attention takes them from there as a
 * fovea_kv_source, whatever the kind and the formats. A cache is a plain structure: set its first part, and
 * fovea_kv_cache_init fills in the rest. The rest is for reading; only page_table is for the caller to change. The
 * arrays that source names may be read and written: see fovea_kv_set_length.
 *
 *     fovea_kv_cache cache = {0};                        // 2 sequences of up to 4096 tokens in int8
 *     cache.struct_bytes = sizeof cache; cache.batch = 2; cache.max_tokens = 4096; ...
 *     fovea_kv_cache_init(&cache, memory, fovea_kv_cache_bytes(&cache));
 *     fovea_kv_describe(&cache, &desc);                  // then fovea_plan_init
 *     for (;;) {
 *       fovea_kv_append(&cache, &append);                // f32 keys and values of new tokens
 *       fovea_kv_attach(&cache, &args);                  // then fovea_attention
 *     } */
#define FOVEA_NO_PAGE 0xffffffffu

typedef struct fovea_kv_cache {
  uint32_t struct_bytes; /* sizeof(fovea_kv_cache) */
  fovea_kv_kind kind;    /* not FOVEA_KV_LOAD (FOVEA_ERR_UNSUPPORTED) */
  fovea_dtype key_dtype, value_dtype;
  uint32_t batch;                           /* entries, each a sequence; may be 0 */
  uint32_t kv_heads, head_dim, value_dim;   /* >= 1 (FOVEA_ERR_DIM) */
  uint32_t max_tokens;    /* of an entry, at most 2^30; in a ring its slots, more than pinned_tokens (FOVEA_ERR_SIZE) */
  uint32_t pinned_tokens; /* as in a description: the first tokens of an entry, which a ring keeps */
  uint32_t page_tokens;   /* tokens of a page, >= 1; 0 with other kinds (FOVEA_ERR_SIZE) */
  uint32_t pages;         /* in the pool, for all entries; 0 with other kinds (FOVEA_ERR_SIZE) */

  /* Nonzero: a value is the first value_dim elements of its key, and only keys are stored; source.values is
   * source.keys. value_dtype is key_dtype, and value_dim at most head_dim (FOVEA_ERR_SIZE). A scale of I8 covers the
   * whole key. This serves multi-head latent attention (DeepSeek-V2, arXiv 2405.04434, section 2.1, with the
   * up-projections in queries and outputs): kv_heads is 1, and a key is the latent vector followed by the elements that
   * carry the position. */
  uint32_t values_in_keys;

  /* Optional [kv_heads][head_dim]: fovea_kv_append subtracts it from each key, after the key was turned
   * ("smoothing", SageAttention, arXiv 2410.02367, section 4.2). Where keys have elements that are always large, rows
   * of I8 and I4 spend their codes on these; the mean of many keys takes that away: fovea_kv_center. The caller keeps
   * it and does not change it while the cache is in use. Finite numbers. Not with values_in_keys
   * (FOVEA_ERR_UNSUPPORTED). */
  const float* key_center;

  uint32_t magic;         /* tells a cache of this version from other bytes */
  void* memory;
  size_t memory_bytes;
  fovea_kv_source source; /* for fovea_attention_args.kv */
  uint32_t* lengths;      /* [batch]: tokens that were put in; in a ring also those that are gone */
  uint32_t* first_tokens; /* ring [batch]: the oldest token, apart from pinned ones, that is still there */
  uint32_t* page_table;   /* paged [batch][ceil(max_tokens / page_tokens)]: the page of the pool that has these tokens;
                             at first FOVEA_NO_PAGE. Whoever manages the pool sets an entry's next pages before tokens
                             are appended, and takes pages back after a reset or truncation */
} fovea_kv_cache;

/* Bytes of memory that the cache needs; 0 where batch is 0, and where its first part is not valid. The macro is an upper bound for static
 * arrays, for strided caches and rings. With values_in_keys pass it FOVEA_F32 as value_dtype and 0 as value_dim. */
size_t fovea_kv_cache_bytes(const fovea_kv_cache* cache);
#define FOVEA_KV_CACHE_BYTES(key_dtype, value_dtype, batch, kv_heads, max_tokens, head_dim, value_dim) \
  FOVEA_KV_CACHE_BYTES_(FOVEA_ROW_BYTES_(key_dtype, head_dim) + FOVEA_ROW_BYTES_(value_dtype, value_dim), \
                        FOVEA_SIZE_(batch) * (kv_heads) * (max_tokens), batch)

/* Lays an empty cache out in memory, which is 64-byte aligned (FOVEA_ERR_ALIGNMENT) and has at least
 * fovea_kv_cache_bytes (FOVEA_ERR_WORKSPACE). */
fovea_status fovea_kv_cache_init(fovea_kv_cache* cache, void* memory, size_t memory_bytes);

/* The arguments of fovea_kv_append. Set all to 0 first, then fill in. */
typedef struct fovea_kv_append_args {
  uint32_t struct_bytes;  /* sizeof(fovea_kv_append_args) */
  fovea_target target;    /* FOVEA_TARGET_BEST, or one that must be used (FOVEA_ERR_TARGET). Bits do not depend on it */
  uint32_t entry, batch;  /* entries [entry, entry + batch), all of them in the cache (FOVEA_ERR_CAPACITY) */
  uint32_t tokens;        /* new tokens of each entry; with offsets, of all entries together */
  const uint32_t* counts; /* optional [batch]: of its tokens, each entry gets only the first counts[b]
                             (FOVEA_ERR_LENGTH) */
  const uint32_t* offsets; /* optional [batch + 1]: ragged, like kv_offsets of fovea_attention_args. Entry entry + b
                              gets the tokens from offsets[b] up to, but without, offsets[b + 1]. Offsets never fall,
                              and the last is at most `tokens` (FOVEA_ERR_LENGTH). Batch strides are not read */
  fovea_dtype dtype;      /* of keys and values here: F32, F16 or BF16 (FOVEA_ERR_UNSUPPORTED) */
  fovea_in keys;          /* [batch][kv_heads][tokens][head_dim] */
  fovea_in values;        /* [batch][kv_heads][tokens][value_dim]. Not read with values_in_keys */

  /* Optional: turns keys on their way in, by the position of their token in the entry. Of rope, only these are read:
   * struct_bytes, layout, rotary_dim, inverse, turns, cos, sin, table_stride, table_positions and position_offset. With
   * values_in_keys the elements of the value are not turned, and turning begins behind them. */
  const fovea_rope_args* rope;
  const int64_t* position_offsets; /* optional [batch], with rope (else FOVEA_ERR_NULL): added to position_offset for
                                      each entry (FOVEA_ERR_SIZE where the sum overflows). With left padding, for
                                      example, minus the padding; with cos and sin no token may then come below
                                      position 0 (FOVEA_ERR_POSITION_RANGE) */
  void* workspace;        /* required with rope or a key_center, or with a dtype other than F32: floats
                             [kv_heads][head_dim], or for such a dtype [kv_heads][the larger of head_dim and value_dim]
                             (FOVEA_ERR_WORKSPACE). More lets several tokens pass at a time */
  size_t workspace_bytes;
} fovea_kv_append_args;

/* Adds tokens to the mean of the keys of each head, for key_center: center[head][d] over all tokens of all calls.
 * count is how many tokens the mean is of: 0 before the first call, when center need not hold numbers. Keys are F32
 * [batch][kv_heads][tokens][head_dim], already turned if the cache turns them. Sums are f32, so means of more than some
 * millions of tokens no longer move. */
fovea_status fovea_kv_center(float* center, uint64_t* count, const fovea_in* keys, uint32_t batch, uint32_t kv_heads,
                             uint32_t tokens, uint32_t head_dim);

/* Appends tokens to entries, converted to the cache's formats. If any entry has no room for all of its tokens, nothing
 * is written (FOVEA_ERR_FULL): an entry holds max_tokens, and in pages no more than its table has pages for. A ring
 * does not fill up, because its oldest tokens give way; it refuses only to go beyond 2^30 tokens in all. */
fovea_status fovea_kv_append(fovea_kv_cache* cache, const fovea_kv_append_args* args);

/* Makes entry to_entry of `to` the first `tokens` tokens of entry from_entry of `from`: for a prompt that several
 * sequences share, the beams of a search, a cache that grows. Bytes are copied as they are, scales too. The caches may
 * be the same one; if not, their memory is apart (FOVEA_ERR_OVERLAP). They have the same kv_heads, dimensions, types,
 * values_in_keys and key_center. Strided and paged caches go together; a ring needs a ring with as many slots and
 * pinned tokens (FOVEA_ERR_SIZE).
 *   tokens     at most from_entry's length, and in a ring a length that fovea_kv_truncate would allow
 *              (FOVEA_ERR_LENGTH). FOVEA_ERR_FULL and FOVEA_ERR_PAGE as if they were appended to an empty entry.
 *   pages      that both tables name in the same place are shared, not copied. One entry's prefix thus serves another,
 *              as long as neither is appended or copied to in a shared page: give that entry another page before. A
 *              page of to_entry that from_entry has in another place is FOVEA_ERR_OVERLAP, even behind the tokens. */
fovea_status fovea_kv_copy(fovea_kv_cache* to, uint32_t to_entry, const fovea_kv_cache* from, uint32_t from_entry,
                           uint32_t tokens);

/* Says that the entry now has `length` tokens, whatever it had before. Their rows are in the arrays of source already:
 * read from a file, written by another processor, or in pages that another entry has too.
 *   length         FOVEA_ERR_FULL where it is more than max_tokens (in a ring, than 2^30), or than the table has pages
 *                  for; FOVEA_ERR_PAGE where the table names a page that the pool does not have.
 *   first_token    in a ring: the oldest token, apart from pinned ones, whose row is there. At most `length`, and late
 *                  enough that the tokens from it on fit (FOVEA_ERR_LENGTH); not read where `length` is at most
 *                  pinned_tokens. 0 = as many as fit, whatever was there before. (To take appended tokens back, use
 *                  fovea_kv_truncate.) With other kinds 0 (FOVEA_ERR_LENGTH). */
fovea_status fovea_kv_set_length(fovea_kv_cache* cache, uint32_t entry, uint32_t length, uint32_t first_token);

/* Keeps an entry's first `length` tokens and takes the others back, as after a draft that was not accepted. length is
 * at most the entry's (FOVEA_ERR_LENGTH). In a ring, tokens that were overwritten do not come back: length is also at
 * least the entry's first_tokens, or so small that only pinned tokens stay (FOVEA_ERR_LENGTH). A later call that would
 * see an overwritten token is refused (FOVEA_ERR_RING); ring_tokens says how many slots a draft needs. */
fovea_status fovea_kv_truncate(fovea_kv_cache* cache, uint32_t entry, uint32_t length);

/* Empties an entry, or with FOVEA_ALL_ENTRIES all of them. Page tables stay. */
fovea_status fovea_kv_reset(fovea_kv_cache* cache, uint32_t entry);

/* Writes what the cache knows into a description whose struct_bytes is set (FOVEA_ERR_STRUCT): kv_heads, head_dim,
 * value_dim, max_batch, max_kv_tokens, the types of keys and values, pinned_tokens, and the kind with its sizes. A
 * ring's max_kv_tokens is 2^30: it needs a window_left, or hide_gone. */
fovea_status fovea_kv_describe(const fovea_kv_cache* cache, fovea_attention_desc* desc);

/* Writes what the cache holds now into arguments whose struct_bytes is set (FOVEA_ERR_STRUCT): batch, kv_tokens,
 * kv_lengths and kv. Call it after each append. */
fovea_status fovea_kv_attach(const fovea_kv_cache* cache, fovea_attention_args* args);

/* --------------------------------------------------------------------------------------------- calibration */

/* Scales and zero points of tensors of I8 from the numbers that a tensor holds in some runs of a model. For the tools
 * beside a model, on a host: plain code, in f32, and a range of 16 KiB.
 *
 *     fovea_quantize_range range = {0};
 *     range.struct_bytes = sizeof range;
 *     for (...) fovea_quantize_observe(&range, x, count);             // each run
 *     fovea_quantize_choose(&range, 0.9999f, 1, &scale, &zero);       // then
 *     fovea_quantize_to_i8(x, count, scale, zero, codes); */
#define FOVEA_QUANTIZE_BINS 2048
typedef struct fovea_quantize_range {
  uint32_t struct_bytes; /* sizeof(fovea_quantize_range); all else is 0 before the first numbers */
  float least, most;     /* of all numbers, and of 0 */
  float width;           /* of a bin; a power of 2 */
  uint64_t count;        /* numbers that were observed */
  uint64_t bins[FOVEA_QUANTIZE_BINS]; /* how many of them are in [(i - FOVEA_QUANTIZE_BINS / 2) * width, the next) */
} fovea_quantize_range;

/* Adds numbers to the range. FOVEA_ERR_NUMBER where one of them is NaN or infinite: then none was added. */
fovea_status fovea_quantize_observe(fovea_quantize_range* range, const float* x, size_t count);

/* Chooses a scale and a zero point. fraction is the part of the numbers whose codes must not saturate, from above 0 to
 * 1 (FOVEA_ERR_NUMBER), rounded up to whole numbers. Those left out are the largest, and with `asymmetric` the largest
 * or the least, whichever leaves the shorter range. 1 keeps all: less than 1 gives the others finer steps, and is exact
 * to a bin, a 1024th part of the largest magnitude or less.
 *   asymmetric == 0   zero = 0, scale = the largest magnitude / 127
 *   else              the range, extended to 0, becomes the codes -128 to 127, and 0 is exactly the code zero
 * The scale is at least FLT_MIN; it is 1 where all numbers are 0, or there are none. */
fovea_status fovea_quantize_choose(const fovea_quantize_range* range, float fraction, uint32_t asymmetric, float* scale,
                                   int32_t* zero);

/* codes[i] = round(x[i] * (1 / scale)) + zero, to nearest, ties to even, at least -128 and at most 127; NaN becomes
 * zero. And back: x[i] = scale * (codes[i] - zero). scale is normal and above 0, zero a code (FOVEA_ERR_NUMBER). The
 * arrays do not overlap (FOVEA_ERR_OVERLAP). */
fovea_status fovea_quantize_to_i8(const float* x, size_t count, float scale, int32_t zero, int8_t* codes);
fovea_status fovea_quantize_from_i8(const int8_t* codes, size_t count, float scale, int32_t zero, float* x);

/* ----------------------------------------------------------------------------------------- multi-head layers */

/* A layer of multi-head attention (Vaswani et al., arXiv 1706.03762, section 3.2.2; PyTorch's nn.MultiheadAttention):
 *     q = x W_q^T + b_q,    k = keys W_k^T + b_k,    v = values W_v^T + b_v,
 *     y = concat_h(attention(q_h, k_h, v_h)) W_o^T + b_o
 * where head h has elements [h * head_dim, (h + 1) * head_dim) of each token's q, and so on. Three uses:
 *     self-attention             x alone
 *     encoder-decoder attention  x, and keys from another sequence: given with each call, or projected once by
 *                                fovea_multihead_append into a cache, to which the calls then attend
 *     decoder self-attention     a token or more at a time: fovea_multihead_append of x, then fovea_multihead with the
 *                                cache; FOVEA_CAUSAL_BOTTOM_RIGHT is right for any number of new tokens
 * The layer is made of fovea_attention and fovea_linear: masks, limits, scores, statuses and edge cases are
 * theirs. */
typedef struct fovea_multihead_desc {
  uint32_t struct_bytes;    /* sizeof(fovea_multihead_desc) */
  uint32_t d_model;         /* elements of a token of x and of y. 0 = q_heads * head_dim */
  uint32_t key_model;       /* elements of a token that keys are projected from. 0 = d_model */
  uint32_t value_model;     /* elements of a token that values are projected from. 0 = key_model */
  fovea_dtype weight_dtype; /* of all weights: any */

  /* The arithmetic of the linear layers: FOVEA_COMPUTE_I8 needs weights of I8 or in groups (FOVEA_ERR_UNSUPPORTED).
   * That of attention is attention.compute. */
  fovea_compute linear_compute;

  /* Tensors of I8 with one scale and one zero point, as in fovea_attention_desc, for layers whose inputs and outputs
   * are bytes. x_scale and x_zero hold for keys and values of the arguments, too. Between the steps, queries, keys,
   * values and the outputs of the heads are what the description of attention says: F32, or I8 with a scale there. Each
   * tensor may be of either type, where attention serves it. Tensors of I8 need FOVEA_COMPUTE_I8 as linear_compute
   * (FOVEA_ERR_UNSUPPORTED), and bias_i32 of weights needs an input of I8 (FOVEA_ERR_UNSUPPORTED).
   *   x_dtype, y_dtype  F32 or I8 (FOVEA_ERR_UNSUPPORTED)
   *   x_scale, y_scale  I8: 2^-126 to 2^126 (FOVEA_ERR_NUMBER); F32: 0 (FOVEA_ERR_UNSUPPORTED)
   *   x_zero, y_zero    I8: -128 to 127 (FOVEA_ERR_NUMBER); F32: 0 (FOVEA_ERR_UNSUPPORTED)
   * Refused with FOVEA_ERR_UNSUPPORTED: rope for queries or keys of I8; a cache where key_scale or value_scale is not
   * 0; a layer that is left out where its input and its output are not the same type, scale and zero point. */
  fovea_dtype x_dtype, y_dtype;
  float x_scale, y_scale;
  int32_t x_zero, y_zero;

  /* Most keys of an entry that one call projects: 1 where tokens come one by one. 0 = attention.max_kv_tokens. */
  uint32_t max_new_tokens;

  /* Heads, capacities and options. max_kv_tokens counts all keys that are attended to, those in a cache too. q_dtype
   * and out_dtype are F32, or I8 with one scale (FOVEA_ERR_UNSUPPORTED). kv_kind, its sizes, key_dtype and value_dtype
   * are the cache's. Calls without a cache are refused (FOVEA_ERR_UNSUPPORTED) unless kv_kind is FOVEA_KV_STRIDED, and
   * each of the types is F32, or I8 with key_scale or value_scale. kv_kind is never
   * FOVEA_KV_LOAD (FOVEA_ERR_UNSUPPORTED). portable_bits and max_workers hold for the linear layers too; the budget
   * holds for the attention alone. */
  fovea_attention_desc attention;
} fovea_multihead_desc;

/* A plan, like fovea_plan. */
typedef struct fovea_multihead_plan {
  fovea_multihead_desc desc; /* each 0 that stands for a default is replaced by it */
  fovea_plan attention;
  uint32_t magic;         /* tells a plan of this version from other bytes */
  size_t shared_bytes;    /* of workspace, for attention and linear layers by turns */
  size_t workspace_bytes; /* in all */
} fovea_multihead_plan;

/* Validates the description. On error *plan is not written. */
fovea_status fovea_multihead_plan_init(fovea_multihead_plan* plan, const fovea_multihead_desc* desc);

/* Bytes of workspace that any call with this plan needs; 0 for no plan. It has room for what attention and a linear
 * layer need, and for the projections of max_batch * max_q_tokens queries, the outputs of their heads, and max_batch *
 * max_new_tokens keys and values. The second function is for another machine's target, as fovea_workspace_bytes_for. */
size_t fovea_multihead_workspace_bytes(const fovea_multihead_plan* plan);
size_t fovea_multihead_workspace_bytes_for(const fovea_multihead_desc* desc, fovea_target target);

/* The same as a constant expression, for static arrays: an upper bound like FOVEA_WORKSPACE_BYTES, for head_dim ==
 * value_dim. q_rows is max_batch * max_q_tokens, kv_rows is max_batch * max_new_tokens, and d_model is the largest of
 * d_model, key_model and value_model. It serves f32 keys and values in one run; for other caches add
 * FOVEA_KV_WORKSPACE_BYTES(head_dim, head_dim), or with FOVEA_COMPUTE_I8 FOVEA_I8_WORKSPACE_BYTES. The second macro is
 * for a linear_compute of FOVEA_COMPUTE_I8. */
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

/* Weights of a layer, each with a bias or none. A linear layer with data NULL is left out: what it would project is
 * taken as it is, has as many elements as the projection would have (FOVEA_ERR_SIZE) and the same type, scale and zero
 * point (FOVEA_ERR_UNSUPPORTED), and gets no bias (FOVEA_ERR_NULL). */
typedef struct fovea_multihead_weights {
  fovea_linear_weights q;   /* [q_heads * head_dim][d_model] */
  fovea_linear_weights k;   /* [kv_heads * head_dim][key_model] */
  fovea_linear_weights v;   /* [kv_heads * value_dim][value_model] */
  fovea_linear_weights out; /* [d_model][q_heads * value_dim] */
  fovea_linear_weights qkv; /* optional, instead of q, k and v (FOVEA_ERR_UNSUPPORTED with both): their rows one after
                               the other, and their scales and biases likewise. All three models are then the same
                               (FOVEA_ERR_SIZE). Where x alone is projected, and all three become F32 or all three the
                               same kind of tensor, this is one linear layer, which is faster */
} fovea_multihead_weights;

/* The arguments of a call. Set all to 0 first, then fill in. Tokens are [batch][tokens][model], y of y_dtype, the
 * others of x_dtype; the strides say whether batch or tokens come first in memory. head_stride is not read. */
typedef struct fovea_multihead_args {
  uint32_t struct_bytes; /* sizeof(fovea_multihead_args) */
  uint32_t batch;
  uint32_t q_tokens;  /* of x and y */
  uint32_t kv_tokens; /* of keys and values. Not read where keys and values are x, or in a cache. With a cache the
                         largest length among the call's entries takes its place: it is the number of columns of scores
                         out, and the most that a mask may cover (FOVEA_ERR_MASK) */
  fovea_out y;        /* required: [batch][q_tokens][d_model] */
  fovea_in x;         /* required: [batch][q_tokens][d_model] */
  fovea_in keys;      /* [batch][kv_tokens][key_model]. data NULL = x, whatever kv_tokens is */
  fovea_in values;    /* [batch][kv_tokens][value_model], as many as keys (FOVEA_ERR_SIZE). data NULL = keys */
  fovea_multihead_weights weights;

  const fovea_kv_cache* cache; /* optional: attend to what its first `batch` entries hold. Then keys, values and
                                  kv_lengths are NULL (FOVEA_ERR_UNSUPPORTED). Its kind, types and sizes are those of
                                  the description, and values_in_keys is 0 (FOVEA_ERR_SIZE) */

  /* Optional: turns queries, and keys unless they are in a cache, where they were turned on their way in. Of rope, only
   * these are read: what fovea_kv_append reads, and positions: the position of the first query, and without a cache of
   * the first key. With a cache the first query is, in most uses, at position length - q_tokens; positions NULL would
   * put it at 0. */
  const fovea_rope_args* rope;

  /* lse, scores, mask, block_map, modifier, kv_lengths, positions, slopes, sinks, score_vector, dropout_seed and
   * executor, as in fovea_attention. Set its struct_bytes too. Its batch, counts of tokens, out, q and kv are not read. slow_workspace
   * and ragged batches are refused (FOVEA_ERR_UNSUPPORTED). Weights come out (scores) for each head; PyTorch's
   * nn.MultiheadAttention averages them over the heads unless average_attn_weights is false. */
  fovea_attention_args attention;
} fovea_multihead_args;

/* Computes y. workspace is as in fovea_attention, with fovea_multihead_workspace_bytes. Arrays and the cache must not
 * overlap y, lse, scores or the workspace (FOVEA_ERR_OVERLAP). */
fovea_status fovea_multihead(const fovea_multihead_plan* plan, const fovea_multihead_args* args, void* workspace,
                             size_t workspace_bytes);

/* Projects keys and values and appends them to the cache's first `batch` entries, as fovea_kv_append does and with its
 * statuses. Each entry gets kv_tokens tokens of args->keys and args->values, or q_tokens of x. Of args, only these
 * arrays and counts are read, and batch, weights, rope (a key's position is its number in the entry),
 * attention.executor and attention.struct_bytes. */
fovea_status fovea_multihead_append(const fovea_multihead_plan* plan, fovea_kv_cache* cache,
                                    const fovea_multihead_args* args, void* workspace, size_t workspace_bytes);

/* -------------------------------------------------------------------------------- arithmetic of the macros */
/* clang-format off */
#define FOVEA_SIZE_(count) (sizeof(char) * (count)) /* as a size_t without a cast: C++ compilers warn of C casts */
/* A tile has three vectors of rows, or six, and one lane. */
#if FOVEA_TILE_ROWS_MAX == 24
#define FOVEA_LANES_MAX_ 4u
#else
#define FOVEA_LANES_MAX_ (FOVEA_TILE_ROWS_MAX / 3u)
#endif
#define FOVEA_ALIGN_UP_(bytes) ((FOVEA_SIZE_(bytes) + 63u) / 64u * 64u)
/* Arrays of a query tile that have one element for each row. The library asserts that the macros for static arrays
 * agree with the functions that divide a workspace into arrays. */
#define FOVEA_TILE_ARRAYS_ 9u
#define FOVEA_WORKSPACE_BYTES_FOR_ROWS_(head_dim, value_dim, rows)                                  \
  (FOVEA_ALIGN_UP_(FOVEA_SIZE_(head_dim) * (rows) * 4u) + FOVEA_ALIGN_UP_(FOVEA_SIZE_(value_dim) * (rows) * 4u) + \
   FOVEA_ALIGN_UP_(FOVEA_KEY_TILE * FOVEA_SIZE_(rows) * 4u) + FOVEA_TILE_ARRAYS_ * FOVEA_ALIGN_UP_(FOVEA_SIZE_(rows) * 4u))
#define FOVEA_LARGER_(a, b) ((a) > (b) ? (a) : (b))
/* A converted or gathered row has room for at least this many f32. */
#define FOVEA_STAGED_ELEMENTS_MIN_ 9u
#if FOVEA_TILE_ROWS_MAX == 4
#define FOVEA_KV_STAGE_BYTES_(head_dim, value_dim)                                                  \
  FOVEA_LARGER_(FOVEA_PIECE_KEYS * FOVEA_SIZE_(head_dim) * 4u, FOVEA_KEY_TILE * FOVEA_PIECE_ELEMENTS * 4u)
#else
#define FOVEA_KV_STAGE_BYTES_(head_dim, value_dim) \
  (FOVEA_KEY_TILE * 4u * (FOVEA_LARGER_(FOVEA_SIZE_(head_dim), FOVEA_STAGED_ELEMENTS_MIN_) +        \
                          FOVEA_LARGER_(FOVEA_SIZE_(value_dim), FOVEA_STAGED_ELEMENTS_MIN_)))
#endif
/* Integer products read rows of keys in steps of up to 16 elements. Beside the arrays above a query row has the codes
 * of its weights and four more numbers, a key tile its codes, and numbers of each key and of each element of the
 * values. */
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
/* Integer attention takes rows in blocks. A row has its state, the codes of its query, scores and weights of a key
 * tile, and sums. Processors that multiply bytes or pairs of 16 bits get keys and values brought, which many rows pay
 * for. */
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
#if FOVEA_TILE_ROWS_MAX == 48
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
#define FOVEA_WHOLE_VECTORS_BYTES_(dim, rows) \
  FOVEA_ALIGN_UP_((FOVEA_SIZE_(dim) + FOVEA_LANES_MAX_ - 1u) / FOVEA_LANES_MAX_ * FOVEA_LANES_MAX_ * (rows) * 4u)
/* A tile of a linear layer has at most as many tokens as one of attention has rows, or twice as many for weights narrower
 * than f32. Fewer tokens fill fewer vectors. */
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
   2u * FOVEA_ALIGN_UP_((FOVEA_SIZE_(in_dim) + 31u) / 32u * (rows) * 4u) +                                       \
   FOVEA_LINEAR_OUTPUTS_ * ((rows) + 1u) * 4u + FOVEA_LINEAR_WIDENED_BYTES_)
#define FOVEA_MULTIHEAD_BYTES_(q_heads, kv_heads, head_dim, q_rows, kv_rows, linear_bytes)                       \
  (2u * FOVEA_ALIGN_UP_(FOVEA_SIZE_(q_rows) * (q_heads) * (head_dim) * 4u) +                                     \
   2u * FOVEA_ALIGN_UP_(FOVEA_SIZE_(kv_rows) * (kv_heads) * (head_dim) * 4u) +                                   \
   FOVEA_LARGER_(FOVEA_WORKSPACE_BYTES(head_dim, head_dim), linear_bytes))
/* Linear attention holds keys and queries of groups of four tokens, and factors for each element of the keys: rows of
 * 128 of them for wide vectors, or 16 for each element. */
#define FOVEA_DELTA_DIM_(dim) ((FOVEA_SIZE_(dim) + 15u) / 16u * 16u)
#define FOVEA_DELTA_HEAD_BYTES_(key_dim, value_dim, decay_dim)                                         \
  (4u * ((FOVEA_SIZE_(key_dim) + 4u) * FOVEA_DELTA_DIM_(value_dim) +                                   \
         4u * (FOVEA_DELTA_DIM_(key_dim) + ((decay_dim) > 1u ? FOVEA_DELTA_DIM_(key_dim) : 4u))))
#if FOVEA_TILE_ROWS_MAX == 4
#define FOVEA_DELTA_GROUPS_ 1u
#else
#define FOVEA_DELTA_GROUPS_ 8u
#endif
#define FOVEA_DELTA_GROUP_BYTES_ (160u + sizeof(void*))
#if FOVEA_TILE_ROWS_MAX == 48
#define FOVEA_DELTA_FACTORS_(key_dim) \
  FOVEA_LARGER_(FOVEA_DELTA_DIM_(key_dim) * 16u, (FOVEA_SIZE_(key_dim) + 127u) / 128u * 1872u)
#else
#define FOVEA_DELTA_FACTORS_(key_dim) (FOVEA_DELTA_DIM_(key_dim) * 16u)
#endif
#define FOVEA_DELTA_BYTES_FOR_GROUPS_(key_dim, groups)                                       \
  (FOVEA_DELTA_DIM_(key_dim) * 48u + 1024u + FOVEA_ALIGN_UP_((groups) * FOVEA_DELTA_GROUP_BYTES_) + \
   FOVEA_ALIGN_UP_((groups) * FOVEA_DELTA_FACTORS_(key_dim) * 4u))
#define FOVEA_ROW_BYTES_(dtype, dim)                                                               \
  ((dtype) == FOVEA_F32 ? FOVEA_SIZE_(dim) * 4u                                                    \
   : (dtype) == FOVEA_F16 || (dtype) == FOVEA_BF16 ? FOVEA_SIZE_(dim) * 2u                         \
   : (dtype) == FOVEA_I8 ? FOVEA_SIZE_(dim) + 4u                                                   \
   : (FOVEA_SIZE_(dim) + 31u) / 32u * ((dtype) == FOVEA_Q8_0 ? 34u : (dtype) == FOVEA_Q4_1 ? 20u : 18u))
#define FOVEA_KV_CACHE_BYTES_(row_bytes, rows, batch)                                              \
  ((rows) * (row_bytes) + 2u * FOVEA_ALIGN_UP_(FOVEA_SIZE_(batch) * 4u) + 4u * 63u)
/* clang-format on */

#if defined(__GNUC__)
#pragma GCC visibility pop
#endif
#ifdef __cplusplus
} /* extern "C" */
#endif

#endif /* FOVEA_FOVEA_H_ */
