/* fovea/linear.h: linear layers, with weights in any format.
 *
 * SPDX-License-Identifier: Apache-2.0
 *
 *     #include <fovea/linear.h>
 *
 *     static float x[4][64], y[4][32];  // [tokens][in_dim], [tokens][out_dim]
 *     static int8_t weights[32][64];    // [out_dim][in_dim]: a row for each output, each with a scale
 *     static float scales[32], bias[32];
 *     static _Alignas(FOVEA_WORKSPACE_ALIGNMENT) unsigned char workspace[FOVEA_LINEAR_WORKSPACE_BYTES(64, FOVEA_I8)];
 *
 *     int main(void) {
 *       fovea_linear_args args = {.struct_bytes = sizeof args, .tokens = 4, .in_dim = 64, .out_dim = 32,
 *                                 .x = x, .x_stride = 64, .y = y, .y_stride = 32};
 *       args.weights = (fovea_linear_weights){.dtype = FOVEA_I8, .data = weights, .row_stride = 64, .scales = scales,
 *                                             .bias = bias};
 *       return fovea_linear(&args, workspace, sizeof workspace);
 *     }
 *
 * y = activation(x W^T + bias): y[t][o] = activation(sum_i x[t][i] * W[o][i] + bias[o]), for each token t and output o.
 * Without an activation, y is the sum. Weights may have any format of base.h. x and y are F32; with integer products
 * (FOVEA_COMPUTE_I8) each may also be I8, and with products of halves (FOVEA_COMPUTE_F16) x may be F16. There is no
 * plan. The conventions of base.h hold. The comment of fovea_linear says how sums are formed, and what NaN and infinity
 * do. */
#ifndef FOVEA_LINEAR_H_
#define FOVEA_LINEAR_H_

#include "fovea/base.h"
#include "fovea/workspace.h"

FOVEA_DECLARATIONS_BEGIN_

/* The weights of a linear layer, with a row for each output, as in PyTorch's nn.Linear and ONNX's Gemm with transB = 1.
 * Weights of x @ W (NumPy, ONNX MatMul, TensorFlow) have a column for each output: transpose them first. */
typedef struct fovea_linear_weights {
  fovea_dtype dtype;    /* any */
  const void* data;     /* required: [out_dim][in_dim] */
  ptrdiff_t row_stride; /* from a row to the next, in elements: bytes in I4 and ggml's formats */
  const void* scales;   /* required for I8, float[out_dim], and for I4, uint16_t[out_dim][ceil(in_dim / 32)]. Else NULL
                         (FOVEA_ERR_UNSUPPORTED) */
  const float* bias;    /* optional [out_dim] */
  const int32_t* bias_i32; /* optional [out_dim], instead of bias: in units of x's scale times the row's scale, and
                              added to the sums of codes before these are scaled. Only with I8 x of one scale and I8
                              weights, and without bias (FOVEA_ERR_UNSUPPORTED) */
  const void* reserved;    /* NULL (FOVEA_ERR_STRUCT): for later versions */
} fovea_linear_weights;

/* The arguments of fovea_linear. Set all to 0 first, then fill in.
 *
 * I8 x. x = scale * (code - x_zero_point), with a code from -128 to 127. x_scales are required then: one for each
 * token, x_scales_stride apart; a stride of 0 means one scale for all tokens. With F32 x, x_scales is NULL, and
 * x_scales_stride and x_zero_point are 0 (FOVEA_ERR_UNSUPPORTED).
 *
 * I8 y. The code is round(y / y_scale) + y_zero_point, where y is the output after its activation, and round is to the
 * nearest, ties to even. It saturates at -128 and 127. NaN becomes y_zero_point. With F32 y, y_scale and y_zero_point
 * are 0 (FOVEA_ERR_UNSUPPORTED).
 *
 * Time of activations. ReLU takes next to none, and neither does ReLU6 with I8 y: both limit the codes. Others take as
 * long as fovea_activation, or a little longer with FOVEA_COMPUTE_I8, since they do not fuse multiply-adds. A table of
 * 256 codes (fovea_integer_activation, after a layer without activation) takes less, but rounds twice. */
