// SPDX-License-Identifier: Apache-2.0
#include "ground/base/arithmetic.h"
#include "layers/integer_layers/call.h"

#include "fovea/fovea.h"
#include "ground/base/buffers.h"
#include "ground/base/numbers.h"
#include "ground/base/status.h"
#include "layers/tensors/call.h"

namespace fovea {
namespace {

constexpr uint32_t kMostNormDim = 1u << 14;     // so that a normalised element fits in 31 bits
constexpr uint32_t kMostMeanTokens = 1u << 22;  // so that a sum of codes does

// floor(multiplier 2^-shift + 1 / 2), for a shift of at least 1.
int32_t shifted(int32_t multiplier, int shift) {
  return int32_t((int64_t(multiplier) + (int64_t(1) << (shift - 1))) >> shift);
}

// Checks what the rows of all calls share.
template <class Args>
fovea_status check_rows(const Args& a, RowCounts* rows) {
  FOVEA_RETURN_IF_ERROR(check_struct(a));
  *rows = counts_of(a);
  return a.dim == 0 || a.heads == 0 ? FOVEA_ERR_DIM : FOVEA_OK;
}

// Adds an input of y's counts, which may be y itself.
template <class Args>
fovea_status add_input(Buffers* buffers, const Args& a, const fovea_in& array) {
  return buffers->add_in_place(a.y, 1, array, 1, counts_of(a), a.dim);
}
template <class Args>
fovea_status add_output(Buffers* buffers, const Args& a) {
  return buffers->add_output(a.y, 1, counts_of(a), a.dim);
}
// Adds an array that every row reads.
fovea_status add_required(Buffers* buffers, const void* data, size_t element_bytes, size_t count) {
  return data ? buffers->add_list(data, element_bytes, count) : FOVEA_ERR_NULL;
}

// Checks what a sum and a product share, and finds the least and the largest code of y.
fovea_status check_pair(const fovea_integer_binary_args& a, bool has_b, int32_t* least, int32_t* most,
                        RowCounts* rows) {
  FOVEA_RETURN_IF_ERROR(check_rows(a, rows));
  if (!is_i8_code(a.a_zero_point) || !is_i8_code(a.b_zero_point) || !is_i8_code(a.y_zero_point))
    return FOVEA_ERR_NUMBER;
  if (!is_multiplier(a.a_multiplier, a.a_shift, -31, 5)) return FOVEA_ERR_NUMBER;
  if (!is_i8_code(a.activation_min) || !is_i8_code(a.activation_max) || a.activation_min > a.activation_max)
    return FOVEA_ERR_NUMBER;
  const bool all = a.activation_min == 0 && a.activation_max == 0;
  *least = all ? INT8_MIN : a.activation_min, *most = all ? INT8_MAX : a.activation_max;
  if (rows->batch == 0) return FOVEA_OK;
  Buffers buffers;
  add_output(&buffers, a);
  add_input(&buffers, a, a.a);
  return has_b ? add_input(&buffers, a, a.b) : buffers.status();
}

}  // namespace

fovea_status resolve_integer_norm(const fovea_integer_norm_args& a, IntegerNormCall* call) {
  FOVEA_RETURN_IF_ERROR(check_rows(a, &call->rows));
  if (a.norm != FOVEA_NORM_LAYER && a.norm != FOVEA_NORM_RMS) return FOVEA_ERR_ENUM;
  if (a.dim > kMostNormDim) return FOVEA_ERR_SIZE;
  if (!is_i8_code(a.x_zero_point) || !is_i8_code(a.y_zero_point)) return FOVEA_ERR_NUMBER;
  if (!is_multiplier(a.weight_multiplier, a.weight_shift, -31, -8)) return FOVEA_ERR_NUMBER;
  const bool has_epsilon = a.epsilon_multiplier != 0;
  if (has_epsilon && !is_multiplier(a.epsilon_multiplier, a.epsilon_shift, -31, 15)) return FOVEA_ERR_NUMBER;
  if (call->rows.batch == 0) return FOVEA_OK;
  Buffers buffers;
  add_output(&buffers, a);
  FOVEA_RETURN_IF_ERROR(add_input(&buffers, a, a.x));
  FOVEA_RETURN_IF_ERROR(add_required(&buffers, a.weight, sizeof(int16_t), a.dim));
  FOVEA_RETURN_IF_ERROR(buffers.add_list(a.bias, sizeof(int16_t), a.dim));

  call->y = &a.y, call->x = &a.x;
  call->centred = a.norm == FOVEA_NORM_LAYER, call->x_zero_point = a.x_zero_point;
  call->weight_multiplier = a.weight_multiplier, call->weight_shift = a.weight_shift;
  call->epsilon = has_epsilon ? uint64_t(a.dim) * a.dim * uint32_t(a.epsilon_multiplier) >> (15 - a.epsilon_shift) : 0;
  call->row.weight = a.weight, call->row.bias = a.bias, call->row.dim = a.dim;
  call->row.base = a.y_zero_point * (1 << kNormBits);
  return FOVEA_OK;
}

fovea_status resolve_integer_sum(const fovea_integer_binary_args& a, IntegerSumCall* call) {
  IntegerSumRow& row = call->row;
  const bool has_b = a.b.data != nullptr;
  FOVEA_RETURN_IF_ERROR(check_pair(a, has_b, &row.least, &row.most, &call->rows));
  if (has_b && !is_multiplier(a.b_multiplier, a.b_shift, -31, 5)) return FOVEA_ERR_NUMBER;
  if (call->rows.batch == 0) return FOVEA_OK;
  call->y = &a.y, call->a = &a.a, call->b = &a.b;
  row.dim = a.dim;
  row.a_factor = shifted(a.a_multiplier, 31 - kSumBits - a.a_shift);
  row.b_factor = has_b ? shifted(a.b_multiplier, 31 - kSumBits - a.b_shift) : 0;
  row.base = a.y_zero_point * (1 << kSumBits) - a.a_zero_point * row.a_factor - a.b_zero_point * row.b_factor;
  return FOVEA_OK;
}

fovea_status resolve_integer_product(const fovea_integer_binary_args& a, IntegerProductCall* call) {
  IntegerProductRow& row = call->row;
  FOVEA_RETURN_IF_ERROR(check_pair(a, true, &row.least, &row.most, &call->rows));
  if (call->rows.batch == 0) return FOVEA_OK;
  call->y = &a.y, call->a = &a.a, call->b = &a.b;
  const int places = a.a_shift + 1 + kProductBits;
  row.dim = a.dim;
  row.a_zero_point = a.a_zero_point;
  row.b_factor = places > 0 ? 1 << places : 1;
  row.b_offset = -a.b_zero_point * row.b_factor;
  row.factor = places < 0 ? a.a_multiplier >> -places : a.a_multiplier;
  row.base = a.y_zero_point * (1 << kProductBits);
  return FOVEA_OK;
}

fovea_status resolve_integer_activation(const fovea_integer_activation_args& a, IntegerActivationCall* call) {
  FOVEA_RETURN_IF_ERROR(check_rows(a, &call->rows));
  if (call->rows.batch == 0) return FOVEA_OK;
  Buffers buffers;
  add_output(&buffers, a);
  FOVEA_RETURN_IF_ERROR(add_input(&buffers, a, a.x));
  FOVEA_RETURN_IF_ERROR(add_required(&buffers, a.table, 1, 256));
  call->y = &a.y, call->x = &a.x;
  call->dim = a.dim, call->table = a.table;
  return FOVEA_OK;
}

fovea_status resolve_integer_hard_swish(const fovea_integer_hard_swish_args& a, IntegerHardSwishCall* call) {
  FOVEA_RETURN_IF_ERROR(check_rows(a, &call->rows));
  if (!is_i8_code(a.x_zero_point) || !is_i8_code(a.y_zero_point)) return FOVEA_ERR_NUMBER;
  if (!is_multiplier(a.three_multiplier, a.three_shift, -7, 13)) return FOVEA_ERR_NUMBER;
  if (!is_multiplier(a.out_multiplier, a.out_shift, -23, 6)) return FOVEA_ERR_NUMBER;
  if (call->rows.batch == 0) return FOVEA_OK;
  Buffers buffers;
  add_output(&buffers, a);
  FOVEA_RETURN_IF_ERROR(add_input(&buffers, a, a.x));
  call->y = &a.y, call->x = &a.x;
  IntegerHardSwishRow& row = call->row;
  row.dim = a.dim, row.x_zero_point = a.x_zero_point, row.y_zero_point = a.y_zero_point;
  row.three = shifted(a.three_multiplier, 23 - a.three_shift);
  row.factor = a.out_multiplier, row.shift = 7 - a.out_shift;
  return FOVEA_OK;
}

fovea_status resolve_integer_mean(const fovea_integer_mean_args& a, IntegerMeanCall* call) {
  FOVEA_RETURN_IF_ERROR(check_rows(a, &call->rows));
  if (a.tokens > kMostMeanTokens) return FOVEA_ERR_SIZE;
  if (!is_i8_code(a.x_zero_point) || !is_i8_code(a.y_zero_point)) return FOVEA_ERR_NUMBER;
  if (!is_multiplier(a.multiplier, a.shift, -31, 5)) return FOVEA_ERR_NUMBER;
  call->rows.batch = a.batch;
  if (a.batch == 0) return FOVEA_OK;
  Buffers buffers;
  buffers.add_output(a.y, 1, {a.batch, a.heads, 1}, a.dim);
  buffers.add_input(a.x, 1, counts_of(a), a.dim);
  FOVEA_RETURN_IF_ERROR(buffers.add_list(a.lengths, sizeof(uint32_t), a.batch));
  for (uint32_t entry = 0; kHasChecks && a.lengths && entry < a.batch; ++entry) {
    if (a.lengths[entry] > a.tokens) return FOVEA_ERR_LENGTH;
  }
  call->y = &a.y, call->x = &a.x, call->lengths = a.lengths;
  call->x_zero_point = a.x_zero_point, call->multiplier = a.multiplier, call->multiplier_shift = a.shift;
  call->row.stride = a.x.token_stride, call->row.dim = a.dim, call->row.y_zero_point = a.y_zero_point;
  return FOVEA_OK;
}

}  // namespace fovea

