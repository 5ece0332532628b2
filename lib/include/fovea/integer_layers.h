/* fovea/integer_layers.h: the layers around attention on int8 tensors without floating point.
 *
 * SPDX-License-Identifier: Apache-2.0
 *
 *     #include <fovea/integer_layers.h>
 *
 *     static int8_t x[16][64], residual[16][64], sum[16][64], y[16][64], table[256];  // [tokens][dim]
 *     static int16_t weight[64], bias[64];
 *
 *     int main(void) {
 *       const float x_scale = 0.02f, residual_scale = 0.03f, sum_scale = 0.04f, y_scale = 0.03f;
 *       const float weight_scale = 0x1p-14f;
 *       // The sum of two tensors: sum = x + residual.
 *       fovea_integer_binary_args add = {.struct_bytes = sizeof add, .batch = 1, .heads = 1, .tokens = 16, .dim = 64};
 *       add.y = (fovea_out){.data = sum, .token_stride = 64};
 *       add.a = (fovea_in){.data = x, .token_stride = 64};
 *       add.b = (fovea_in){.data = residual, .token_stride = 64};
 *       fovea_integer_multiplier(x_scale / sum_scale, &add.a_multiplier, &add.a_shift);
 *       fovea_integer_multiplier(residual_scale / sum_scale, &add.b_multiplier, &add.b_shift);
 *       if (fovea_integer_add(&add) != FOVEA_OK) return 1;
 *
 *       // Layer normalisation of the sum. A weight of 1 is the code 1 / weight_scale.
 *       for (int i = 0; i < 64; ++i) weight[i] = 16384, bias[i] = 0;
 *       fovea_integer_norm_args norm = {.struct_bytes = sizeof norm, .norm = FOVEA_NORM_LAYER, .batch = 1, .heads = 1,
 *                                       .tokens = 16, .dim = 64, .weight = weight, .bias = bias};
 *       norm.y = (fovea_out){.data = y, .token_stride = 64};
 *       norm.x = (fovea_in){.data = sum, .token_stride = 64};
 *       fovea_integer_multiplier(weight_scale / y_scale, &norm.weight_multiplier, &norm.weight_shift);
 *       fovea_integer_multiplier(1e-5 / (sum_scale * sum_scale), &norm.epsilon_multiplier, &norm.epsilon_shift);
 *       if (fovea_integer_norm(&norm) != FOVEA_OK) return 1;
 *
 *       // GELU by a table, in place. The table may as well be a constant of the firmware.
 *       if (fovea_integer_activation_table(FOVEA_ACTIVATION_GELU, 0, y_scale, 0, y_scale, 0, table) != FOVEA_OK) {
 *         return 1;
 *       }
 *       fovea_integer_activation_args gelu = {.struct_bytes = sizeof gelu, .batch = 1, .heads = 1, .tokens = 16,
 *                                             .dim = 64, .table = table};
 *       gelu.x = (fovea_in){.data = y, .token_stride = 64};
 *       gelu.y = (fovea_out){.data = y, .token_stride = 64};
 *       return fovea_integer_activation(&gelu);
 *     }
 *
 * Normalisation, sums, products, activations and means of int8 tensors, in integers alone: with fovea_integer_attention
 * and integer linear layers, whole transformer layers for processors without floating point. A build has one kernel for
 * each, chosen when it is compiled. The conventions of base.h hold.
 *
 * Tensors. Rows are int8 [batch][heads][tokens][dim], -128 included; heads and dim are at least 1 (FOVEA_ERR_DIM).
 * Each tensor has one scale and one zero point, -128 to 127 (FOVEA_ERR_NUMBER): x = scale * (code - zero). A number
 * that is made of scales is given as multiplier * 2^(shift - 31), as in TensorFlow Lite; fovea_integer_multiplier
 * computes both. A multiplier is 2^30 to 2^31 - 1, and each field has a range for its shift (FOVEA_ERR_NUMBER). y may
 * be the same array as an input, with the same strides; any other overlap is FOVEA_ERR_OVERLAP.
 *
 * Arithmetic. It is the same on every target, to the bit: each function has its equations, in which all sums and
 * products are exact. floor() is to the integer below, round(x) = floor(x + 1/2). sat() is the nearest of the codes
 * -128 to 127. */
