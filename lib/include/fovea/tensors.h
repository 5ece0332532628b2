/* fovea/tensors.h: sums, products, pooling, embedding rows, and the largest of a row.
 *
 * SPDX-License-Identifier: Apache-2.0
 *
 *     #include <fovea/tensors.h>
 *
 *     static uint16_t table[100][64];                      // embeddings in half precision
 *     static float x[4][64], positions[4][64], pooled[64];  // [tokens][dim]
 *
 *     int main(void) {
 *       const uint32_t words[4] = {7, 99, 0, 7};
 *       fovea_embedding_args embed = {.struct_bytes = sizeof embed, .tokens = 4, .dim = 64, .rows = 100,
 *                                     .indices = words, .y = x[0], .y_stride = 64};
 *       embed.table = (fovea_linear_weights){.dtype = FOVEA_F16, .data = table, .row_stride = 64};
 *       if (fovea_embedding(&embed) != FOVEA_OK) return 1;
 *
 *       fovea_binary_args add = {.struct_bytes = sizeof add, .batch = 1, .heads = 1, .tokens = 4, .dim = 64};
 *       add.y = (fovea_out){.data = x, .token_stride = 64};  // in place
 *       add.a = (fovea_in){.data = x, .token_stride = 64};
 *       add.b = (fovea_in){.data = positions, .token_stride = 64};
 *       if (fovea_add(&add) != FOVEA_OK) return 1;
 *
 *       fovea_pooling_args pool = {.struct_bytes = sizeof pool, .pooling = FOVEA_POOLING_MEAN, .batch = 1, .heads = 1,
 *                                  .tokens = 4, .dim = 64};
 *       pool.y.data = pooled;
 *       pool.x = (fovea_in){.data = x, .token_stride = 64};
 *       if (fovea_pooling(&pool) != FOVEA_OK) return 1;
 *
 *       uint32_t best[2];
 *       return fovea_top_k(pooled, 64, 2, best);  // the two largest elements, as of logits
 *     }
 *
 * What stands between the layers of a model, each in one call without plan or workspace. The conventions of base.h
 * hold. Arithmetic is f32: elements of F16 and BF16 are widened exactly, and results are rounded once. Bits are the
 * same on all IEEE targets. */
#ifndef FOVEA_TENSORS_H_
#define FOVEA_TENSORS_H_

#include "fovea/base.h"
#include "fovea/linear.h"

FOVEA_DECLARATIONS_BEGIN_

/* ----------------------------------------------------------------------------------------------- sums and products */

/* The arguments of fovea_add and fovea_multiply. Set all to 0 first, then fill in. */
typedef struct fovea_binary_args {
  uint32_t struct_bytes; /* sizeof(fovea_binary_args) */
  fovea_target target;   /* FOVEA_TARGET_BEST, or one that must be used (FOVEA_ERR_TARGET) */

  fovea_dtype y_dtype, a_dtype, b_dtype; /* F32, F16 or BF16 (FOVEA_ERR_UNSUPPORTED) */

  uint32_t batch, heads, tokens; /* counts of rows; heads at least 1 (FOVEA_ERR_DIM) */
  uint32_t dim;                  /* elements of a row, at least 1 (FOVEA_ERR_DIM) */

  fovea_out y;   /* may be a or b, with the same strides and a format of the same size; any other overlap is
                  FOVEA_ERR_OVERLAP */
  fovea_in a, b; /* strides of 0 repeat a row: b may be one row for all tokens */
} fovea_binary_args;

/* Write y = a + b, and y = a * b, element by element. */
fovea_status fovea_add(const fovea_binary_args* args);
fovea_status fovea_multiply(const fovea_binary_args* args);

/* --------------------------------------------------------------------------------------------------------- pooling */

/* What becomes of the tokens of an entry. */
FOVEA_ENUM_(fovea_pooling_kind, uint32_t) {
  FOVEA_POOLING_MEAN = 0,  /* their mean: their sum in the order of tokens, divided by their number */
  FOVEA_POOLING_FIRST = 1, /* the first token's row, as encoders with a class token have it */
};

/* The arguments of fovea_pooling. Set all to 0 first, then fill in. */
typedef struct fovea_pooling_args {
  uint32_t struct_bytes;      /* sizeof(fovea_pooling_args) */
  fovea_target target;        /* FOVEA_TARGET_BEST, or one that must be used (FOVEA_ERR_TARGET) */
  fovea_pooling_kind pooling; /* FOVEA_ERR_ENUM */

  fovea_dtype y_dtype, x_dtype; /* F32, F16 or BF16 (FOVEA_ERR_UNSUPPORTED) */

  uint32_t batch, heads, tokens; /* counts; heads at least 1 (FOVEA_ERR_DIM) */
  uint32_t dim;                  /* elements of a row, at least 1 (FOVEA_ERR_DIM) */

  fovea_out y;             /* [batch][heads][dim]: token_stride is not used. Must not overlap x (FOVEA_ERR_OVERLAP) */
  fovea_in x;              /* [batch][heads][tokens][dim] */
  const uint32_t* lengths; /* optional [batch]: tokens of each entry, at most tokens (FOVEA_ERR_LENGTH). NULL = tokens.
                              Tokens past an entry's length are not read */
} fovea_pooling_args;

/* Writes y; zeros where an entry has no token. */
fovea_status fovea_pooling(const fovea_pooling_args* args);

/* ------------------------------------------------------------------------------------------------------ embeddings */

/* The arguments of fovea_embedding. Set all to 0 first, then fill in. */
typedef struct fovea_embedding_args {
  uint32_t struct_bytes; /* sizeof(fovea_embedding_args) */
  fovea_target target;   /* FOVEA_TARGET_BEST, or one that must be used (FOVEA_ERR_TARGET) */

  uint32_t tokens; /* 0: nothing is written */
  uint32_t dim;    /* elements of a row, at least 1 (FOVEA_ERR_DIM) */
  uint32_t rows;   /* of the table */

  float* y;                   /* required: [tokens][dim]. Must not overlap any other array (FOVEA_ERR_OVERLAP) */
  ptrdiff_t y_stride;         /* from a token to the next, in floats */
  const uint32_t* indices;    /* required: [tokens], the row of each token, below rows (FOVEA_ERR_LENGTH) */
  fovea_linear_weights table; /* [rows][dim] in any format, as the weights of a linear layer with an output for each
                                 row: so a model's last layer can share it. Its bias is not read */
} fovea_embedding_args;

/* Writes y[t] = table[indices[t]], widened to f32 as base.h defines it. */
fovea_status fovea_embedding(const fovea_embedding_args* args);

/* -------------------------------------------------------------------------------------------- the largest of a row */

/* Writes the index of the largest of count elements. Of equal ones, and 0 and -0 are equal, it is the lowest index. A
 * NaN counts as less than -inf. count is at least 1 (FOVEA_ERR_SIZE). index must not be in x (FOVEA_ERR_OVERLAP). */
fovea_status fovea_argmax(const float* x, uint32_t count, uint32_t* index);

/* Writes the indices of the k largest of count elements, the largest first, in the order that fovea_argmax has. k is at
 * most count (FOVEA_ERR_SIZE); 0: nothing is written. indices, [k], is all the memory that it needs, and must not
 * overlap x (FOVEA_ERR_OVERLAP). Each element takes a comparison, and one that is larger than the least of the k so far
 * takes about 2 log2(k) more. */
fovea_status fovea_top_k(const float* x, uint32_t count, uint32_t k, uint32_t* indices);

FOVEA_DECLARATIONS_END_

#endif /* FOVEA_TENSORS_H_ */
