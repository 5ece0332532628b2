// SPDX-License-Identifier: Apache-2.0
#include "plan/linear_check.h"

#include "kernels/convert_table.h"
#include "plan/memory.h"
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

  struct Array {
    const void* data;
    size_t element_bytes, count;
    ptrdiff_t stride;
    size_t dim;
  };
  const Array arrays[] = {
      {a.y, sizeof(float), a.tokens, a.y_stride, a.out_dim},
      {a.x, sizeof(float), a.tokens, a.x_stride, a.in_dim},
      {w.data, unit_bytes(w.dtype), a.out_dim, w.row_stride, a.in_dim},
      {w.scales, sizeof(float), 1, 0, w.scales ? a.out_dim : 0u},
      {w.bias, sizeof(float), 1, 0, w.bias ? a.out_dim : 0u},
  };
  const uintptr_t memory = reinterpret_cast<uintptr_t>(workspace);
  Span taken[2] = {{memory, memory}, {}};  // what is written: the workspace and y
  if (__builtin_add_overflow(memory, workspace ? workspace_bytes : 0, &taken[0].end)) return FOVEA_ERR_SIZE;
  for (const Array& array : arrays) {
    const bool output = &array == arrays;
    const Dimensions dimensions = {{1, 0}, {1, 0}, {array.count, array.stride}, {array.dim, 1}};
    Span span;
    const fovea_status status = check_array(array.data, array.element_bytes, dimensions, output, &span);
    if (status != FOVEA_OK) return status;
    if (span.overlaps(taken[0]) || span.overlaps(taken[1])) return FOVEA_ERR_OVERLAP;
    if (output) taken[1] = span;
  }
  return FOVEA_OK;
}

}  // namespace fovea
