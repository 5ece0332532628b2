/* fovea/layers.h: softmax, rotary embedding, Hadamard transform, normalisation, activation, short convolution.
 *
 * SPDX-License-Identifier: Apache-2.0
 *
 *     #include <fovea/layers.h>
 *
 *     static float x[4][64], weight[64], y[4][64];  // [tokens][dim]
 *
 *     int main(void) {
 *       fovea_norm_args norm = {.struct_bytes = sizeof norm, .norm = FOVEA_NORM_RMS, .epsilon = 1e-6f, .batch = 1,
 *                               .heads = 1, .tokens = 4, .dim = 64, .weight = weight};
 *       norm.x = (fovea_in){.data = x, .token_stride = 64};
 *       norm.y = (fovea_out){.data = y, .token_stride = 64};
 *       if (fovea_norm(&norm) != FOVEA_OK) return 1;
 *
 *       fovea_softmax_args softmax = {.struct_bytes = sizeof softmax, .outer = 4, .axis = 64, .inner = 1};
 *       softmax.x = softmax.y = y[0];  // in place, along each row
 *       softmax.x_outer_stride = softmax.y_outer_stride = 64;
 *       softmax.x_axis_stride = softmax.y_axis_stride = 1;
 *       return fovea_softmax(&softmax);
 *     }
 *
 * The layers around attention and linear layers, each in one call without plan or workspace. Arithmetic is f32;
 * normalisation and activation read and write F16 and BF16, too. The conventions of base.h hold. Each layer's comment
 * has its formula and its paper, its errors, what NaN and infinity do, and where bits are the same. */
#ifndef FOVEA_LAYERS_H_
#define FOVEA_LAYERS_H_

#include "fovea/base.h"

FOVEA_DECLARATIONS_BEGIN_

/* --------------------------------------------------------------------------------------------------------- softmax */

/* Softmax along one axis of a three-dimensional array, x[outer][axis][inner]:
 *     y = exp(s - max(s)) / sum(exp(s - max(s))),    s = scale * x + mask,    over the axis.
 * Any array fits: all dimensions before the axis together are outer, all dimensions after it together are inner. With
 * inner == 1 the axis may have any stride; with inner > 1 the inner dimension is contiguous. y may be x, with the
 * same strides; any other overlap is FOVEA_ERR_OVERLAP. A mask value of -FLT_MAX / 2 or below (-inf too) hides the
 * element: its weight is 0, even where x is NaN.
 *
 * Errors. Every weight has an error of at most 3 ulp, plus half an ulp for each doubling of the axis, plus the effect
 * of rounding s and s - max(s) to float (up to |s - max(s)| half ulps of a weight).
 *
 * Edge cases. A row in which all elements are hidden or -inf gives zeros (log-softmax: -inf). A +inf or NaN that is not
 * hidden makes its row NaN. The bits are the same on AVX2, AVX-512 and AArch64. */
typedef struct fovea_softmax_args {
  uint32_t struct_bytes;                   /* sizeof(fovea_softmax_args) */
  fovea_target target;                     /* FOVEA_TARGET_BEST, or one that must be used (FOVEA_ERR_TARGET) */
  float* y;                                /* required unless a count is 0 */
  ptrdiff_t y_outer_stride, y_axis_stride; /* of y, in floats */
  const float* x;                          /* required unless a count is 0 */
  ptrdiff_t x_outer_stride, x_axis_stride; /* of x, in floats */
  const float* mask;                       /* optional: added to scale * x */
  ptrdiff_t mask_outer_stride, mask_axis_stride, mask_inner_stride; /* 0 repeats it; the last 0 or 1 (FOVEA_ERR_MASK) */
  size_t outer, axis, inner;                                        /* inner at least 1 (FOVEA_ERR_DIM) */
  float scale;       /* 1 / temperature; 0 = 1. Finite (FOVEA_ERR_NUMBER) */
  uint32_t reserved; /* 0 (FOVEA_ERR_STRUCT): for later versions */
} fovea_softmax_args;

/* Writes y. */
fovea_status fovea_softmax(const fovea_softmax_args* args);

/* y = s - max(s) - log(sum(exp(s - max(s)))). Arguments and edge cases are those of softmax, but a hidden element
 * gives -inf. */
fovea_status fovea_log_softmax(const fovea_softmax_args* args);

/* ------------------------------------------------------------------------------------------------------------ rope */