#ifndef FOVEA_INTEGER_LAYERS_H_
#define FOVEA_INTEGER_LAYERS_H_

#include "fovea/base.h"
#include "fovea/integer_attention.h"
#include "fovea/layers.h"

FOVEA_DECLARATIONS_BEGIN_

/* --------------------------------------------------------------------------------------------------- normalisation */

/* The arguments of fovea_integer_norm. Set all to 0 first, then fill in.
 *
 *     FOVEA_NORM_LAYER  y = (x - mean(x)) / sqrt(variance(x) + epsilon) * weight + bias
 *     FOVEA_NORM_RMS    y = x / sqrt(mean(x^2) + epsilon) * weight + bias
 *
 * Weights are int16 with one scale: weight = weight_scale * code. Take the scale so that the largest code is near
 * 32767. A bias is int16, in units of a 128th of y's code: round(128 * bias / y_scale). Two numbers hold all scales:
 *     weight_multiplier and weight_shift      weight_scale / y_scale
 *     epsilon_multiplier and epsilon_shift    epsilon / x_scale^2
 *
 * With n = dim, the codes c, and the sums S = sum c, Q = sum c^2:
 *     D   = n Q - S^2 for FOVEA_NORM_LAYER, n sum (c - x_zero_point)^2 for FOVEA_NORM_RMS
 *     V   = 2^16 D + floor(n^2 epsilon_multiplier 2^(epsilon_shift - 15))
 *     v   = floor(V / 4^j), where j is such that 2^22 <= v < 2^24
 *     p   = floor(weight_multiplier * floor(2^31 / sqrt(v)) / 2^20), and 0 where D is 0
 *     A   = round(n p 2^(weight_shift - 3 - j)),   B = round((S - n c') p 2^(weight_shift - 3 - j)),
 *           c' = floor((S + floor(n / 2)) / n) for FOVEA_NORM_LAYER; B = 0, c' = x_zero_point for FOVEA_NORM_RMS
 *     y_e = sat(y_zero_point + round((floor((A (c_e - c') - B) weight_e / 2^16) + 2^8 bias_e) / 2^15))
 *
 * Error. At most half a code, plus a 64th of a code, plus a 2^-16 th of y - bias. */
typedef struct fovea_integer_norm_args {
  uint32_t struct_bytes; /* sizeof(fovea_integer_norm_args) */
  fovea_norm_kind norm;  /* FOVEA_NORM_LAYER or FOVEA_NORM_RMS (FOVEA_ERR_ENUM) */

  uint32_t batch, heads, tokens; /* counts of rows */
  uint32_t dim;                  /* elements of a row, at least 1 (FOVEA_ERR_DIM), at most 16384 (FOVEA_ERR_SIZE) */

  fovea_out y;           /* required: [batch][heads][tokens][dim] */
  fovea_in x;            /* required: [batch][heads][tokens][dim] */
  const int16_t* weight; /* required: [dim] */
  const int16_t* bias;   /* [dim], NULL = 0 */

  int32_t x_zero_point, y_zero_point; /* x_zero_point matters with FOVEA_NORM_RMS alone: x - mean(x) is without it */
  int32_t weight_multiplier, weight_shift;   /* shift: -31 to -8 */
  int32_t epsilon_multiplier, epsilon_shift; /* shift: -31 to 15. A multiplier of 0: epsilon is 0 */
} fovea_integer_norm_args;

/* Writes y. */
fovea_status fovea_integer_norm(const fovea_integer_norm_args* args);

/* ----------------------------------------------------------------------------------- sums, products, other scales */

