// SPDX-License-Identifier: Apache-2.0
#include "ground/base/arithmetic.h"
#include "layers/delta/state_resolve.h"

#include "fovea/fovea.h"
#include "ground/base/buffers.h"
#include "ground/base/carver.h"
#include "ground/base/key_places.h"
#include "ground/base/numbers.h"
#include "ground/base/tasks.h"
#include "ground/formats/formats.h"
#include "ground/targets/registry.h"

namespace fovea {
namespace {

static_assert(sizeof(DeltaGroup) == FOVEA_DELTA_GROUP_BYTES_, "the macros for static arrays have the same bytes");
template <class Group>
constexpr size_t macro_bytes(uint32_t key_dim, size_t groups, size_t factors) {
  CarvedBytes bytes;
  DeltaScratchOf<Group> scratch = {};
  scratch.place(bytes, key_dim, groups, factors);
  return bytes.bytes;
}
static_assert(macro_bytes<DeltaGroup>(40, 3 * FOVEA_DELTA_GROUPS_, FOVEA_DELTA_FACTORS_(40)) ==
                  FOVEA_DELTA_WORKSPACE_BYTES(40, 3),
              "the macros for static arrays have the same bytes");
static_assert(sizeof(DeltaGiven) == FOVEA_DELTA_GIVEN_GROUP_BYTES_ &&
                  macro_bytes<DeltaGiven>(40, 3 * FOVEA_DELTA_GROUPS_, FOVEA_DELTA_GIVEN_FACTORS_(40)) ==
                      FOVEA_DELTA_GENERAL_WORKSPACE_BYTES(40, 3) - FOVEA_DELTA_WORKSPACE_BYTES(40, 3),
              "the macros for static arrays have the same bytes");

bool is_delta(fovea_delta_rule rule) { return rule == FOVEA_DELTA_RULE_DELTA || rule == FOVEA_DELTA_RULE_GATED_DELTA; }
bool is_gated(fovea_delta_rule rule) {
  return rule == FOVEA_DELTA_RULE_GATED || rule == FOVEA_DELTA_RULE_GATED_DELTA || rule == FOVEA_DELTA_RULE_GENERAL;
}
bool is_general(const fovea_delta_args& a) { return kHasGeneralDelta && a.rule == FOVEA_DELTA_RULE_GENERAL; }

bool divides(uint32_t a, uint32_t b) { return b % a == 0; }

fovea_status check_shape(const fovea_delta_args& a) {
  if (a.struct_bytes != sizeof(fovea_delta_args)) return FOVEA_ERR_STRUCT;
  if (!is_target(a.target) || uint32_t(a.rule) > FOVEA_DELTA_RULE_GENERAL) return FOVEA_ERR_ENUM;
  if (!is_dtype(a.dtype) || !is_dtype(a.out_dtype)) return FOVEA_ERR_ENUM;
  if (!contains(kUnscaledFormats, a.dtype) || !contains(kUnscaledFormats, a.out_dtype)) return FOVEA_ERR_UNSUPPORTED;
  if (!config::kRagged && a.offsets) return FOVEA_ERR_UNSUPPORTED;
  if (!kHasGeneralDelta && a.rule == FOVEA_DELTA_RULE_GENERAL) return FOVEA_ERR_UNSUPPORTED;
  if (a.q_heads == 0 || a.k_heads == 0) return FOVEA_ERR_DIM;
  FOVEA_RETURN_IF_ERROR(check_delta_dims(a.key_dim, a.value_dim, a.v_heads, a.decay_dim));
  if (is_general(a) != is_general_dim(a.key_dim, a.decay_dim)) return FOVEA_ERR_SIZE;
  const bool queries = a.q_heads < a.v_heads ? divides(a.q_heads, a.v_heads) : divides(a.v_heads, a.q_heads);
  if (!queries || !divides(a.k_heads, a.v_heads)) return FOVEA_ERR_HEADS;
  if (a.tokens > kMostTokens) return FOVEA_ERR_SIZE;
  if (!is_finite(a.scale)) return FOVEA_ERR_NUMBER;
  return check_executor(a.executor, kMostWorkers);
}

CheckedSize worker_bytes(const fovea_delta_args& a, const DeltaPlan& plan) {
  const CheckedSize factors = delta_factor_count(plan.lanes, a.key_dim);
  CheckedSize groups{plan.groups};
  groups.times(plan.readers);
  Carver carver(nullptr);
  DeltaScratch scratch;
  scratch.place(carver, a.key_dim, groups.value, factors.value);
  if (is_general(a)) {
    DeltaGivenScratch given;
    given.place(carver, a.key_dim, groups.value, delta_given_count(plan.lanes, a.key_dim).value);
  }
  CheckedSize bytes = carver.slow_bytes();
  bytes.overflow |= factors.overflow || groups.overflow;
  return bytes;
}

fovea_status check_offsets_of(const fovea_delta_args& a) {
  if (!config::kRagged || !a.offsets) return FOVEA_OK;
  if (!is_aligned_to_element(a.offsets, sizeof *a.offsets)) return FOVEA_ERR_ALIGNMENT;
  return check_offsets(a.offsets, a.batch, a.tokens, UINT32_MAX);
}

fovea_status add_workspace(size_t needed_bytes, const void* workspace, size_t workspace_bytes, Buffers* buffers) {
  FOVEA_RETURN_IF_ERROR(check_memory(workspace, workspace_bytes, needed_bytes));
  return buffers->add_memory(workspace, workspace_bytes);
}

// Arrays with ragged entries have a batch of 1.
fovea_status add_arrays(const fovea_delta_args& a, Buffers& buffers) {
  const size_t unit = unit_bytes(a.dtype), batch = a.offsets ? 1 : a.batch;
  const uint32_t out_heads = a.q_heads > a.v_heads ? a.q_heads : a.v_heads;
  const uint32_t decay_dim = a.decay_dim > 1 ? a.key_dim : 1;
  buffers.add_output(a.out, unit_bytes(a.out_dtype), {batch, out_heads, a.tokens}, a.value_dim);
  buffers.add_tokens(a.q, unit, {batch, a.q_heads, a.tokens}, a.key_dim);
  buffers.add_tokens(a.k, unit, {batch, a.k_heads, a.tokens}, a.key_dim);
  buffers.add_tokens(a.v, unit, {batch, a.v_heads, a.tokens}, a.value_dim);
  if (is_gated(a.rule)) buffers.add_input(a.decay, sizeof(float), {batch, a.v_heads, a.tokens}, decay_dim);
  if (is_general(a)) {
    buffers.add_input(a.a, unit, {batch, a.k_heads, a.tokens}, a.key_dim);
    buffers.add_input(a.b, unit, {batch, a.k_heads, a.tokens}, a.key_dim);
  }
  if (is_delta(a.rule)) buffers.add_input(a.beta, sizeof(float), {batch, a.v_heads, a.tokens}, 1);
  return buffers.add_list(a.offsets, sizeof *a.offsets, size_t(a.batch) + 1);
}

// All of the call but its state and workspace.
void fill_call(const fovea_delta_args& a, DeltaCall* call) {
  call->kernels = &delta_kernels(call->plan.target);
  call->entry = a.entry, call->batch = a.tokens == 0 ? 0 : a.batch;
  call->tokens = a.tokens, call->offsets = a.offsets;
  call->key_share = a.v_heads / a.k_heads, call->query_share = a.q_heads < a.v_heads ? a.v_heads / a.q_heads : 1;
  call->dtype = a.dtype, call->out_dtype = a.out_dtype;
  call->out = &a.out, call->q = &a.q, call->k = &a.k, call->v = &a.v;
  call->decay = is_gated(a.rule) ? &a.decay : nullptr, call->beta = is_delta(a.rule) ? &a.beta : nullptr;
  call->a = is_general(a) ? &a.a : nullptr, call->b = is_general(a) ? &a.b : nullptr;
  call->executor = a.executor;
  call->scale = a.scale == 0.0f ? inverse_square_root(a.key_dim) : a.scale;
}

}  // namespace

fovea_status plan_delta(const fovea_delta_args& a, DeltaPlan* plan) {
  FOVEA_RETURN_IF_ERROR(check_shape(a));
  const TargetTraits* traits = resolve_target(a.target);
  if (!traits) traits = target_traits(a.target);
  if (!traits) return FOVEA_ERR_TARGET;
  *plan = {traits->target, traits->lanes, most_delta_groups(traits->lanes), 1, 1, 1, 0};
  if (a.q_heads > a.v_heads) plan->readers = a.q_heads / a.v_heads;
  if (a.executor) plan->workers = a.executor->workers;
  if (size_t(a.batch) * a.v_heads < size_t(2) * plan->workers && a.executor) {
    plan->parts = divide_up(a.value_dim, kPartColumns);
  }
  // No more groups than the call has and the budget allows. A call may begin and end within a group.
  const uint32_t groups = divide_up(a.tokens, kDeltaTokens) + 1;
  if (groups < plan->groups) plan->groups = groups;
  const size_t budget = a.workspace_budget_bytes ? a.workspace_budget_bytes / plan->workers : SIZE_MAX;
  CheckedSize bytes;
  while (bytes = worker_bytes(a, *plan), bytes.overflow || bytes.value > budget) {
    if (--plan->groups == 0) return bytes.overflow ? FOVEA_ERR_SIZE : FOVEA_ERR_BUDGET;
  }
  plan->worker_bytes = bytes.value;
  return bytes.times(plan->workers).overflow ? FOVEA_ERR_SIZE : FOVEA_OK;
}

fovea_status resolve_delta(fovea_delta_state* state, const fovea_delta_args& a, void* workspace, size_t workspace_bytes,
                           DeltaCall* call) {
  FOVEA_RETURN_IF_ERROR(plan_delta(a, &call->plan));
  const DeltaPlan& plan = call->plan;
  if (!resolve_target(plan.target)) return FOVEA_ERR_TARGET;
  FOVEA_RETURN_IF_ERROR(check_delta_state(state));
  const fovea_delta_state& s = *state;
  if (s.v_heads != a.v_heads || s.key_dim != a.key_dim || s.value_dim != a.value_dim ||
      (s.decay_dim > 1 ? s.decay_dim : 1) != (a.decay_dim > 1 ? a.decay_dim : 1)) {
    return FOVEA_ERR_STATE;
  }
  FOVEA_RETURN_IF_ERROR(check_delta_entries(s, a.entry, a.batch));
  FOVEA_RETURN_IF_ERROR(check_offsets_of(a));
  if (a.tokens > 0 && a.batch > 0) {
    Buffers buffers;
    FOVEA_RETURN_IF_ERROR(add_workspace(plan.worker_bytes * plan.workers, workspace, workspace_bytes, &buffers));
    buffers.add_memory(state, delta_state_bytes(s).value);
    FOVEA_RETURN_IF_ERROR(add_arrays(a, buffers));
  }
  call->state = state, call->workspace = static_cast<char*>(workspace);
  fill_call(a, call);
  return FOVEA_OK;
}

fovea_status plan_delta_matrices(const fovea_delta_args& a, DeltaMatricesCall* call) {
  FOVEA_RETURN_IF_ERROR(check_shape(a));
  FOVEA_RETURN_IF_ERROR(make_delta_header(1, 1, a.key_dim, a.value_dim, a.decay_dim, &call->header));
  const CheckedSize state = delta_state_bytes(call->header).aligned();
  const size_t workers = a.executor ? a.executor->workers : 1;
  CheckedSize states = state;
  fovea_delta_args of_rest = a;
  if (states.times(workers).overflow) return FOVEA_ERR_SIZE;
  if (a.workspace_budget_bytes != 0) {
    if (a.workspace_budget_bytes <= states.value) return FOVEA_ERR_BUDGET;
    of_rest.workspace_budget_bytes -= states.value;
  }
  DeltaPlan* const plan = &call->call.plan;
  FOVEA_RETURN_IF_ERROR(plan_delta(of_rest, plan));
  plan->parts = 1;
  CheckedSize bytes = state;
  bytes.plus(plan->worker_bytes);
  call->worker_bytes = bytes.value;
  return bytes.times(workers).overflow ? FOVEA_ERR_SIZE : FOVEA_OK;
}

fovea_status resolve_delta_matrices(const fovea_delta_args& a, const fovea_in* before, const fovea_out* after,
                                    void* workspace, size_t workspace_bytes, DeltaMatricesCall* call) {
  if (!after) return FOVEA_ERR_NULL;
  FOVEA_RETURN_IF_ERROR(plan_delta_matrices(a, call));
  const DeltaPlan& plan = call->call.plan;
  if (!resolve_target(plan.target)) return FOVEA_ERR_TARGET;
  FOVEA_RETURN_IF_ERROR(check_offsets_of(a));
  if (a.batch > 0) {
    Buffers buffers;
    const size_t bytes = call->worker_bytes * plan.workers;
    FOVEA_RETURN_IF_ERROR(add_workspace(bytes, workspace, workspace_bytes, &buffers));
    buffers.add_output(*after, sizeof(float), {a.batch, a.v_heads, a.key_dim}, a.value_dim);
    add_arrays(a, buffers);
    if (before) {
      buffers.add_in_place(*after, sizeof(float), *before, sizeof(float), {a.batch, a.v_heads, a.key_dim}, a.value_dim);
    }
    FOVEA_RETURN_IF_ERROR(buffers.status());
  }
  call->v_heads = a.v_heads, call->before = before, call->after = after;
  call->call.workspace = static_cast<char*>(workspace);
  fill_call(a, &call->call);
  call->call.batch = a.batch;
  return FOVEA_OK;
}

}  // namespace fovea