/* Rotary position embedding (Su et al., RoFormer, arXiv 2104.09864). The first rotary_dim elements of a query or key
 * are taken in pairs (a, b). Pair i of a token at position p is turned by an angle that grows with p and falls with i:
 *     (a, b) -> (a cos - b sin, b cos + a sin),    angle = p * position_scale * base^(-2 i / rotary_dim) radians
 * The dot product of two rows turned in this way depends only on the difference of their positions.
 *
 * Models differ in which elements make a pair. Weights that were trained with one layout are useless with the other. */
FOVEA_ENUM_(fovea_rope_layout, uint32_t) {
  FOVEA_ROPE_INTERLEAVED = 1, /* 2 i and 2 i + 1: the paper, GPT-J, Meta's Llama; ONNX with interleaved = 1 */
  FOVEA_ROPE_HALF_SPLIT = 2,  /* i and i + rotary_dim / 2: GPT-NeoX, Hugging Face; ONNX with interleaved = 0 */
};

/* Computes, for each pair, the angle from a position to the next, once for a model:
 *     turns[i] = position_scale * base^(-2 i / rotary_dim) / (2 pi), as a part of a whole turn, in units of 2^-64.
 * The angle at a position is then position * turns[i] in 64-bit integers, which drop whole turns exactly. A float would
 * have no correct digit of it left at long contexts.
 *   turns           [rotary_dim / 2], required. They are plain numbers: a model that scales each pair's angle in its
 *                   own way (YaRN, Llama 3.1) multiplies them or computes them itself.
 *   base            theta. 0 = 10000; else finite and at least 1 (FOVEA_ERR_NUMBER).
 *   position_scale  multiplies positions (linear interpolation, Chen et al., arXiv 2306.15595): 1 / 8 stretches what
 *                   was trained for 4096 positions over 32768. 0 = 1; else above 0 and at most 1 (FOVEA_ERR_NUMBER).
 *   rotary_dim      even and at least 2 (FOVEA_ERR_DIM).
 * Error: turns[i] is off by at most rotary_dim / 16 + 2 units, or rotary_dim / 4 + 2 for bases below 1.5. It is
 * computed in integers, so no double-precision functions are linked. */
fovea_status fovea_rope_frequencies(uint64_t* turns, double base, double position_scale, uint32_t rotary_dim);

/* The arguments of fovea_rope. Set all to 0 first, then fill in.
 *
 * Angles. Give either turns, or cos and sin: FOVEA_ERR_NULL without any, FOVEA_ERR_UNSUPPORTED with both kinds.
 *
 * Positions. A token's position is position_offset + first_positions[b] + its number in the entry, or position_offset +
 * position_ids[b][token]. It may be negative, and must fit in 64 bits (FOVEA_ERR_SIZE). With cos and sin it is at
 * least 0 and below table_positions (FOVEA_ERR_POSITION_RANGE). */
typedef struct fovea_rope_args {
  uint32_t struct_bytes; /* sizeof(fovea_rope_args) */
  fovea_target target;   /* FOVEA_TARGET_BEST, or one that must be used (FOVEA_ERR_TARGET) */

  uint32_t batch, heads, tokens; /* counts; heads at least 1 (FOVEA_ERR_DIM) */
  uint32_t dim;                  /* elements of a row, at least 1 (FOVEA_ERR_DIM) */
  uint32_t rotary_dim;           /* the first rotary_dim elements are turned, the others copied. 0 = dim. Even, and at
                                    most dim (FOVEA_ERR_DIM) */
  fovea_rope_layout layout;      /* never 0 (FOVEA_ERR_ENUM) */
  uint32_t inverse;              /* nonzero: turns by the negative angle, which undoes a turn */

  fovea_out y; /* f32 [batch][heads][tokens][dim]. May be x with the same strides; any other overlap is
                    FOVEA_ERR_OVERLAP */
  fovea_in x;  /* f32 [batch][heads][tokens][dim] */

  /* See "Angles" above. */
  const uint64_t* turns;  /* [rotary_dim / 2], as fovea_rope_frequencies computes them */
  const float* cos;       /* [table_positions][rotary_dim / 2] */
  const float* sin;       /* [table_positions][rotary_dim / 2] */
  ptrdiff_t table_stride; /* from a position to the next, in floats, for cos and for sin */
  size_t table_positions; /* rows of the tables, from position 0 on */

  /* See "Positions" above. */
  const int64_t* first_positions; /* optional [batch]: the position of each entry's first token. NULL = 0 */
  const int64_t* position_ids;    /* optional [batch][tokens]; then first_positions is NULL
                                       (FOVEA_ERR_POSITIONS_TWICE) */
  ptrdiff_t position_ids_stride;  /* from an entry to the next, in elements; 0 = the same positions for all */
  int64_t position_offset;        /* for all tokens */
} fovea_rope_args;