/* The arguments of fovea_integer_add and fovea_integer_multiply. Set all to 0 first, then fill in. */
typedef struct fovea_integer_binary_args {
  uint32_t struct_bytes; /* sizeof(fovea_integer_binary_args) */

  uint32_t batch, heads, tokens; /* counts of rows */
  uint32_t dim;                  /* elements of a row, at least 1 (FOVEA_ERR_DIM) */

  fovea_out y;   /* required: [batch][heads][tokens][dim] */
  fovea_in a, b; /* strides of 0 repeat a row: b may be one row for all tokens */

  int32_t a_zero_point, b_zero_point, y_zero_point; /* zero points, -128 to 127 (FOVEA_ERR_NUMBER) */
  int32_t a_multiplier, a_shift;                    /* shift: -31 to 5 */
  int32_t b_multiplier, b_shift;                    /* the same; read by fovea_integer_add where there is a b */
  int32_t activation_min, activation_max;           /* y becomes at least the one code and at most the other: -128 to
                                                       127, the first not above the second (FOVEA_ERR_NUMBER). Both 0:
                                                       -128 and 127 */
  uint32_t reserved;                                /* 0 (FOVEA_ERR_STRUCT): for later versions */
} fovea_integer_binary_args;

/* Writes y = a + b. Two numbers hold all scales: a_multiplier and a_shift are a_scale / y_scale, b_multiplier and
 * b_shift are b_scale / y_scale.
 *     y = clamp(y_zero_point + round(((a - a_zero_point) A + (b - b_zero_point) B) / 2^16)),
 *     A = round(2^16 a_scale / y_scale), B alike
 * Where b.data is NULL there is no b: this converts a tensor to another scale and zero point. With activation_min =
 * y_zero_point it is ReLU; with activation_max = y_zero_point + round(6 / y_scale) in addition it is ReLU6.
 * Error. At most half a code, plus a 2^-17 th of |a - a_zero_point| + |b - b_zero_point|. */
fovea_status fovea_integer_add(const fovea_integer_binary_args* args);

/* Writes y = a * b, element by element. a_multiplier and a_shift are a_scale * b_scale / y_scale; b_multiplier and
 * b_shift are not read.
 *     y = clamp(y_zero_point + round(floor((a - a_zero_point) (b - b_zero_point) 2^k M / 2^32) / 2^8)),
 *     k = max(0, a_shift + 9), M = floor(a_multiplier 2^min(0, a_shift + 9))
 * Error. At most half a code, plus a 128th of a code. */
fovea_status fovea_integer_multiply(const fovea_integer_binary_args* args);

/* ----------------------------------------------------------------------------------------------------- activations */

/* Computes the table of an activation: table[(uint8_t)code] is what a code of x becomes in y.
 *   activation        any value of fovea_activation_kind (FOVEA_ERR_ENUM)
 *   alpha             as in fovea_activation_args: 0 = 1. Finite (FOVEA_ERR_NUMBER). Read with SILU and SIGMOID
 *   x_scale, y_scale  2^-100 to 2^100 (FOVEA_ERR_NUMBER)
 *   table             required: [256], and one for each pair of scales and zero points
 * It is computed in single precision without libm, and is the same on every target. Each code is within 0.501 of the
 * exact number, which is y_zero_point + activation(x) / y_scale for x = x_scale * (code - x_zero_point), saturated:
 * nearly always the nearest code. On a processor without floating point take the table from a host. */
fovea_status fovea_integer_activation_table(fovea_activation_kind activation, float alpha, float x_scale,
                                            int32_t x_zero_point, float y_scale, int32_t y_zero_point, int8_t* table);

/* y = table[x]. Set all to 0 first, then fill in. */
typedef struct fovea_integer_activation_args {
  uint32_t struct_bytes; /* sizeof(fovea_integer_activation_args) */

  uint32_t batch, heads, tokens; /* counts of rows */
  uint32_t dim;                  /* elements of a row, at least 1 (FOVEA_ERR_DIM) */

  fovea_out y;         /* required: [batch][heads][tokens][dim] */
  fovea_in x;          /* required: [batch][heads][tokens][dim] */
  const int8_t* table; /* required: [256], of fovea_integer_activation_table or of your own */
} fovea_integer_activation_args;

/* Writes y. */
fovea_status fovea_integer_activation(const fovea_integer_activation_args* args);

/* The arguments of fovea_integer_hard_swish. Set all to 0 first, then fill in. Two numbers hold all scales:
 *     three_multiplier and three_shift    three = 3 / x_scale, below 8192
 *     out_multiplier and out_shift        x_scale^2 / (6 * y_scale) */
