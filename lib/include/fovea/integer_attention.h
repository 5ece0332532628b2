/* fovea/integer_attention.h: attention on int8 tensors without floating point.
 *
 * SPDX-License-Identifier: Apache-2.0
 *
 *     #include <fovea/integer_attention.h>
 *
 *     static int8_t q[16][64], keys[16][64], values[16][64], out[16][64];
 *     static _Alignas(FOVEA_WORKSPACE_ALIGNMENT) unsigned char
 *         workspace[FOVEA_INTEGER_ATTENTION_WORKSPACE_BYTES(64, 64, 16)];
 *
 *     int main(void) {
 *       const double q_scale = 0.02, key_scale = 0.03, value_scale = 0.01, out_scale = 0.01;
 *       fovea_integer_attention_args args = {.struct_bytes = sizeof args, .batch = 1, .q_heads = 1, .kv_heads = 1,
 *                                            .q_tokens = 16, .kv_tokens = 16, .head_dim = 64, .value_dim = 64};
 *       // Scores are in octaves: 1 / sqrt(64) * log2(e) = 0.18033688. Firmware may store the four numbers instead.
 *       fovea_integer_multiplier(q_scale * key_scale * 0.18033688, &args.score_multiplier, &args.score_shift);
 *       fovea_integer_multiplier(value_scale / out_scale, &args.out_multiplier, &args.out_shift);
 *       args.q = (fovea_in){.data = q, .token_stride = 64};
 *       args.keys = (fovea_in){.data = keys, .token_stride = 64};
 *       args.values = (fovea_in){.data = values, .token_stride = 64};
 *       args.out = (fovea_out){.data = out, .token_stride = 64};
 *       return fovea_integer_attention(&args, workspace, sizeof workspace);
 *     }
 *
 * Attention on int8 tensors, out[i] = sum_j softmax_j(scale * dot(q[i], key[j])) * value[j], in integers alone: for
 * processors without floating point. On microcontrollers it is also the smallest and fastest attention of the library.
 * There is no plan, and a build has one kernel, chosen when it is compiled: Helium and Cortex-M with smlad have their
 * own; x86, AArch64 and RISC-V run plain loops, and FOVEA_COMPUTE_I8 is faster there. The conventions of base.h hold. A
 * query that sees no key gets out_zero_point, the code of 0. */
#ifndef FOVEA_INTEGER_ATTENTION_H_
#define FOVEA_INTEGER_ATTENTION_H_

#include "fovea/base.h"
#include "fovea/workspace.h"

FOVEA_DECLARATIONS_BEGIN_

/* The arguments of fovea_integer_attention. Set all to 0 first, then fill in.
 *
 * Scales. Queries, keys, values and outputs are int8, -128 included. Each tensor has one scale and one zero point:
 * x = scale * (code - zero). Two numbers hold all scales, each as multiplier * 2^(shift - 31), as in TensorFlow Lite:
 *     score    q_scale * key_scale * scale * log2(e), where scale is mostly 1 / sqrt(head_dim): turns a sum of products
 *              of codes into a score in octaves
 *     out      value_scale / out_scale
 * fovea_integer_multiplier computes both parts of such a number. A zero point of keys adds the same to all scores of a
 * query, which does not change their softmax: there is no field for it.
 *
 * Arithmetic. It is the same on every target, to the bit. All products and sums are exact. round() is to the nearest
 * integer, halves upwards. steps(x) = round(64 x score_multiplier 2^(min(score_shift, 6) - 31)).
 *     s_j = sum_e (q_e - q_zero_point) key_je                          for the keys that the query sees
 *   For each key tile (64 keys, on a grid that starts at key 0) of which the query sees a key, in rising order:
 *     m   = max_j s_j,   d_j = steps(m - s_j),   u_j = round(255 * 2^(-d_j / 64)), and 0 where d_j is 576 or more
 *     r'  = steps(m) for the first tile, else max(r, steps(m)), but at least r + 64 if l > 2^30
 *     l'  = round(f(r' - r) l) + round(f(r' - steps(m)) 2^14 sum_j u_j)
 *     o'_e = round(f(r' - r) o_e) + round(f(r' - steps(m)) 2^6 sum_j u_j value_je)
 *     f(d) = floor(min(2^31 - 1, round(2^(31 - (d mod 64) / 64))) / 2^floor(d / 64)) / 2^31, and 0 from 31 * 64 on
 *   At the end, with n = l * 2^z, 2^30 <= n < 2^31, and h = round(n / 2^15):
 *     g   = floor(out_multiplier * floor((2^31 + floor(h / 2)) / h) / 2^16)
 *     out_e = out_zero_point + round((o_e - value_zero_point * round(l / 2^8)) * g * 2^(out_shift + z - 53)), saturated
 *
 * Errors. tests/ACCURACY.md has them. They are mostly errors of rounding to codes: a weight is wrong by at most half a
 * code, where 255 stands for the largest weight of its tile, and by at most half a step. */
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

  /* Zero points: -128 to 127 (FOVEA_ERR_NUMBER). */
  int32_t q_zero_point, value_zero_point, out_zero_point;
  /* Multipliers: 2^30 to 2^31 - 1, shifts: -31 to 31 (FOVEA_ERR_NUMBER). See "Scales" above. */
  int32_t score_multiplier, score_shift;
  int32_t out_multiplier, out_shift;

  /* Visible keys, as in fovea_attention_desc and fovea_attention_args: a query at position p sees the keys
   * p - window_left < j < p + window_right. A window of 0 is unlimited. */
  fovea_causal causal;
  uint32_t window_left, window_right;
  const int64_t* first_positions; /* [batch]: the position of each entry's first query, within -2^62 to 2^62
                               (FOVEA_ERR_SIZE). Required with FOVEA_CAUSAL_POSITIONS, and for windows without a causal
                               limit (FOVEA_ERR_POSITIONS_MISSING). NULL with FOVEA_CAUSAL_TOP_LEFT and
                               FOVEA_CAUSAL_BOTTOM_RIGHT (FOVEA_ERR_POSITIONS_TWICE) */
  const uint32_t* kv_lengths;     /* optional [batch]: keys of each entry, <= kv_tokens (FOVEA_ERR_LENGTH). NULL =
                                 kv_tokens */
} fovea_integer_attention_args;

/* Writes out. workspace has at least fovea_integer_attention_workspace_bytes(args) bytes (FOVEA_ERR_WORKSPACE) and is
 * aligned to FOVEA_WORKSPACE_ALIGNMENT (FOVEA_ERR_ALIGNMENT). No array may overlap out or the workspace
 * (FOVEA_ERR_OVERLAP). */
fovea_status fovea_integer_attention(const fovea_integer_attention_args* args, void* workspace, size_t workspace_bytes);

/* Writes how many bytes of workspace a call needs. Of the arguments, only counts are read. For static arrays
 * workspace.h has FOVEA_INTEGER_ATTENTION_WORKSPACE_BYTES. */
fovea_status fovea_integer_attention_workspace_bytes(const fovea_integer_attention_args* args, size_t* bytes);

/* Writes the multiplier and shift of a positive number: real = multiplier * 2^(shift - 31), rounded to the nearest.
 * FOVEA_ERR_NUMBER where shift would not be from -31 to 31, and for NaN; then nothing is written. It is computed in
 * integers. */
fovea_status fovea_integer_multiplier(double real, int32_t* multiplier, int32_t* shift);

FOVEA_DECLARATIONS_END_

#endif /* FOVEA_INTEGER_ATTENTION_H_ */