FOVEA_C_CALL_(fovea_integer_norm, fovea_integer_norm_args, resolve_integer_norm, run_integer_norm)
FOVEA_C_CALL_(fovea_integer_add, fovea_integer_binary_args, resolve_integer_sum, run_integer_sum)
FOVEA_C_CALL_(fovea_integer_multiply, fovea_integer_binary_args, resolve_integer_product, run_integer_product)
FOVEA_C_CALL_(fovea_integer_activation, fovea_integer_activation_args, resolve_integer_activation, run_integer_activation)
FOVEA_C_CALL_(fovea_integer_hard_swish, fovea_integer_hard_swish_args, resolve_integer_hard_swish, run_integer_hard_swish)
FOVEA_C_CALL_(fovea_integer_mean, fovea_integer_mean_args, resolve_integer_mean, run_integer_mean)

extern "C" fovea_status fovea_integer_argmax(const int8_t* x, uint32_t count, uint32_t* index) {
  if (fovea::kHasChecks) FOVEA_RETURN_IF_ERROR(fovea::check_select(x, sizeof *x, count, 1, index));
  *index = fovea::largest_of(x, count);
  return FOVEA_OK;
}

extern "C" fovea_status fovea_integer_top_k(const int8_t* x, uint32_t count, uint32_t k, uint32_t* indices) {
  if (fovea::kHasChecks) FOVEA_RETURN_IF_ERROR(fovea::check_select(x, sizeof *x, count, k, indices));
  fovea::largest_k_of(x, count, k, indices);
  return FOVEA_OK;
}
