// SPDX-License-Identifier: Apache-2.0
#include "ground/base/arithmetic.h"
#include "fovea/fovea.h"
#include "ground/base/status.h"
#include "layers/integer_layers/call.h"
#include "layers/integer_layers/resolve.h"
#include "layers/tensors/call.h"
#include "layers/tensors/resolve.h"

extern "C" fovea_status fovea_integer_norm(const fovea_integer_norm_args* args) {
  if (!args) return FOVEA_ERR_NULL;
  fovea::IntegerNormCall call;
  FOVEA_RETURN_IF_ERROR(fovea::resolve_integer_norm(*args, &call));
  fovea::run_integer_norm(&call);
  return FOVEA_OK;
}

extern "C" fovea_status fovea_integer_add(const fovea_integer_pair_args* args) {
  if (!args) return FOVEA_ERR_NULL;
  fovea::IntegerSumCall call;
  FOVEA_RETURN_IF_ERROR(fovea::resolve_integer_sum(*args, &call));
  fovea::run_integer_sum(&call);
  return FOVEA_OK;
}

extern "C" fovea_status fovea_integer_multiply(const fovea_integer_pair_args* args) {
  if (!args) return FOVEA_ERR_NULL;
  fovea::IntegerProductCall call;
  FOVEA_RETURN_IF_ERROR(fovea::resolve_integer_product(*args, &call));
  fovea::run_integer_product(&call);
  return FOVEA_OK;
}

extern "C" fovea_status fovea_integer_activation(const fovea_integer_activation_args* args) {
  if (!args) return FOVEA_ERR_NULL;
  fovea::IntegerActivationCall call;
  FOVEA_RETURN_IF_ERROR(fovea::resolve_integer_activation(*args, &call));
  fovea::run_integer_activation(call);
  return FOVEA_OK;
}

extern "C" fovea_status fovea_integer_hard_swish(const fovea_integer_hard_swish_args* args) {
  if (!args) return FOVEA_ERR_NULL;
  fovea::IntegerHardSwishCall call;
  FOVEA_RETURN_IF_ERROR(fovea::resolve_integer_hard_swish(*args, &call));
  fovea::run_integer_hard_swish(&call);
  return FOVEA_OK;
}

extern "C" fovea_status fovea_integer_mean(const fovea_integer_mean_args* args) {
  if (!args) return FOVEA_ERR_NULL;
  fovea::IntegerMeanCall call;
  FOVEA_RETURN_IF_ERROR(fovea::resolve_integer_mean(*args, &call));
  fovea::run_integer_mean(&call);
  return FOVEA_OK;
}

extern "C" fovea_status fovea_integer_argmax(const int8_t* x, uint32_t count, uint32_t* index) {
  FOVEA_RETURN_IF_ERROR(fovea::check_select(x, sizeof *x, count, 1, index));
  *index = fovea::largest_of(x, count);
  return FOVEA_OK;
}

extern "C" fovea_status fovea_integer_top_k(const int8_t* x, uint32_t count, uint32_t k, uint32_t* indices) {
  FOVEA_RETURN_IF_ERROR(fovea::check_select(x, sizeof *x, count, k, indices));
  fovea::largest_k_of(x, count, k, indices);
  return FOVEA_OK;
}
