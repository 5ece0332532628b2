/* fovea/layers.h: softmax, rotary embedding, normalisation, activation, short convolution.
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
 *       if (fovea_norm_f32(&norm) != FOVEA_OK) return 1;
 *
 *       fovea_softmax_args softmax = {.struct_bytes = sizeof softmax, .outer = 4, .axis = 64, .inner = 1};
 *       softmax.in = softmax.out = y[0];  // in place, along each row
 *       softmax.in_outer_stride = softmax.out_outer_stride = 64;
 *       softmax.in_axis_stride = softmax.out_axis_stride = 1;
 *       return fovea_softmax_f32(&softmax);
 *     }
 *
 * The layers around attention and linear layers, each in one call without plan or workspace, all in f32. The
 * conventions of base.h hold. Each layer's comment has its formula and its paper, its errors, what NaN and infinity do,
 * and where bits are the same. */
#ifndef FOVEA_LAYERS_H_
#define FOVEA_LAYERS_H_

#include "fovea/base.h"

FOVEA_DECLARATIONS_BEGIN_

/* --------------------------------------------------------------------------------------------------------- softmax */

/* Softmax along one axis of a three-dimensional array, in[outer][axis][inner]:
 *     out = exp(x - max(x)) / sum(exp(x - max(x))),    x = scale * in + mask,    over the axis.
 * Any array fits: all dimensions before the axis together are outer, all dimensions after it together are inner. With
 * inner == 1 the axis may have any stride; with inner > 1 the inner dimension is contiguous.
 *   outer, axis, inner    counts; any may be 0: nothing is written.
 *   scale                 1 / temperature. 0 means 1, that is, no scaling. Finite (FOVEA_ERR_NUMBER).
 *   in, out               required unless a count is 0. out may be in with the same strides; any other overlap is
 *                         FOVEA_ERR_OVERLAP.
 *   mask                  optional, added to scale * in; strides of 0 broadcast it. mask_inner_stride is 0 or 1.
 *                         A mask value of -FLT_MAX / 2 or below (-inf too) hides the element: its weight is 0, even
 *                         where in is NaN.
 * Errors. Every weight has an error of at most 3 ulp, plus half an ulp for each doubling of the axis, plus the effect
 * of rounding x and x - max(x) to float (up to |x - max(x)| half ulps of a weight).
 *
 * Edge cases. A row in which all elements are hidden or -inf gives zeros (log-softmax: -inf). A +inf or NaN that is not
 * hidden makes its row NaN. The bits are the same on AVX2, AVX-512 and AArch64. */
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

/* Writes out. */
fovea_status fovea_softmax_f32(const fovea_softmax_args* args);

/* out = x - max(x) - log(sum(exp(x - max(x)))). Arguments and edge cases are those of softmax, but a hidden element
 * gives -inf. */
fovea_status fovea_log_softmax_f32(const fovea_softmax_args* args);

/* ------------------------------------------------------------------------------------------------------------ rope */

/* Rotary position embedding (Su et al., RoFormer, arXiv 2104.09864). The first rotary_dim elements of a query or key
 * are taken in pairs (a, b). Pair i of a token at position p is turned by an angle that grows with p and falls with i:
 *     (a, b) -> (a cos - b sin, b cos + a sin),    angle = p * position_scale * base^(-2 i / rotary_dim) radians
 * The dot product of two rows turned in this way depends only on the difference of their positions.
 *
 * Models differ in which elements make a pair. Weights that were trained with one layout are useless with the other. */
typedef enum fovea_rope_layout FOVEA_ENUM_TYPE_(unsigned) {
  FOVEA_ROPE_INTERLEAVED = 1, /* 2 i and 2 i + 1: the paper, GPT-J, Meta's Llama; ONNX with interleaved = 1 */
  FOVEA_ROPE_HALF_SPLIT = 2,  /* i and i + rotary_dim / 2: GPT-NeoX, Hugging Face; ONNX with interleaved = 0 */
  FOVEA_ROPE_LAYOUT_IS_32_BITS = 0x7fffffff
} fovea_rope_layout;

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