/* Turns all pairs.
 * Errors. With turns, cos and sin are computed without libm and are within 2e-7 at any position, for exactly these
 * turns. With turns from fovea_rope_frequencies and a rotary_dim up to 256 they are within 2e-7 of cos and sin of the
 * true angle up to position 2^32, and within 1e-6 up to 2^36; at negative positions, too. The turn adds two roundings,
 * of the products of a and of b. At position 0 y equals x, where both numbers of a pair are finite.
 * Bits. The same in both layouts, and on all IEEE targets with fused multiply-add. */
fovea_status fovea_rope(const fovea_rope_args* args);

/* ---------------------------------------------------------------------------------------------- Hadamard transform */

/* The arguments of fovea_hadamard. Set all to 0 first, then fill in. */
typedef struct fovea_hadamard_args {
  uint32_t struct_bytes; /* sizeof(fovea_hadamard_args) */
  fovea_target target;   /* FOVEA_TARGET_BEST, or one that must be used (FOVEA_ERR_TARGET) */

  uint32_t batch, heads, tokens; /* counts; heads at least 1 (FOVEA_ERR_DIM) */
  uint32_t dim;                  /* elements of a row, at least 1 (FOVEA_ERR_DIM) */
  uint32_t block;                /* elements that are rotated together: a power of two that divides dim (FOVEA_ERR_DIM).
                                    0 = the largest: 64 of 64, 32 of 96, 16 of 80. 1 = only signs */
  uint32_t inverse;              /* nonzero: undoes a call with the same block and seed */
  uint64_t seed;                 /* 0 = all signs are +; else signs are drawn from it */

  fovea_out y; /* f32 [batch][heads][tokens][dim]. May be x with the same strides; any other overlap is
                  FOVEA_ERR_OVERLAP */
  fovea_in x;  /* f32 [batch][heads][tokens][dim] */
} fovea_hadamard_args;

/* Rotates rows by a Hadamard matrix, which spreads an element that is much larger than the others over its block. Codes
 * of 4 or 8 bits then serve all elements alike (QuIP#, arXiv 2402.04396; QuaRot, arXiv 2404.00456):
 *     y = H (signs x) / sqrt(block),    H[i][j] = -1 where i & j has an odd number of bits, else 1.
 * It keeps dot products: attention of rotated queries to rotated keys has the scores of those that are not rotated, and
 * rotated values give outputs that the inverse rotation takes back. Keys are turned by their position (rope) first.
 * Errors. The inverse of a rotated row differs from the row by rounding: in a block, each result by at most
 * (log2(block) + 1) * 2^-24 * the sum of |x| / sqrt(block), in each direction. NaN and infinity spread over their
 * block. Where the sum of |x| of a block is above FLT_MAX, results may be infinite or NaN.
 * Bits. The same on all targets. */
fovea_status fovea_hadamard(const fovea_hadamard_args* args);

/* -------------------------------------------------------------------------- normalisation, activation, convolution */

/* Models have these three layers around attention and linear layers. Rows are [batch][heads][tokens][dim]. An output
 * may be the same array as an input, with the same strides and elements of the same size; any other overlap is
 * FOVEA_ERR_OVERLAP. Bits: the same on all IEEE targets with fused multiply-add, and for any strides.
 *
 * Rows of normalisation and activation may be F32, F16 or BF16 (else FOVEA_ERR_UNSUPPORTED). Arithmetic is f32:
 * elements are widened exactly, and results rounded once, to the nearest. */

