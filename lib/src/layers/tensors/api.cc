// SPDX-License-Identifier: Apache-2.0
#include "ground/base/arithmetic.h"
#include "fovea/fovea.h"
#include "ground/base/status.h"
#include "layers/tensors/call.h"
#include "layers/tensors/resolve.h"

extern "C" fovea_status fovea_add(const fovea_pair_args* args) {
  if (!args) return FOVEA_ERR_NULL;
  fovea::PairCall call;
  FOVEA_RETURN_IF_ERROR(fovea::resolve_pair(*args, &call));
  if (call.batch > 0) fovea::run_pair(&call, false);
  return FOVEA_OK;
}

extern "C" fovea_status fovea_multiply(const fovea_pair_args* args) {
  if (!args) return FOVEA_ERR_NULL;
  fovea::PairCall call;
  FOVEA_RETURN_IF_ERROR(fovea::resolve_pair(*args, &call));
  if (call.batch > 0) fovea::run_pair(&call, true);
  return FOVEA_OK;
}

extern "C" fovea_status fovea_pooling(const fovea_pooling_args* args) {
  if (!args) return FOVEA_ERR_NULL;
  fovea::PoolingCall call;
  FOVEA_RETURN_IF_ERROR(fovea::resolve_pooling(*args, &call));
  fovea::run_pooling(&call);
  return FOVEA_OK;
}

extern "C" fovea_status fovea_embedding(const fovea_embedding_args* args) {
  if (!args) return FOVEA_ERR_NULL;
  fovea::EmbeddingCall call;
  FOVEA_RETURN_IF_ERROR(fovea::resolve_embedding(*args, &call));
  fovea::run_embedding(call);
  return FOVEA_OK;
}

extern "C" fovea_status fovea_argmax(const float* x, uint32_t count, uint32_t* index) {
  FOVEA_RETURN_IF_ERROR(fovea::check_select(x, sizeof *x, count, 1, index));
  *index = fovea::largest_of(x, count);
  return FOVEA_OK;
}

extern "C" fovea_status fovea_top_k(const float* x, uint32_t count, uint32_t k, uint32_t* indices) {
  FOVEA_RETURN_IF_ERROR(fovea::check_select(x, sizeof *x, count, k, indices));
  fovea::largest_k_of(x, count, k, indices);
  return FOVEA_OK;
}