/* The arguments of fovea_rope_f32. Set all to 0 first, then fill in.
 *
 * Angles. Give either turns, or cos and sin: FOVEA_ERR_NULL without any, FOVEA_ERR_UNSUPPORTED with both kinds.
 *
 * Positions. A token's position is position_offset + positions[b] + its number in the entry, or position_offset +
 * token_positions[b][token]. It may be negative, and must fit in 64 bits (FOVEA_ERR_SIZE). With cos and sin it is at
 * least 0 and below table_positions (FOVEA_ERR_POSITION_RANGE). */
typedef struct fovea_rope_args {
  uint32_t struct_bytes; /* sizeof(fovea_rope_args) */
  fovea_target target;   /* FOVEA_TARGET_BEST, or one that must be used (FOVEA_ERR_TARGET) */

  uint32_t batch, heads, tokens; /* counts; any may be 0: nothing is written */
  uint32_t dim;                  /* elements of a row, at least 1 (FOVEA_ERR_DIM) */
  uint32_t rotary_dim;           /* the first rotary_dim elements are turned, the others copied. 0 = dim. Even, and at
                                    most dim (FOVEA_ERR_DIM) */
  fovea_rope_layout layout;      /* never 0 (FOVEA_ERR_ENUM) */
  uint32_t inverse;              /* nonzero: turns by the negative angle, which undoes a turn */

  fovea_out out; /* f32 [batch][heads][tokens][dim]. May be in with the same strides; any other overlap is
                    FOVEA_ERR_OVERLAP */
  fovea_in in;   /* f32 [batch][heads][tokens][dim] */

  /* See "Angles" above. */
  const uint64_t* turns;  /* [rotary_dim / 2], as fovea_rope_frequencies computes them */
  const float* cos;       /* [table_positions][rotary_dim / 2] */
  const float* sin;       /* [table_positions][rotary_dim / 2] */
  ptrdiff_t table_stride; /* from a position to the next, for cos and for sin */
  size_t table_positions; /* rows of the tables, from position 0 on */

  /* See "Positions" above. */
  const int64_t* positions;         /* optional [batch]: the position of each entry's first token. NULL = 0 */
  const int64_t* token_positions;   /* optional [batch][tokens]; then positions is NULL
                                       (FOVEA_ERR_POSITIONS_TWICE) */
  ptrdiff_t token_positions_stride; /* from an entry to the next; 0 = the same positions for all */
  int64_t position_offset;          /* for all tokens */
} fovea_rope_args;

/* Turns all pairs.
 * Errors. With turns, cos and sin are computed without libm and are within 2e-7 at any position, for exactly these
 * turns. With turns from fovea_rope_frequencies and a rotary_dim up to 256 they are within 2e-7 of cos and sin of the
 * true angle up to position 2^32, and within 1e-6 up to 2^36; at negative positions, too. The turn adds two roundings,
 * of the products of a and of b. At position 0 out equals in, where both numbers of a pair are finite.
 * Bits. The same in both layouts, and on all IEEE targets with fused multiply-add. */
fovea_status fovea_rope_f32(const fovea_rope_args* args);

/* -------------------------------------------------------------------------- normalisation, activation, convolution */

/* Language models have these three layers around attention and linear attention. Rows are f32
 * [batch][heads][tokens][dim]. Any count of rows may be 0: nothing is written. An output may be the same array as an
 * input, with the same strides; any other overlap is FOVEA_ERR_OVERLAP. Bits: the same on all IEEE targets with fused
 * multiply-add, and for any strides. */

