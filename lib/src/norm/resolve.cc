// SPDX-License-Identifier: Apache-2.0
#include "base/arithmetic.h"
#include "norm/resolve.h"

#include "base/buffers.h"
#include "base/finite.h"
#include "base/status.h"
#include "targets/registry.h"

namespace fovea {
namespace {

fovea_status check(const fovea_activation_args& a, const NormKernels** kernels) {
  if (a.struct_bytes != sizeof a) return FOVEA_ERR_STRUCT;
  if (uint32_t(a.activation) > FOVEA_ACTIVATION_SIGMOID) return FOVEA_ERR_ENUM;
  const TargetTraits* traits;
  FOVEA_RETURN_IF_ERROR(find_target(a.target, &traits));
  *kernels = &norm_kernels(traits->target);
  if (a.dim == 0) return FOVEA_ERR_DIM;
  if (!is_finite(a.alpha)) return FOVEA_ERR_NUMBER;
  if (a.batch == 0 || a.heads == 0 || a.tokens == 0) return FOVEA_OK;
  Buffers buffers;
  FOVEA_RETURN_IF_ERROR(buffers.add_output(a.y, sizeof(float), a.batch, a.heads, a.tokens, a.dim));
  FOVEA_RETURN_IF_ERROR(buffers.add_in_place(a.y, a.x, a.batch, a.heads, a.tokens, a.dim));
  return a.factor.data ? buffers.add_in_place(a.y, a.factor, a.batch, a.heads, a.tokens, a.dim) : FOVEA_OK;
}

fovea_status check(const fovea_norm_args& a, const NormKernels** kernels) {
  if (a.struct_bytes != sizeof a) return FOVEA_ERR_STRUCT;
  if (uint32_t(a.norm) > FOVEA_NORM_L2) return FOVEA_ERR_ENUM;
  if (a.gate.data && (uint32_t(a.gate_order) > FOVEA_NORM_GATE_BEFORE ||
                      uint32_t(a.gate_activation) > FOVEA_ACTIVATION_SIGMOID)) {
    return FOVEA_ERR_ENUM;
  }
  const TargetTraits* traits;
  FOVEA_RETURN_IF_ERROR(find_target(a.target, &traits));
  *kernels = &norm_kernels(traits->target);
  if (a.dim == 0) return FOVEA_ERR_DIM;
  if (!(a.epsilon >= 0.0f) || !is_finite(a.epsilon) || !is_finite(a.weight_offset)) return FOVEA_ERR_NUMBER;
  if (!a.weight && a.weight_offset != 0.0f) return FOVEA_ERR_NULL;
  if (a.batch == 0 || a.heads == 0 || a.tokens == 0) return FOVEA_OK;
  Buffers buffers;
  FOVEA_RETURN_IF_ERROR(buffers.add_output(a.y, sizeof(float), a.batch, a.heads, a.tokens, a.dim));
  FOVEA_RETURN_IF_ERROR(buffers.add_in_place(a.y, a.x, a.batch, a.heads, a.tokens, a.dim));
  const fovea_in weights = {a.weight, 0, a.weight_head_stride, 0};
  if (a.weight) FOVEA_RETURN_IF_ERROR(buffers.add_input(weights, sizeof(float), 1, a.heads, 1, a.dim));
  return a.gate.data ? buffers.add_input(a.gate, sizeof(float), a.batch, a.heads, a.tokens, a.dim) : FOVEA_OK;
}

}  // namespace

fovea_status resolve_activation(const fovea_activation_args& a, ActivationCall* call) {
  call->rows.batch = 0;
  FOVEA_RETURN_IF_ERROR(check(a, &call->kernels));
  if (a.heads == 0 || a.tokens == 0) return FOVEA_OK;
  call->rows = {a.batch, a.heads, a.tokens};
  call->dim = a.dim;
  call->alpha = a.alpha == 0.0f ? 1.0f : a.alpha;
  call->sigmoid = a.activation == FOVEA_ACTIVATION_SIGMOID;
  call->y = &a.y, call->x = &a.x, call->factor = &a.factor;
  return FOVEA_OK;
}

fovea_status resolve_norm(const fovea_norm_args& a, NormCall* call) {
  call->rows.batch = 0;
  FOVEA_RETURN_IF_ERROR(check(a, &call->kernels));
  if (a.heads == 0 || a.tokens == 0) return FOVEA_OK;
  call->rows = {a.batch, a.heads, a.tokens};
  call->dim = a.dim;
  call->divisor = a.norm == FOVEA_NORM_RMS ? float(a.dim) : 1.0f;
  call->epsilon = a.epsilon, call->weight_offset = a.weight_offset;
  call->y = &a.y, call->x = &a.x, call->gate = &a.gate;
  call->gate_order = a.gate_order, call->gate_activation = a.gate_activation;
  call->weight = a.weight, call->weight_head_stride = a.weight_head_stride;
  return FOVEA_OK;
}

}  // namespace fovea