/* y = activation(x) * factor. Set all to 0 first, then fill in. */
typedef struct fovea_activation_args {
  uint32_t struct_bytes;            /* sizeof(fovea_activation_args) */
  fovea_target target;              /* FOVEA_TARGET_BEST, or one that must be used (FOVEA_ERR_TARGET) */
  fovea_activation_kind activation; /* FOVEA_ERR_ENUM; FOVEA_ERR_LEFT_OUT if it is left out */
  float alpha; /* 0 = 1. Finite (FOVEA_ERR_NUMBER). Only of SILU and SIGMOID: else 0 (FOVEA_ERR_UNSUPPORTED) */

  uint32_t batch, heads, tokens; /* counts of rows; heads at least 1 (FOVEA_ERR_DIM) */
  uint32_t dim;                  /* elements of a row, at least 1 (FOVEA_ERR_DIM) */

  fovea_dtype x_dtype, y_dtype; /* of x and factor; of y */
  fovea_out y;                  /* required: [batch][heads][tokens][dim] */
  fovea_in x;                   /* required: [batch][heads][tokens][dim] */
  fovea_in factor; /* data NULL = 1. With SILU this is SwiGLU: x is the gate's projection, factor the other one */
} fovea_activation_args;

/* Writes y. Largest errors of an activation, before it is rounded to F16 or BF16, with fused multiply-adds and without;
 * relative ones if not said otherwise:
 *   SILU, SIGMOID, GELU_TANH  4e-7. Unless alpha is a power of two, the rounding of alpha * x adds up to |alpha x| *
 *                             2^-24: 5.2e-6 where alpha x is -86.99, below which results are 0. In GELU_TANH that of
 *                             its argument u adds up to |u| * 2^-21.
 *   GELU                      absolute, at most 6e-7 and at most 2e-6 |x|: small results of x below -2 have few right
 *                             digits
 *   TANH                      5e-7, and absolute at most 3.1e-7. Results are never above 1
 *   HARD_SWISH                2e-7
 *   IDENTITY, RELU, RELU6     0
 * Results of GELU_TANH that are closer to 0 than 2e-37 may be 0. The factor adds a rounding. NaN stays NaN. At
 * infinity a result is the limit of the function, except that SILU gives NaN where its limit is 0. At 0 a result is 0,
 * and 1/2 for SIGMOID. */
fovea_status fovea_activation(const fovea_activation_args* args);

/* What is done to a row. */
FOVEA_ENUM_(fovea_norm_kind, uint32_t) {
  FOVEA_NORM_RMS = 0,   /* n(x) = x / sqrt(mean of x^2 + epsilon). RMSNorm, arXiv 1910.07467 */
  FOVEA_NORM_L2 = 1,    /* n(x) = x / sqrt(sum of x^2 + epsilon) */
  FOVEA_NORM_LAYER = 2, /* n(x) = (x - mean) / sqrt(variance + epsilon). Layer normalisation, arXiv 1607.06450. The
                           variance is the mean of (x - mean)^2 */
};

/* Where the gate is multiplied in. */
FOVEA_ENUM_(fovea_norm_gate, uint32_t) {
  FOVEA_NORM_GATE_AFTER = 0,  /* y = (n(x) (weight + weight_offset) + bias) activation(gate), as Qwen3-Next has it */
  FOVEA_NORM_GATE_BEFORE = 1, /* y = n(x activation(gate)) (weight + weight_offset) + bias, as Mamba-2 has it */
};

/* y = n(x + residual) (weight + weight_offset) + bias. With a gate y is what fovea_norm_gate says, with x + residual in
 * place of x. Set all to 0 first, then fill in. */
typedef struct fovea_norm_args {
  uint32_t struct_bytes; /* sizeof(fovea_norm_args) */
  fovea_target target;   /* FOVEA_TARGET_BEST, or one that must be used (FOVEA_ERR_TARGET) */
  fovea_norm_kind norm;  /* FOVEA_ERR_ENUM; FOVEA_ERR_LEFT_OUT if it is left out */
  float epsilon;         /* at least 0, finite (FOVEA_ERR_NUMBER). Where it is 0, n(x) is 0 for a row whose sum of
                            squares, or variance, is 0 */

  uint32_t batch, heads, tokens; /* counts of rows; heads at least 1 (FOVEA_ERR_DIM) */
  uint32_t dim;                  /* elements of a row, at least 1 (FOVEA_ERR_DIM) */

  fovea_dtype x_dtype, y_dtype; /* of x and gate; of y */
  fovea_dtype residual_dtype;   /* of residual and sum */
  fovea_out y;                  /* required: [batch][heads][tokens][dim] */
  fovea_in x;                   /* required: [batch][heads][tokens][dim] */
  fovea_in residual;            /* data NULL = 0 */
  fovea_out sum; /* data NULL = none. Gets x + residual, the residual of the next layer; may be the residual itself,
                        or x. Without a residual FOVEA_ERR_NULL. What is normalised is the sum before it is rounded to
                        residual_dtype */
  const float* weight;          /* [heads][dim], NULL = 1, and then weight_offset is 0 (FOVEA_ERR_NULL) */
  const float* bias;            /* [heads][dim], NULL = 0 */
  ptrdiff_t weight_head_stride; /* of weight and of bias, in floats. 0 = the same for all heads */
  float weight_offset;          /* 1 where a model stores weights less 1, as Gemma does. Finite (FOVEA_ERR_NUMBER) */
  fovea_in gate;                /* data NULL = none, and then the two below are not read. Must not overlap y or sum */
  fovea_norm_gate gate_order;   /* FOVEA_ERR_ENUM */
  fovea_activation_kind gate_activation; /* FOVEA_ERR_ENUM; FOVEA_ERR_LEFT_OUT if it is left out */
} fovea_norm_args;