typedef struct fovea_linear_args {
  uint32_t struct_bytes;  /* sizeof(fovea_linear_args) */
  fovea_target target;    /* FOVEA_TARGET_BEST, or one that must be used (FOVEA_ERR_TARGET) */
  uint32_t portable_bits; /* nonzero: a token's bits do not depend on the number of tokens, and are the same on AVX2,
                             AVX-512 and AArch64 NEON. 0: few tokens may take the kernel that is faster for them. With
                             FOVEA_COMPUTE_I8 and FOVEA_COMPUTE_F16 the bits are the same either way */
  fovea_compute compute;  /* FOVEA_COMPUTE_F32, FOVEA_COMPUTE_I8 with weights of I8 or one of the formats after
                             it, or FOVEA_COMPUTE_F16 with weights of F16 (FOVEA_ERR_UNSUPPORTED) */
  uint64_t processor_features; /* as in fovea_attention_desc */

  uint32_t tokens;          /* at most 2^30 (FOVEA_ERR_SIZE); 0: nothing is written */
  uint32_t in_dim, out_dim; /* 1 (FOVEA_ERR_DIM) to 2^31 - 1; in_dim to 2^16 with FOVEA_COMPUTE_I8 (FOVEA_ERR_SIZE) */

  fovea_dtype x_dtype, y_dtype; /* F32; or I8, only with FOVEA_COMPUTE_I8; x also F16, only with FOVEA_COMPUTE_F16
                                   (FOVEA_ERR_UNSUPPORTED) */
  void* y;                      /* required: [tokens][out_dim] */
  ptrdiff_t y_stride;           /* from a token to the next, in elements */
  const void* x;                /* required: [tokens][in_dim] */
  ptrdiff_t x_stride;           /* from a token to the next, in elements */
  fovea_linear_weights weights; /* [out_dim][in_dim], and a bias */

  const float* x_scales;     /* I8 x: required, [tokens] or one. See "I8 x" above */
  ptrdiff_t x_scales_stride; /* from a token to the next, in floats; 0 = one for all */
  int32_t x_zero_point;      /* -128 to 127 (FOVEA_ERR_NUMBER) */

  fovea_activation_kind activation; /* applied to each output: y = activation(x W^T + bias). FOVEA_ERR_ENUM;
                                       FOVEA_ERR_LEFT_OUT if it is left out */

  float y_scale;        /* I8 y: 2^-126 to 2^126 (FOVEA_ERR_NUMBER). See "I8 y" above */
  int32_t y_zero_point; /* -128 to 127 (FOVEA_ERR_NUMBER) */

  size_t workspace_budget_bytes;  /* 0 = as much as is fastest. Else fewer tokens are taken at a time until it fits;
                                    FOVEA_ERR_BUDGET where one vector of them does not. Never changes bits */
  const fovea_executor* executor; /* optional; NULL = the calling thread does all. At most 4096 workers
                                     (FOVEA_ERR_CAPACITY), each of which needs workspace. Never changes bits */
} fovea_linear_args;

/* Writes how many bytes of workspace a call with these arguments needs: 0 for few tokens with FOVEA_COMPUTE_F32, except
 * on scalar targets and with portable_bits. It reads no array: only counts, weights.dtype, compute, formats, scales and
 * zero points of x and y, processor_features, budget, executor and target, and whether biases and scales are NULL. The
 * target may be another machine's, so that a host can size a board's memory. More tokens never need less, and beyond
 * some tens of them they need no more. For static arrays workspace.h has FOVEA_LINEAR_WORKSPACE_BYTES and
 * FOVEA_LINEAR_I8_WORKSPACE_BYTES. */
fovea_status fovea_linear_workspace_bytes(const fovea_linear_args* args, size_t* bytes);

