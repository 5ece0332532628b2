// SPDX-License-Identifier: Apache-2.0
//
// Checked calls. Arrays are described in the caller's arguments.
#ifndef FOVEA_SRC_TENSORS_CALL_H_
#define FOVEA_SRC_TENSORS_CALL_H_

#include "fovea/fovea.h"
#include "ground/base/strides.h"
#include "layers/tensors/kernels.h"

namespace fovea {

struct PairCall {
  const TensorKernels* kernels;
  RowCounts rows;  // if there are none, nothing else is set
  const fovea_out* y;
  const fovea_in *a, *b;
  PairRow row;  // all but y, a and b
};
struct PoolingCall {
  const TensorKernels* kernels;
  uint32_t batch, heads;
  uint32_t most;  // tokens that are read of an entry
  const fovea_out* y;
  const fovea_in* x;
  const uint32_t* lengths;  // null = most
  MeanRow row;              // all but y, x and tokens
};
struct EmbeddingCall {
  fovea_target target;
  uint32_t tokens;
  size_t dim;
  float* y;
  ptrdiff_t y_stride;
  const uint32_t* indices;
  fovea_linear_weights table;
};

void run_sum(PairCall& call);
void run_product(PairCall& call);
void run_pooling(PoolingCall& call);
void run_embedding(const EmbeddingCall& call);

// As fovea_argmax and fovea_top_k have them, and fovea_integer_argmax and fovea_integer_top_k.
fovea_status check_select(const void* x, size_t element_bytes, uint32_t count, uint32_t k, uint32_t* indices);
uint32_t largest_of(const float* x, uint32_t count);
uint32_t largest_of(const int8_t* x, uint32_t count);
void largest_k_of(const float* x, uint32_t count, uint32_t k, uint32_t* indices);
void largest_k_of(const int8_t* x, uint32_t count, uint32_t k, uint32_t* indices);

}  // namespace fovea

#endif  // FOVEA_SRC_TENSORS_CALL_H_