typedef struct fovea_integer_hard_swish_args {
  uint32_t struct_bytes; /* sizeof(fovea_integer_hard_swish_args) */

  uint32_t batch, heads, tokens; /* counts of rows */
  uint32_t dim;                  /* elements of a row, at least 1 (FOVEA_ERR_DIM) */

  fovea_out y; /* required: [batch][heads][tokens][dim] */
  fovea_in x;  /* required: [batch][heads][tokens][dim] */

  int32_t x_zero_point, y_zero_point;    /* zero points, -128 to 127 (FOVEA_ERR_NUMBER) */
  int32_t three_multiplier, three_shift; /* shift: -7 to 13 */
  int32_t out_multiplier, out_shift;     /* shift: -23 to 6 */
} fovea_integer_hard_swish_args;

/* Writes y = x * min(max(x + 3, 0), 6) / 6 without a table, where there is no room for one, or where scales change.
 *     T = round(2^8 * three),   d = x - x_zero_point,   u = min(max(2^8 d + T, 0), 2 T)
 *     y = sat(y_zero_point + round(floor(d u out_multiplier / 2^32) / 2^(7 - out_shift)))
 * Error. At most half a code, plus 2^(out_shift - 7) of a code, plus a 1024th of x / y_scale. */
fovea_status fovea_integer_hard_swish(const fovea_integer_hard_swish_args* args);

/* ----------------------------------------------------------------------------------------------------------- means */

/* The arguments of fovea_integer_mean. Set all to 0 first, then fill in. */
typedef struct fovea_integer_mean_args {
  uint32_t struct_bytes; /* sizeof(fovea_integer_mean_args) */

  uint32_t batch, heads, tokens; /* counts. tokens at most 2^22 (FOVEA_ERR_SIZE); 0: every row becomes y_zero_point */
  uint32_t dim;                  /* elements of a row, at least 1 (FOVEA_ERR_DIM) */

  fovea_out y;             /* [batch][heads][dim]: token_stride is not used. Must not overlap x */
  fovea_in x;              /* [batch][heads][tokens][dim] */
  const uint32_t* lengths; /* optional [batch]: tokens of each entry, at most tokens (FOVEA_ERR_LENGTH). NULL =
                              tokens */

  int32_t x_zero_point, y_zero_point; /* zero points, -128 to 127 (FOVEA_ERR_NUMBER) */
  int32_t multiplier, shift;          /* x_scale / y_scale. shift: -31 to 5 */
} fovea_integer_mean_args;

/* Writes the mean of each entry's first tokens, y_zero_point where there are none. With n tokens, n 2^z from 2^30 to
 * 2^31 - 1, and h = round(n 2^z / 2^15):
 *     g = floor(multiplier * floor((2^31 + floor(h / 2)) / h) / 2^16)
 *     y = sat(y_zero_point + round(g 2^(shift + z - 61) sum (x - x_zero_point)))
 * Error. At most half a code, plus a 2^-14 th of y - y_zero_point. */
fovea_status fovea_integer_mean(const fovea_integer_mean_args* args);

/* -------------------------------------------------------------------------------------------- the largest of a row */

/* Writes the index of the largest of count codes, of equal ones the lowest. Codes of one scale and zero point are in
 * the order of the numbers that they stand for, so neither is needed. count is at least 1 (FOVEA_ERR_SIZE). index must
 * not be in x (FOVEA_ERR_OVERLAP). */
fovea_status fovea_integer_argmax(const int8_t* x, uint32_t count, uint32_t* index);

/* Writes the indices of the k largest of count codes, the largest first, in the order that fovea_integer_argmax has. k
 * is at most count (FOVEA_ERR_SIZE); 0: nothing is written. indices, [k], is all the memory that it needs, and must not
 * overlap x (FOVEA_ERR_OVERLAP). It takes as many comparisons as fovea_top_k. */
fovea_status fovea_integer_top_k(const int8_t* x, uint32_t count, uint32_t k, uint32_t* indices);

FOVEA_DECLARATIONS_END_

#endif /* FOVEA_INTEGER_LAYERS_H_ */