/* Writes y and sum. Errors and edge cases are those of n(x), to which y adds the roundings of its formula. Sums have 16
 * chains, which are added up in a tree. A NaN makes all of its row NaN.
 *
 * FOVEA_NORM_RMS and FOVEA_NORM_L2. n(x) is 0 for a row whose squares sum up to more than FLT_MAX, as with other
 * libraries. An infinity becomes NaN, and n(x) is 0 for the other elements of its row.
 *
 * FOVEA_NORM_LAYER sums x - shift and its square, where shift is near the mean: the mean of the first eighth of the
 * row. So a large mean takes no digit from the variance. An element of n(x) has an error of at most
 *     ((|n(x)| + 1) (dim / 16 + 16) + 2 |mean| / sqrt(variance + epsilon)) * 2^-24,
 * and mostly much less: tests/ACCURACY.md has the errors of random rows. It may be up to 12 times as much where shift
 * is farther from the mean than an eighth of sqrt(variance). The second term is as large as that of rounding x itself.
 * n(x) is exactly 0 where all elements of a row are equal. Where the variance is above FLT_MAX it is 0 or NaN. An
 * infinity makes all of its row NaN. */
fovea_status fovea_norm(const fovea_norm_args* args);

/* The most taps of a convolution. */
#define FOVEA_CONV1D_MAX_KERNEL_SIZE 8

/* A short causal depthwise convolution, as models have it before linear attention. Each channel has its own weights:
 *
 *     y[t] = bias + weight[0] x[t - kernel_size + 1] + ... + weight[kernel_size - 1] x[t],
 *
 * in this order, by multiply-adds. Set all to 0 first, then fill in.
 *
 * State. [batch][kernel_size - 1][channels], dense: the inputs before those of the call, oldest first. The call
 * replaces them by the last inputs that it has seen. Zeros for a sequence that begins; NULL = zeros, and no input is
 * kept. To roll back, continue with an earlier copy. It must not overlap any other array (FOVEA_ERR_OVERLAP). */
typedef struct fovea_conv1d_args {
  uint32_t struct_bytes; /* sizeof(fovea_conv1d_args) */
  fovea_target target;   /* FOVEA_TARGET_BEST, or one that must be used (FOVEA_ERR_TARGET) */

  uint32_t batch, tokens; /* counts */
  uint32_t channels;      /* at least 1 (FOVEA_ERR_DIM) */
  uint32_t kernel_size;   /* taps, 1 to FOVEA_CONV1D_MAX_KERNEL_SIZE (FOVEA_ERR_DIM) */
  uint32_t silu;          /* nonzero: y becomes y sigmoid(y) */

  /* Required: f32 [batch][tokens][channels] in any order, with strides in floats. Token strides, or channel strides,
   * are 1 in x and y, unless there is one token or one channel (FOVEA_ERR_STRIDE). y may be x, with its strides. */
  float* y;
  ptrdiff_t y_batch_stride, y_token_stride, y_channel_stride;
  const float* x;
  ptrdiff_t x_batch_stride, x_token_stride, x_channel_stride;

  const float* weight;     /* required: [channels][kernel_size], the tap of the newest token last */
  ptrdiff_t weight_stride; /* from a channel to the next, in floats */
  const float* bias;       /* [channels], NULL = 0 */

  float* state; /* optional [batch][kernel_size - 1][channels]. See "State" above */
} fovea_conv1d_args;

/* Writes y and the state. */
fovea_status fovea_conv1d(const fovea_conv1d_args* args);

FOVEA_DECLARATIONS_END_

#endif /* FOVEA_LAYERS_H_ */
