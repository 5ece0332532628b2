// SPDX-License-Identifier: Apache-2.0
#include "ground/base/arithmetic.h"
#include "layers/linear/resolve.h"

#include "fovea/fovea.h"
#include "ground/base/buffers.h"
#include "ground/base/carver.h"
#include "ground/base/key_places.h"
#include "ground/base/numbers.h"
#include "ground/base/tasks.h"
#include "ground/formats/checks.h"
#include "ground/targets/registry.h"
#include "layers/linear/call.h"
#include "layers/norm/call.h"

namespace fovea {
namespace {

// With an executor, a task has about this many outputs: enough to be worth the transposition of its tokens.
constexpr uint32_t kTaskOutputs = 256;

bool is_f16(const fovea_linear_args& a) { return kHasF16Linear && a.compute == FOVEA_COMPUTE_F16; }

// Checks the arithmetic, and the formats of x and y.
fovea_status check_compute(const fovea_linear_args& a) {
  const bool codes_in = a.x_dtype == FOVEA_I8, codes_out = a.y_dtype == FOVEA_I8;
  const bool one_scale = codes_in && a.x_scales_stride == 0, grouped = is_one_of<kI8GroupedFormats>(a.weights.dtype);
  const bool halves_in = is_f16(a) && a.x_dtype == FOVEA_F16;
  if ((a.x_dtype != FOVEA_F32 && !codes_in && !halves_in) || (a.y_dtype != FOVEA_F32 && !codes_out)) {
    return FOVEA_ERR_UNSUPPORTED;
  }
  if (a.compute == FOVEA_COMPUTE_F16 && !(is_f16(a) && a.weights.dtype == FOVEA_F16 && !codes_in && !codes_out)) {
    return FOVEA_ERR_UNSUPPORTED;
  }
  if (a.compute == FOVEA_COMPUTE_F32 && (codes_in || codes_out)) return FOVEA_ERR_UNSUPPORTED;
  if (a.compute == FOVEA_COMPUTE_I8 && a.weights.dtype != FOVEA_I8 && !grouped) return FOVEA_ERR_UNSUPPORTED;
  if ((!codes_in && (a.x_scales || a.x_scales_stride != 0 || a.x_zero_point != 0)) ||
      (!codes_out && (a.y_scale != 0.0f || a.y_zero_point != 0)) ||
      (a.weights.bias_i32 && (!one_scale || grouped || a.weights.bias))) {
    return FOVEA_ERR_UNSUPPORTED;
  }
  if (!is_i8_code(a.x_zero_point) || !is_i8_code(a.y_zero_point)) return FOVEA_ERR_NUMBER;
  return codes_out && !is_scale(a.y_scale) ? FOVEA_ERR_NUMBER : FOVEA_OK;
}

fovea_status check_linear_shape(const fovea_linear_args& a) {
  FOVEA_RETURN_IF_ERROR(check_struct(a));
  if (a.weights.reserved) return FOVEA_ERR_STRUCT;
  if (!is_target(a.target) || !is_dtype(a.weights.dtype)) return FOVEA_ERR_ENUM;
  if (!is_dtype(a.x_dtype) || !is_dtype(a.y_dtype) || uint32_t(a.compute) > FOVEA_COMPUTE_F16) return FOVEA_ERR_ENUM;
  if (a.processor_features & ~kNamedFeatures) return FOVEA_ERR_ENUM;
  FOVEA_RETURN_IF_ERROR(check_activation(a.activation));
  if (!kActivates && a.activation != FOVEA_ACTIVATION_IDENTITY) return FOVEA_ERR_LEFT_OUT;
  if (!format_served(a.weights.dtype)) return FOVEA_ERR_LEFT_OUT;
  if (!kHasF16Linear && a.compute == FOVEA_COMPUTE_F16) return FOVEA_ERR_LEFT_OUT;
  if (!kHasI8Linear && a.compute == FOVEA_COMPUTE_I8) return FOVEA_ERR_LEFT_OUT;
  FOVEA_RETURN_IF_ERROR(check_compute(a));
  if (a.in_dim == 0 || a.out_dim == 0) return FOVEA_ERR_DIM;
  const uint32_t most_inputs = a.compute == FOVEA_COMPUTE_I8 ? kMostI8Inputs : INT32_MAX;
  if (a.tokens > kMostTokens || a.in_dim > most_inputs || a.out_dim > INT32_MAX) return FOVEA_ERR_SIZE;
  return check_executor(a.executor, kMostWorkers);
}

fovea_status check_linear_arrays(const fovea_linear_args& a, size_t needed_bytes, const void* workspace,
                                 size_t workspace_bytes) {
  const fovea_linear_weights& w = a.weights;
  const bool scaled = scale_bytes(w.dtype) != 0;
  if (a.tokens == 0) return FOVEA_OK;
  if ((scaled && !w.scales) || (needed_bytes && !workspace)) return FOVEA_ERR_NULL;
  if (a.x_dtype == FOVEA_I8 && !a.x_scales) return FOVEA_ERR_NULL;
  if (!scaled && w.scales) return FOVEA_ERR_UNSUPPORTED;
  if (!is_aligned(workspace, FOVEA_WORKSPACE_ALIGNMENT)) return FOVEA_ERR_ALIGNMENT;
  if (workspace_bytes < needed_bytes) return FOVEA_ERR_WORKSPACE;

  Buffers buffers;
  buffers.add_memory(workspace, workspace ? workspace_bytes : 0);
  buffers.add_output({a.y, 0, 0, a.y_stride}, unit_bytes(a.y_dtype), {1, 1, a.tokens}, a.out_dim);
  buffers.add_input({a.x, 0, 0, a.x_stride}, unit_bytes(a.x_dtype), {1, 1, a.tokens}, a.in_dim);
  const fovea_in x_scales = {a.x_scales, 0, 0, a.x_scales_stride};
  if (a.x_scales) buffers.add_input(x_scales, sizeof(float), {1, 1, a.tokens}, 1);
  return add_weights(buffers, w, a.in_dim, a.out_dim);
}

// The bytes of the largest tile of a plan.
CheckedSize tile_bytes(const fovea_linear_args& a, const LinearPlan& plan) {
  if (kHasI8Linear && a.compute == FOVEA_COMPUTE_I8) {
    I8TokenTile tile;
    tile.in_dim = a.in_dim;
    tile.columns = i8_columns(plan.dot, plan.tile_vectors * plan.lanes);
    return place_i8_token_tile(nullptr, plan, &tile);
  }
  TokenTile tile;
  tile.in_dim = a.in_dim;
  tile.columns = plan.tile_vectors * plan.lanes;
  tile.halves = is_f16(a) && plan.dot != 0;
  tile.few = kFewHalvesServed && plan.few;
  return place_token_tile(nullptr, a.weights.dtype, &tile);
}

// For checked arguments.
fovea_status plan_for(const fovea_linear_args& a, const TargetTraits& traits, bool halves, LinearPlan* plan) {
  const bool i8 = kHasI8Linear && a.compute == FOVEA_COMPUTE_I8;
  const bool few = config::kFewRows && a.tokens <= traits.few_rows();
  const DotTraits& dot = kDotTraits[kHasMaddubs ? i8_dot(traits.dot, traits.lanes, few, a.weights.dtype) : traits.dot];
  const bool grouped = i8 && is_one_of<kI8GroupedFormats>(a.weights.dtype);
  const uint32_t workers = a.executor ? a.executor->workers : 1;
  const size_t scaled_groups = grouped ? a.x_dtype == FOVEA_F32 ? groups_of(a.in_dim) : 1 : 0;
  const uint32_t sum_step = kI8SuperFormats ? uint32_t(scale_step(a.weights.dtype)) : 0;
  const DotKind kind = is_f16(a) ? DotKind(halves) : i8_dot(traits.dot, traits.lanes, few, a.weights.dtype);
  *plan = {traits.target, kind, false, uint32_t(scaled_groups), sum_step, traits.lanes, 0, workers, 0};
  if (!i8 && !is_f16(a) && few && !a.portable_bits) return FOVEA_OK;
  if (i8 && few && (grouped ? dot.few_groups : dot.few_rows)) {
    plan->few = true;
    plan->lanes = 1;
    plan->tile_vectors = a.tokens ? a.tokens : 1;
  } else if (i8) {
    // Twice a register block where weights are brought, or codes of groups for wide vectors, so that each is used more
    // often.
    const uint32_t blocks = grouped ? traits.lanes > 4 ? 2 : 1 : kI8TilesHaveBlocks ? dot.blocks : 1;
    plan->tile_vectors = (dot.vectors ? dot.vectors : traits.tile_vectors) * blocks;
  } else if (kFewHalvesServed && halves && has_few_halves(2 * traits.lanes) && a.tokens <= kMostFewHalfTokens) {
    plan->few = true;
    plan->lanes = 1;
    plan->tile_vectors = a.tokens ? a.tokens : 1;
  } else if (kHasF16Linear && halves) {
    plan->lanes = 2 * traits.lanes;
    plan->tile_vectors = half_vectors(traits.target);
  } else {
    // Twice a register block where weights are widened, so that each widened weight is used more often.
    plan->tile_vectors = traits.tile_vectors * (a.weights.dtype == FOVEA_F32 ? 1 : 2);
  }

  // As many vectors of tokens as the call has and the budget allows.
  const size_t budget = a.workspace_budget_bytes ? a.workspace_budget_bytes / plan->workers : SIZE_MAX;
  while (plan->tile_vectors > 1 && (plan->tile_vectors - 1) * plan->lanes >= a.tokens) --plan->tile_vectors;
  CheckedSize bytes;
  while (bytes = tile_bytes(a, *plan), bytes.overflow || bytes.value > budget) {
    if (--plan->tile_vectors == 0) return bytes.overflow ? FOVEA_ERR_SIZE : FOVEA_ERR_BUDGET;
  }
  plan->worker_bytes = bytes.value;
  return bytes.times(plan->workers).overflow ? FOVEA_ERR_SIZE : FOVEA_OK;
}

// ReLU and ReLU6 are limits of outputs, and the code of a limited output is the limited code: a quotient is not less for a
// larger output, and 0 / scale is 0.
void limit_outputs(const fovea_linear_args& a, I8Outputs* out) {
  OutputLimits limits = {float(-128 - a.y_zero_point), float(127 - a.y_zero_point)};
  const bool is_relu6 = a.activation == FOVEA_ACTIVATION_RELU6;
  if (a.y_dtype == FOVEA_I8 && (is_relu6 || a.activation == FOVEA_ACTIVATION_RELU)) {
    out->activation = FOVEA_ACTIVATION_IDENTITY;
    limits.least = 0.0f;
    const float six = 6.0f / a.y_scale;
    if (is_relu6 && six < limits.most) limits.most = six;
  }
  out->limits = limits;
}

}  // namespace

fovea_status plan_linear(const fovea_linear_args& a, LinearPlan* plan) {
  FOVEA_RETURN_IF_ERROR(check_linear_shape(a));
  const TargetTraits* traits = resolve_target(a.target, a.processor_features);
  const bool here = traits;
  if (!here) traits = target_traits(a.target);
  if (!traits) return FOVEA_ERR_TARGET;
  const bool halves = is_f16(a) && (here ? has_halves(*traits, a.processor_features) : may_have_halves(*traits));
  FOVEA_RETURN_IF_ERROR(plan_for(a, *traits, halves, plan));
  if (!halves || here || traits->target == FOVEA_TARGET_HELIUM) return FOVEA_OK;
  // Another machine may have arithmetic of halves or not.
  LinearPlan without;
  FOVEA_RETURN_IF_ERROR(plan_for(a, *traits, false, &without));
  if (without.worker_bytes > plan->worker_bytes) *plan = without;
  return FOVEA_OK;
}

fovea_status resolve_linear(const fovea_linear_args& a, void* workspace, size_t workspace_bytes, LinearCall* call) {
  FOVEA_RETURN_IF_ERROR(plan_linear(a, &call->plan));
  const LinearPlan& plan = call->plan;
  if (!resolve_target(plan.target, a.processor_features)) return FOVEA_ERR_TARGET;
  FOVEA_RETURN_IF_ERROR(check_linear_arrays(a, plan.worker_bytes * plan.workers, workspace, workspace_bytes));
  call->kernels = &linear_kernels(plan.target);
  call->i8 = nullptr, call->f16 = nullptr;
  if (is_f16(a)) {
    call->f16 = &f16_linear_kernels(plan.target).list[plan.few ? uint32_t(kFewHalves) : uint32_t(plan.dot)];
    call->inputs.dtype = a.x_dtype;
  }
  if (kHasI8Linear && a.compute == FOVEA_COMPUTE_I8) {
    call->i8 = &i8_linear_kernels(plan.target).list[dot_row(plan.dot)][plan.few ? kI8FewTokens : kI8TokenTile];
    call->inputs = {a.x_dtype, a.x_zero_point, a.x_scales, a.x_scales_stride};
    call->outputs = {a.y_dtype, a.y_zero_point, a.y_scale, a.activation, {}};
    if (kLimitsOutputs) limit_outputs(a, &call->outputs);
  }
  call->activation = a.activation;
  if (kActivates) call->activation_kernels = &activation_kernels(plan.target);
  call->tokens = a.tokens, call->in_dim = a.in_dim, call->out_dim = a.out_dim;
  call->x = a.x, call->y = a.y;
  call->x_stride = a.x_stride, call->y_stride = a.y_stride;
  call->weights = a.weights;
  call->executor = a.executor;
  call->workspace = static_cast<char*>(workspace);
  call->vectors = divide_up(a.tokens, plan.lanes);
  call->tiles = divide_up(call->vectors, plan.tile_vectors ? plan.tile_vectors : UINT32_MAX);
  call->parts = a.executor ? divide_up(a.out_dim, kTaskOutputs) : 1;
  return FOVEA_OK;
}

}  // namespace fovea

extern "C" fovea_status fovea_linear_workspace_bytes(const fovea_linear_args* args, size_t* bytes) {
  return fovea::plan_and_write(args, fovea::plan_linear, bytes, [](auto& p) { return p.worker_bytes * p.workers; });
}

extern "C" fovea_status fovea_linear(const fovea_linear_args* args, void* workspace, size_t workspace_bytes) {
  if (!args) return FOVEA_ERR_NULL;
  fovea::LinearCall call;
  const fovea_status status = fovea::resolve_linear(*args, workspace, workspace_bytes, &call);
  return status == FOVEA_OK ? fovea::run_linear(call) : status;
}