extern "C" size_t fovea_delta_workspace_bytes(const fovea_delta_args* args) {
  fovea::DeltaPlan plan;
  return args && fovea::plan_delta(*args, &plan) == FOVEA_OK ? plan.worker_bytes * plan.workers : 0;
}

extern "C" fovea_status fovea_delta(fovea_delta_state* state, const fovea_delta_args* args, void* workspace,
                                    size_t workspace_bytes) {
  if (!args) return FOVEA_ERR_NULL;
  fovea::DeltaCall call;
  const fovea_status status = fovea::resolve_delta(state, *args, workspace, workspace_bytes, &call);
  return status == FOVEA_OK ? fovea::run_delta(call) : status;
}

extern "C" size_t fovea_delta_matrices_workspace_bytes(const fovea_delta_args* args) {
  fovea::DeltaMatricesCall call;
  const bool planned = args && fovea::plan_delta_matrices(*args, &call) == FOVEA_OK;
  return planned ? call.worker_bytes * call.call.plan.workers : 0;
}

extern "C" fovea_status fovea_delta_matrices(const fovea_delta_args* args, const fovea_in* before,
                                             const fovea_out* after, void* workspace, size_t workspace_bytes) {
  if (!args) return FOVEA_ERR_NULL;
  fovea::DeltaMatricesCall call;
  const fovea_status status = fovea::resolve_delta_matrices(*args, before, after, workspace, workspace_bytes, &call);
  return status == FOVEA_OK ? fovea::run_delta_matrices(call) : status;
}