/* The function that an activation applies to each element. */
typedef enum fovea_activation FOVEA_ENUM_TYPE_(unsigned) {
  FOVEA_ACTIVATION_SILU = 0,   /* x sigmoid(alpha x). Also called swish. -inf becomes NaN */
  FOVEA_ACTIVATION_SIGMOID = 1 /* sigmoid(alpha x) = 1 / (1 + e^(-alpha x)); 0 where alpha x is below -87 */
} fovea_activation;

/* y = activation(x) * factor. Set all to 0 first, then fill in. */
typedef struct fovea_activation_args {
  uint32_t struct_bytes;       /* sizeof(fovea_activation_args) */
  fovea_target target;         /* FOVEA_TARGET_BEST, or one that must be used (FOVEA_ERR_TARGET) */
  fovea_activation activation; /* FOVEA_ERR_ENUM */
  float alpha;                 /* 0 = 1. Finite (FOVEA_ERR_NUMBER) */

  uint32_t batch, heads, tokens; /* counts of rows */
  uint32_t dim;                  /* elements of a row, at least 1 (FOVEA_ERR_DIM) */

  fovea_out y;
  fovea_in x;
  fovea_in factor; /* data NULL = 1. With SILU this is SwiGLU: x is the gate's projection, factor the other one */
} fovea_activation_args;

/* Writes y. The relative error is below 4e-7, and 6e-7 where multiply-adds are not fused. Unless alpha is a power of
 * two, the rounding of alpha * x adds up to |alpha x| * 2^-24: 5.2e-6 where alpha x is -87. */
fovea_status fovea_activation_f32(const fovea_activation_args* args);

/* What a row is divided by. */
typedef enum fovea_norm FOVEA_ENUM_TYPE_(unsigned) {
  FOVEA_NORM_RMS = 0, /* n(x) = x / sqrt(mean of x^2 + epsilon). RMSNorm, arXiv 1910.07467 */
  FOVEA_NORM_L2 = 1   /* n(x) = x / sqrt(sum of x^2 + epsilon) */
} fovea_norm;

/* Where the gate is multiplied in. */
typedef enum fovea_norm_gate FOVEA_ENUM_TYPE_(unsigned) {
  FOVEA_NORM_GATE_AFTER = 0, /* y = n(x) (weight + weight_offset) activation(gate), as Qwen3-Next has it */
  FOVEA_NORM_GATE_BEFORE = 1 /* y = n(x activation(gate)) (weight + weight_offset), as Mamba-2 has it */
} fovea_norm_gate;

/* y = n(x) (weight + weight_offset), with a gate as fovea_norm_gate says. Set all to 0 first, then fill in. */
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

/* Writes y. Squares are summed in 16 chains, and the chains in a tree. A row whose squares sum up to more than FLT_MAX
 * becomes zeros, as with other libraries. A NaN in a row makes all of it NaN. An infinity becomes NaN, and the other
 * elements of its row become zeros. */
fovea_status fovea_norm_f32(const fovea_norm_args* args);

/* The most taps of a convolution. */
#define FOVEA_CONV1D_MOST_WIDTH 8

/* A short causal depthwise convolution, as models have it before linear attention. Each channel has its own weights:
 *
 *     y[t] = bias + weight[0] x[t - width + 1] + ... + weight[width - 1] x[t],
 *
 * in this order, by multiply-adds. Set all to 0 first, then fill in.
 *
 * State. [batch][width - 1][channels], dense: the inputs before those of the call, oldest first. The call replaces them
 * by the last inputs that it has seen. Zeros for a sequence that begins; NULL = zeros, and no input is kept. To roll
 * back, continue with an earlier copy. It must not overlap any other array (FOVEA_ERR_OVERLAP). */
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

  float* state; /* optional [batch][width - 1][channels]. See "State" above */
} fovea_conv1d_args;

/* Writes y and the state. */
fovea_status fovea_conv1d_f32(const fovea_conv1d_args* args);

FOVEA_DECLARATIONS_END_

#endif /* FOVEA_LAYERS_H_ */
