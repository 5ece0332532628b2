// SPDX-License-Identifier: Apache-2.0
#include "linear/resolve.h"

#include "base/buffers.h"
#include "formats/formats.h"
#include "targets/registry.h"

namespace fovea {
namespace {

constexpr uint32_t kMostTokens = 1u << 30;

fovea_status check_shape(const fovea_linear_args& a) {
  if (a.struct_bytes != sizeof(fovea_linear_args)) return FOVEA_ERR_STRUCT;
  if (!is_target(a.target) || uint32_t(a.weights.dtype) > FOVEA_I4) return FOVEA_ERR_ENUM;
  if (a.weights.dtype == FOVEA_I4 || !format_served(a.weights.dtype)) return FOVEA_ERR_UNSUPPORTED;
  if (a.in_dim == 0 || a.out_dim == 0) return FOVEA_ERR_DIM;
  if (a.tokens > kMostTokens || a.in_dim > INT32_MAX || a.out_dim > INT32_MAX) return FOVEA_ERR_SIZE;
  if (!a.executor) return FOVEA_OK;
  if (!config::kExecutor) return FOVEA_ERR_UNSUPPORTED;
  if (!a.executor->run) return FOVEA_ERR_NULL;
  return a.executor->workers == 0 || a.executor->workers > kMostWorkers ? FOVEA_ERR_CAPACITY : FOVEA_OK;
}

}  // namespace

fovea_status plan_linear(const fovea_linear_args& a, LinearPlan* plan) {
  fovea_status status = check_shape(a);
  if (status != FOVEA_OK) return status;
  const TargetTraits* traits = resolve_target(a.target);
  if (!traits) traits = target_traits(a.target);
  if (!traits) return FOVEA_ERR_TARGET;
  *plan = {traits->target, traits->lanes, 0, a.executor ? a.executor->workers : 1, 0};
  if (config::kFewRows && !a.portable_bits && a.tokens <= traits->few_rows) return FOVEA_OK;

  // As many vectors of tokens as there are, and as fit. More than a register block where weights are widened for them.
  const size_t budget = a.workspace_budget_bytes ? a.workspace_budget_bytes / plan->workers : SIZE_MAX;
  plan->tile_vectors = traits->tile_vectors * (a.weights.dtype == FOVEA_F32 ? 1 : 2);
  while (plan->tile_vectors > 1 && (plan->tile_vectors - 1) * traits->lanes >= a.tokens) --plan->tile_vectors;
  CheckedSize bytes;
  while (bytes = measure_token_tile(a, size_t(plan->tile_vectors) * traits->lanes),
         bytes.overflow || bytes.value > budget) {
    if (--plan->tile_vectors == 0) return bytes.overflow ? FOVEA_ERR_SIZE : FOVEA_ERR_BUDGET;
  }
  plan->worker_bytes = bytes.value;
  return bytes.times(plan->workers).overflow ? FOVEA_ERR_SIZE : FOVEA_OK;
}

fovea_status check_linear_args(const fovea_linear_args& a, const LinearPlan& plan, const void* workspace,
                               size_t workspace_bytes) {
  if (!target_available(plan.target)) return FOVEA_ERR_TARGET;
  const fovea_linear_weights& w = a.weights;
  const bool scaled = scale_bytes(w.dtype) != 0;
  const size_t needed = plan.worker_bytes * plan.workers;
  if (a.tokens == 0) return FOVEA_OK;
  if ((scaled && !w.scales) || (needed && !workspace)) return FOVEA_ERR_NULL;
  if (!scaled && w.scales) return FOVEA_ERR_UNSUPPORTED;
  if (!is_aligned(workspace, FOVEA_WORKSPACE_ALIGNMENT)) return FOVEA_ERR_ALIGNMENT;
  if (workspace_bytes < needed) return FOVEA_ERR_WORKSPACE;

  Buffers buffers;
  FOVEA_RETURN_IF_ERROR(buffers.add_memory(workspace, workspace ? workspace_bytes : 0));
  FOVEA_RETURN_IF_ERROR(buffers.add_output({a.y, 0, 0, a.y_stride}, sizeof(float), 1, 1, a.tokens, a.out_dim));
  FOVEA_RETURN_IF_ERROR(buffers.add_input({a.x, 0, 0, a.x_stride}, sizeof(float), 1, 1, a.tokens, a.in_dim));
  const fovea_in rows = {w.data, 0, 0, w.row_stride};
  FOVEA_RETURN_IF_ERROR(buffers.add_input(rows, unit_bytes(w.dtype), 1, 1, a.out_dim, a.in_dim));
  FOVEA_RETURN_IF_ERROR(buffers.add_list(w.scales, sizeof(float), a.out_dim));
  return buffers.add_list(w.bias, sizeof(float), a.out_dim);
}

}  // namespace fovea
