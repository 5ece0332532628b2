// SPDX-License-Identifier: Apache-2.0
#include "base/arithmetic.h"
#include "norm/resolve.h"

#include "base/buffers.h"
#include "base/finite.h"
#include "base/status.h"
#include "targets/registry.h"

namespace fovea {
namespace {

fovea_status check_target(fovea_target target) {
  if (!is_target(target)) return FOVEA_ERR_ENUM;
  return resolve_target(target) ? FOVEA_OK : FOVEA_ERR_TARGET;
}

}  // namespace

fovea_status check_activation_args(const fovea_activation_args& a) {
  if (a.struct_bytes != sizeof a) return FOVEA_ERR_STRUCT;
  if (uint32_t(a.activation) > FOVEA_ACTIVATION_SIGMOID) return FOVEA_ERR_ENUM;
  FOVEA_RETURN_IF_ERROR(check_target(a.target));
  if (a.dim == 0) return FOVEA_ERR_DIM;
  if (!is_finite(a.alpha)) return FOVEA_ERR_NUMBER;
  if (a.batch == 0 || a.heads == 0 || a.tokens == 0) return FOVEA_OK;
  Buffers buffers;
  FOVEA_RETURN_IF_ERROR(buffers.add_output(a.y, sizeof(float), a.batch, a.heads, a.tokens, a.dim));
  FOVEA_RETURN_IF_ERROR(buffers.add_in_place(a.y, a.x, a.batch, a.heads, a.tokens, a.dim));
  return a.factor.data ? buffers.add_in_place(a.y, a.factor, a.batch, a.heads, a.tokens, a.dim) : FOVEA_OK;
}

fovea_status check_norm_args(const fovea_norm_args& a) {
  if (a.struct_bytes != sizeof a) return FOVEA_ERR_STRUCT;
  if (uint32_t(a.norm) > FOVEA_NORM_L2) return FOVEA_ERR_ENUM;
  if (a.gate.data && (uint32_t(a.gate_order) > FOVEA_NORM_GATE_BEFORE ||
                      uint32_t(a.gate_activation) > FOVEA_ACTIVATION_SIGMOID)) {
    return FOVEA_ERR_ENUM;
  }
  FOVEA_RETURN_IF_ERROR(check_target(a.target));
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

}  // namespace fovea
