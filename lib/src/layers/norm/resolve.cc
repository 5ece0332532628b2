// SPDX-License-Identifier: Apache-2.0
#include "ground/base/arithmetic.h"
#include "layers/norm/call.h"

#include "fovea/fovea.h"
#include "ground/base/buffers.h"
#include "ground/base/numbers.h"
#include "ground/base/status.h"
#include "ground/formats/checks.h"
#include "ground/targets/registry.h"

namespace fovea {
namespace {

fovea_status check(const fovea_activation_args& a, fovea_target* target) {
  FOVEA_RETURN_IF_ERROR(check_struct(a));
  FOVEA_RETURN_IF_ERROR(check_activation(a.activation));
  FOVEA_RETURN_IF_ERROR(check_unscaled(a.x_dtype));
  FOVEA_RETURN_IF_ERROR(check_unscaled(a.y_dtype));
  const TargetTraits* traits;
  FOVEA_RETURN_IF_ERROR(find_target(a.target, &traits));
  *target = traits->target;
  if (a.dim == 0 || a.heads == 0) return FOVEA_ERR_DIM;
  if (!is_finite(a.alpha)) return FOVEA_ERR_NUMBER;
  const bool scales = a.activation == FOVEA_ACTIVATION_SILU || a.activation == FOVEA_ACTIVATION_SIGMOID;
  if (a.alpha != 0.0f && !scales) return FOVEA_ERR_UNSUPPORTED;
  const RowCounts rows = counts_of(a);
  if (rows.batch == 0) return FOVEA_OK;
  const size_t x = unscaled_bytes(a.x_dtype), y = unscaled_bytes(a.y_dtype);
  Buffers buffers;
  buffers.add_output(a.y, y, rows, a.dim);
  buffers.add_in_place(a.y, y, a.x, x, rows, a.dim);
  if (!a.factor.data) return buffers.status();
  return buffers.add_in_place(a.y, y, a.factor, x, rows, a.dim);
}

fovea_status check_norm_options(const fovea_norm_args& a) {
  FOVEA_RETURN_IF_ERROR(check_struct(a));
  if (uint32_t(a.norm) > FOVEA_NORM_LAYER) return FOVEA_ERR_ENUM;
  if (a.gate.data) {
    if (uint32_t(a.gate_order) > FOVEA_NORM_GATE_BEFORE) return FOVEA_ERR_ENUM;
    FOVEA_RETURN_IF_ERROR(check_activation(a.gate_activation));
  }
  FOVEA_RETURN_IF_ERROR(check_unscaled(a.x_dtype));
  FOVEA_RETURN_IF_ERROR(check_unscaled(a.y_dtype));
  FOVEA_RETURN_IF_ERROR(check_unscaled(a.residual_dtype));
  if (!kLayerNorm && a.norm == FOVEA_NORM_LAYER) return FOVEA_ERR_LEFT_OUT;
  return !kResidual && (a.residual.data || a.sum.data) ? FOVEA_ERR_LEFT_OUT : FOVEA_OK;
}

// x and the residual may each be the same array as y or sum.
fovea_status check_norm_arrays(const fovea_norm_args& a, const RowCounts& rows) {
  const size_t x = unscaled_bytes(a.x_dtype), y = unscaled_bytes(a.y_dtype), r = unscaled_bytes(a.residual_dtype);
  Buffers buffers;
  buffers.add_output(a.y, y, rows, a.dim);
  if (kResidual && a.sum.data) buffers.add_output(a.sum, r, rows, a.dim);
  const auto add = [&](const fovea_in& array, size_t unit) {
    if (kResidual && a.sum.data && Buffers::is_in_place(a.sum, r, array, unit, rows)) {
      return;
    }
    buffers.add_in_place(a.y, y, array, unit, rows, a.dim);
  };
  add(a.x, x);
  if (kResidual && a.residual.data) add(a.residual, r);
  const float* const lists[] = {a.weight, a.bias};
  for (const float* const list : lists) {
    const fovea_in of_heads = {list, 0, a.weight_head_stride, 0};
    if (list) buffers.add_input(of_heads, sizeof(float), {1, a.heads, 1}, a.dim);
  }
  if (a.gate.data) buffers.add_input(a.gate, x, rows, a.dim);
  return buffers.status();
}

fovea_status check(const fovea_norm_args& a, RowCounts* rows, fovea_target* target) {
  FOVEA_RETURN_IF_ERROR(check_norm_options(a));
  const TargetTraits* traits;
  FOVEA_RETURN_IF_ERROR(find_target(a.target, &traits));
  *target = traits->target;
  if (a.dim == 0 || a.heads == 0) return FOVEA_ERR_DIM;
  if (!(a.epsilon >= 0.0f) || !is_finite(a.epsilon) || !is_finite(a.weight_offset)) return FOVEA_ERR_NUMBER;
  if ((!a.weight && a.weight_offset != 0.0f) || (a.sum.data && !a.residual.data)) return FOVEA_ERR_NULL;
  *rows = counts_of(a);
  return rows->batch == 0 ? FOVEA_OK : check_norm_arrays(a, *rows);
}

}  // namespace

fovea_status check_activation(fovea_activation_kind kind) {
  if (uint32_t(kind) > FOVEA_ACTIVATION_TANH) return FOVEA_ERR_ENUM;
  const bool left_out =
      (!config::kGelu && kind == FOVEA_ACTIVATION_GELU) || (!config::kTanh && kind == FOVEA_ACTIVATION_TANH);
  return left_out ? FOVEA_ERR_LEFT_OUT : FOVEA_OK;
}

fovea_status resolve_activation(const fovea_activation_args& a, ActivationCall* call) {
  fovea_target target;
  FOVEA_RETURN_IF_ERROR(check(a, &target));
  call->rows = counts_of(a);
  call->kernels = &activation_kernels(target);
  call->plain = &plain_kernels(target);
  call->dim = a.dim;
  call->kind = a.activation;
  call->alpha = a.alpha == 0.0f ? 1.0f : a.alpha;
  call->x_dtype = a.x_dtype, call->y_dtype = a.y_dtype;
  call->y = &a.y, call->x = &a.x, call->factor = &a.factor;
  return FOVEA_OK;
}

fovea_status resolve_norm(const fovea_norm_args& a, NormCall* call) {
  fovea_target target;
  FOVEA_RETURN_IF_ERROR(check(a, &call->rows, &target));
  if (call->rows.batch == 0) return FOVEA_OK;
  call->kernels = &norm_kernels(target);
  call->activation = &activation_kernels(target);
  call->plain = &plain_kernels(target);
  call->dim = a.dim;
  call->centered = a.norm == FOVEA_NORM_LAYER;
  call->divisor = a.norm == FOVEA_NORM_L2 ? 1.0f : float(a.dim);
  call->epsilon = a.epsilon, call->weight_offset = a.weight_offset;
  call->x_dtype = a.x_dtype, call->y_dtype = a.y_dtype, call->residual_dtype = a.residual_dtype;
  call->y = &a.y, call->sum = &a.sum;
  call->x = &a.x, call->residual = &a.residual, call->gate = &a.gate;
  call->gate_order = a.gate_order, call->gate_activation = a.gate_activation;
  call->weight = a.weight, call->bias = a.bias, call->weight_head_stride = a.weight_head_stride;
  return FOVEA_OK;
}

}  // namespace fovea

FOVEA_C_CALL_(fovea_activation, fovea_activation_args, resolve_activation, run_activation)
FOVEA_C_CALL_(fovea_norm, fovea_norm_args, resolve_norm, run_norm)
