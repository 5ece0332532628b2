// SPDX-License-Identifier: Apache-2.0
#include "ground/base/arithmetic.h"
#include "layers/tensors/call.h"

#include "fovea/fovea.h"
#include "ground/base/buffers.h"
#include "ground/base/status.h"
#include "ground/base/strides.h"
#include "ground/formats/checks.h"
#include "ground/targets/registry.h"

namespace fovea {

fovea_status resolve_pair(const fovea_binary_args& a, PairCall* call) {
  FOVEA_RETURN_IF_ERROR(check_struct(a));
  call->rows = counts_of(a);
  const TargetTraits* traits;
  FOVEA_RETURN_IF_ERROR(find_target(a.target, &traits));
  const fovea_dtype dtypes[] = {a.y_dtype, a.a_dtype, a.b_dtype};
  for (const fovea_dtype dtype : dtypes) FOVEA_RETURN_IF_ERROR(check_unscaled(dtype));
  if (a.dim == 0 || a.heads == 0) return FOVEA_ERR_DIM;
  if (call->rows.batch == 0) return FOVEA_OK;
  const size_t y_bytes = unscaled_bytes(a.y_dtype);
  Buffers buffers;
  buffers.add_output(a.y, y_bytes, call->rows, a.dim);
  buffers.add_in_place(a.y, y_bytes, a.a, unscaled_bytes(a.a_dtype), call->rows, a.dim);
  FOVEA_RETURN_IF_ERROR(buffers.add_in_place(a.y, y_bytes, a.b, unscaled_bytes(a.b_dtype), call->rows, a.dim));
  call->kernels = &tensor_kernels(traits->target);
  call->y = &a.y, call->a = &a.a, call->b = &a.b;
  call->row = {a.y_dtype, a.a_dtype, a.b_dtype, nullptr, nullptr, nullptr, a.dim};
  return FOVEA_OK;
}

fovea_status resolve_pooling(const fovea_pooling_args& a, PoolingCall* call) {
  call->batch = 0;
  FOVEA_RETURN_IF_ERROR(check_struct(a));
  if (uint32_t(a.pooling) > FOVEA_POOLING_FIRST) return FOVEA_ERR_ENUM;
  const TargetTraits* traits;
  FOVEA_RETURN_IF_ERROR(find_target(a.target, &traits));
  FOVEA_RETURN_IF_ERROR(check_unscaled(a.y_dtype));
  FOVEA_RETURN_IF_ERROR(check_unscaled(a.x_dtype));
  if (a.dim == 0 || a.heads == 0) return FOVEA_ERR_DIM;
  if (a.batch == 0) return FOVEA_OK;
  Buffers buffers;
  const size_t x_bytes = unscaled_bytes(a.x_dtype);
  buffers.add_output(a.y, unscaled_bytes(a.y_dtype), {a.batch, a.heads, 1}, a.dim);
  buffers.add_input(a.x, x_bytes, {a.batch, a.heads, a.tokens}, a.dim);
  FOVEA_RETURN_IF_ERROR(buffers.add_list(a.lengths, sizeof(uint32_t), a.batch));
  for (uint32_t entry = 0; kHasChecks && a.lengths && entry < a.batch; ++entry) {
    if (a.lengths[entry] > a.tokens) return FOVEA_ERR_LENGTH;
  }
  const uint32_t most = a.pooling == FOVEA_POOLING_FIRST && a.tokens > 0 ? 1 : a.tokens;
  *call = {&tensor_kernels(traits->target),
           a.batch,
           a.heads,
           most,
           &a.y,
           &a.x,
           a.lengths,
           {a.y_dtype, a.x_dtype, nullptr, nullptr, 0, a.dim, stride_bytes(a.x.token_stride, x_bytes)}};
  return FOVEA_OK;
}

fovea_status resolve_embedding(const fovea_embedding_args& a, EmbeddingCall* call) {
  call->tokens = 0;
  FOVEA_RETURN_IF_ERROR(check_struct(a));
  if (a.table.reserved) return FOVEA_ERR_STRUCT;
  const TargetTraits* traits;
  FOVEA_RETURN_IF_ERROR(find_target(a.target, &traits));
  fovea_linear_weights table = a.table;
  table.bias = nullptr, table.bias_i32 = nullptr;
  if (!is_dtype(table.dtype)) return FOVEA_ERR_ENUM;
  if (!format_served(table.dtype)) return FOVEA_ERR_LEFT_OUT;
  if (a.dim == 0) return FOVEA_ERR_DIM;
  if (a.tokens == 0) return FOVEA_OK;
  const bool scaled = scale_bytes(table.dtype) != 0;
  if ((scaled && !table.scales) || !a.indices) return FOVEA_ERR_NULL;
  if (!scaled && table.scales) return FOVEA_ERR_UNSUPPORTED;
  Buffers buffers;
  buffers.add_output({a.y, 0, 0, a.y_stride}, sizeof(float), {1, 1, a.tokens}, a.dim);
  buffers.add_list(a.indices, sizeof(uint32_t), a.tokens);
  FOVEA_RETURN_IF_ERROR(add_weights(buffers, table, a.dim, a.rows));
  for (uint32_t token = 0; kHasChecks && token < a.tokens; ++token) {
    if (a.indices[token] >= a.rows) return FOVEA_ERR_LENGTH;
  }
  *call = {traits->target, a.tokens, a.dim, a.y, a.y_stride, a.indices, table};
  return FOVEA_OK;
}

fovea_status check_select(const void* x, size_t element_bytes, uint32_t count, uint32_t k, uint32_t* indices) {
  if (k > count) return FOVEA_ERR_SIZE;
  if (k > 0 && (!x || !indices)) return FOVEA_ERR_NULL;
  Buffers buffers;
  buffers.add_output(indices, sizeof(uint32_t), k);
  return buffers.add_list(x, element_bytes, count);
}

}  // namespace fovea

FOVEA_C_CALL_(fovea_add, fovea_binary_args, resolve_pair, run_sum)
FOVEA_C_CALL_(fovea_multiply, fovea_binary_args, resolve_pair, run_product)
FOVEA_C_CALL_(fovea_pooling, fovea_pooling_args, resolve_pooling, run_pooling)
FOVEA_C_CALL_(fovea_embedding, fovea_embedding_args, resolve_embedding, run_embedding)

extern "C" fovea_status fovea_argmax(const float* x, uint32_t count, uint32_t* index) {
  if (fovea::kHasChecks) FOVEA_RETURN_IF_ERROR(fovea::check_select(x, sizeof *x, count, 1, index));
  *index = fovea::largest_of(x, count);
  return FOVEA_OK;
}

extern "C" fovea_status fovea_top_k(const float* x, uint32_t count, uint32_t k, uint32_t* indices) {
  if (fovea::kHasChecks) FOVEA_RETURN_IF_ERROR(fovea::check_select(x, sizeof *x, count, k, indices));
  fovea::largest_k_of(x, count, k, indices);
  return FOVEA_OK;
}