/* Computes y. workspace has at least fovea_linear_workspace_bytes(args) bytes (FOVEA_ERR_WORKSPACE) and is 64-byte
 * aligned (FOVEA_ERR_ALIGNMENT); it may be NULL where no bytes are needed. A call does not read its earlier contents,
 * and leaves no result in it. y and the workspace must not overlap any other array (FOVEA_ERR_OVERLAP).
 *
 * FOVEA_COMPUTE_F32. Arithmetic is f32. Weights of other formats are widened as base.h says. A sum consists of partial
 * sums, each a chain of 32 multiply-adds in the order of the inputs. For few tokens it has one chain for each lane of a
 * vector, and a group's scale may multiply the group's sum. NaN and infinity of an input or weight reach the sums that
 * they are part of. An activation gives the bits that fovea_activation gives for the outputs without it.
 *
 * FOVEA_COMPUTE_I8. A row of F32 x is converted to codes first, like a row of I8 keys: a NaN or infinity in it makes
 * all outputs of its token NaN. Sums of products of codes are exact, so the bits are the same on every target, and for
 * any number of tokens. There is no fused multiply-add, not in activations either.
 *   I8 weights         y = sum * (scale of x) * (scale of the weights' row) + bias, in this order. An infinite scale
 *                      counts as NaN. A sum with bias_i32 wraps at 2^31.
 *   weights in groups  y = (0 + sum_1 * d_1 * r_1 + sum_2 * d_2 * r_2 + ...) * t + bias, over groups in their order.
 *                      A sum is of products of the weight's code and (x's code - x_zero_point). If x is F32, each group
 *                      of 32 inputs is converted like a row of I8 keys, r is its scale, and t is 1. If x is I8, r is 1
 *                      and t is the scale of x. A d or m that is not finite makes its outputs infinite or NaN. With the
 *                      letters of base.h:
 *                          I4, Q4_0   codes are u - 8, d is the scale
 *                          Q5_0       codes are u - 16
 *                          Q8_0       codes are q; IQ4_NL, MXFP4: t[u]. In MXFP4 d is 2^(e - 128)
 *                          IQ4_XS     codes are t[u], with d * s as d; TQ2_0: u - 1
 *                          Q4_1, Q5_1 codes are u. sum * d + m * (the sum of (x's code - x_zero_point)) replaces
 *                                     sum * d
 *                          Q4_K, Q5_K as Q4_1, with d * s as d and -e * m as m
 *                          Q2_K       as Q4_K, but each 16 inputs have a sum, d * s and -e * m of their own; r is
 *                                     that of their 32
 *                          Q6_K, Q3_K codes are u - 32 and u - 4, each half of sum is multiplied by its s first, in
 *                                     integers, and sum is rounded to f32 once
 *
 * FOVEA_COMPUTE_F16. x is rounded to f16 first. A sum consists of partial sums, each a chain of 32 fused multiply-adds
 * in the order of the inputs, each of which rounds to f16. Partial sums are added in f32, in their order, and then the
 * bias.
 *   weights   are F16. Others, BF16 among them, are refused: f16 has not the range of bf16.
 *   overflow  A number of magnitude 65520 or more becomes an infinity: an input, or a sum of up to 32 products of an
 *             input and a weight. Nothing is refused. NaN and infinity reach the sums that they are part of.
 *   bits      y before its activation has the same bits on every target, with fused multiply-add or without, and for
 *             any number of tokens. An activation gives the bits that fovea_activation gives.
 *   time      With arithmetic of half precision, as base.h says, eight tokens are multiplied at a time, or eight
 *             outputs of one to three tokens. Without it, f32 arithmetic takes many times as long, and is for the same
 *             bits alone.
 *   errors    tests/linear_f16_test.cc asserts them. For normal numbers the mean square error is at most 1e-6 of the
 *             mean square of y. */
fovea_status fovea_linear(const fovea_linear_args* args, void* workspace, size_t workspace_bytes);

FOVEA_DECLARATIONS_END_

#endif /* FOVEA_LINEAR_H_ */
