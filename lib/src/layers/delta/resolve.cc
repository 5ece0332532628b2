// SPDX-License-Identifier: Apache-2.0
#include "ground/base/arithmetic.h"
#include "layers/delta/call.h"

#include "fovea/fovea.h"
#include "ground/base/buffers.h"
#include "ground/base/carver.h"
#include "ground/base/image.h"
#include "ground/base/key_places.h"
#include "ground/base/numbers.h"
#include "ground/base/tasks.h"
#include "ground/formats/formats.h"
#include "ground/targets/registry.h"

namespace fovea {

// The entries that `entry` names: one, or all.
struct DeltaEntries {
  uint32_t first, count;
};

// The header of a new state for these counts.
fovea_status make_delta_header(uint32_t batch, uint32_t v_heads, uint32_t head_dim, uint32_t value_dim,
                               uint32_t decay_dim, fovea_delta_state* header);
fovea_status check_delta_state(const fovea_delta_state* state);

namespace {

static_assert(sizeof(DeltaGroup) == FOVEA_DELTA_GROUP_BYTES_, "the macros for static arrays have the same bytes");
template <class Group>
constexpr size_t macro_bytes(uint32_t head_dim, size_t groups, size_t factors) {
  CarvedBytes bytes;
  DeltaScratchOf<Group> scratch = {};
  scratch.place(bytes, whole_columns(head_dim), groups, factors);
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

fovea_status check_dims(uint32_t head_dim, uint32_t value_dim, uint32_t v_heads, uint32_t decay_dim) {
  if (head_dim == 0 || value_dim == 0 || v_heads == 0) return FOVEA_ERR_DIM;
  if (head_dim > INT32_MAX || value_dim > INT32_MAX) return FOVEA_ERR_SIZE;
  if (decay_dim <= 1 || decay_dim == head_dim) return FOVEA_OK;
  if (decay_dim != FOVEA_DELTA_GENERAL_DIM(head_dim)) return FOVEA_ERR_SIZE;
  return kHasGeneralDelta ? FOVEA_OK : FOVEA_ERR_LEFT_OUT;
}

bool divides(uint32_t a, uint32_t b) { return b % a == 0; }

fovea_status check_delta_shape(const fovea_delta_args& a) {
  FOVEA_RETURN_IF_ERROR(check_struct(a));
  if (!is_target(a.target) || uint32_t(a.rule) > FOVEA_DELTA_RULE_GENERAL) return FOVEA_ERR_ENUM;
  if (!is_dtype(a.dtype) || !is_dtype(a.out_dtype)) return FOVEA_ERR_ENUM;
  if (!contains(kUnscaledFormats, a.dtype)) return unserved(a.dtype);
  if (!contains(kUnscaledFormats, a.out_dtype)) return unserved(a.out_dtype);
  if (!config::kRagged && a.offsets) return FOVEA_ERR_LEFT_OUT;
  if (!kHasGeneralDelta && a.rule == FOVEA_DELTA_RULE_GENERAL) return FOVEA_ERR_LEFT_OUT;
  if (a.q_heads == 0 || a.k_heads == 0) return FOVEA_ERR_DIM;
  FOVEA_RETURN_IF_ERROR(check_dims(a.head_dim, a.value_dim, a.v_heads, a.decay_dim));
  if (is_general(a) != is_general_dim(a.head_dim, a.decay_dim)) return FOVEA_ERR_SIZE;
  const bool queries = a.q_heads < a.v_heads ? divides(a.q_heads, a.v_heads) : divides(a.v_heads, a.q_heads);
  if (!queries || !divides(a.k_heads, a.v_heads)) return FOVEA_ERR_HEADS;
  if (a.tokens > kMostTokens) return FOVEA_ERR_SIZE;
  if (!is_finite(a.scale)) return FOVEA_ERR_NUMBER;
  return check_executor(a.executor, kMostWorkers);
}

CheckedSize worker_bytes(const fovea_delta_args& a, const DeltaPlan& plan) {
  const CheckedSize factors = delta_factor_count(plan.lanes, a.head_dim);
  CheckedSize groups{plan.groups};
  groups.times(plan.readers);
  Carver carver(nullptr);
  DeltaScratch scratch;
  const size_t row = whole_columns(a.head_dim);
  scratch.place(carver, row, groups.value, factors.value);
  if (is_general(a)) {
    DeltaGivenScratch given;
    given.place(carver, row, groups.value, delta_given_count(plan.lanes, a.head_dim).value);
  }
  CheckedSize bytes = carver.slow_bytes();
  bytes.overflow |= factors.overflow || groups.overflow;
  return bytes;
}

// Memory may hold anything: builds without checks look at it, too, where check_dims has no refusals.
bool has_dims(const fovea_delta_state& s) {
  if (kHasChecks) return check_dims(s.head_dim, s.value_dim, s.v_heads, s.decay_dim) == FOVEA_OK;
  const bool general = kHasGeneralDelta && s.decay_dim == FOVEA_DELTA_GENERAL_DIM(s.head_dim);
  const bool decays = s.decay_dim <= 1 || s.decay_dim == s.head_dim || general;
  const bool dims = s.head_dim != 0 && s.head_dim <= INT32_MAX && s.value_dim != 0 && s.value_dim <= INT32_MAX;
  return dims && s.v_heads != 0 && decays;
}

bool is_header(const fovea_delta_state& s) {
  if (s.magic != kDeltaStateMagic || !has_dims(s)) return false;
  const CheckedSize bytes = delta_state_bytes(s);
  return !bytes.overflow && bytes.value <= PTRDIFF_MAX;
}

// Checks the entries of a state that one call uses.
fovea_status check_used_entries(const fovea_delta_state& s, uint32_t first, uint32_t count) {
  if (first > s.batch || count > s.batch - first) return FOVEA_ERR_CAPACITY;
  for (uint32_t i = 0; i < count; ++i) {
    if (pending_of(s)[first + i] > kDeltaTokens) return FOVEA_ERR_STATE;
  }
  return FOVEA_OK;
}

fovea_status find_entries(const fovea_delta_state* state, uint32_t entry, DeltaEntries* entries) {
  FOVEA_RETURN_IF_ERROR(check_delta_state(state));
  *entries = {entry, 1};
  if (entry == FOVEA_ALL_ENTRIES) *entries = {0, state->batch};
  return check_used_entries(*state, entries->first, entries->count);
}

fovea_status check_offsets_of(const fovea_delta_args& a) {
  if (!config::kRagged || !a.offsets) return FOVEA_OK;
  if (!is_aligned_to_element(a.offsets, sizeof *a.offsets)) return FOVEA_ERR_ALIGNMENT;
  return check_offsets(a.offsets, a.batch, a.tokens, UINT32_MAX);
}

// Arrays with ragged entries have a batch of 1.
fovea_status add_arrays(const fovea_delta_args& a, Buffers& buffers) {
  const size_t unit = unit_bytes(a.dtype), batch = a.offsets ? 1 : a.batch;
  const uint32_t out_heads = a.q_heads > a.v_heads ? a.q_heads : a.v_heads;
  const uint32_t decay_dim = a.decay_dim > 1 ? a.head_dim : 1;
  buffers.add_output(a.out, unit_bytes(a.out_dtype), {batch, out_heads, a.tokens}, a.value_dim);
  buffers.add_tokens(a.q, unit, {batch, a.q_heads, a.tokens}, a.head_dim);
  buffers.add_tokens(a.k, unit, {batch, a.k_heads, a.tokens}, a.head_dim);
  buffers.add_tokens(a.v, unit, {batch, a.v_heads, a.tokens}, a.value_dim);
  if (is_gated(a.rule)) buffers.add_input(a.decay, sizeof(float), {batch, a.v_heads, a.tokens}, decay_dim);
  if (is_general(a)) {
    buffers.add_input(a.a, unit, {batch, a.k_heads, a.tokens}, a.head_dim);
    buffers.add_input(a.b, unit, {batch, a.k_heads, a.tokens}, a.head_dim);
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
  call->scale = a.scale == 0.0f ? inverse_square_root(a.head_dim) : a.scale;
}

}  // namespace

fovea_status plan_delta(const fovea_delta_args& a, DeltaPlan* plan) {
  FOVEA_RETURN_IF_ERROR(check_delta_shape(a));
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
  if (s.v_heads != a.v_heads || s.head_dim != a.head_dim || s.value_dim != a.value_dim ||
      (s.decay_dim > 1 ? s.decay_dim : 1) != (a.decay_dim > 1 ? a.decay_dim : 1)) {
    return FOVEA_ERR_STATE;
  }
  FOVEA_RETURN_IF_ERROR(check_used_entries(s, a.entry, a.batch));
  FOVEA_RETURN_IF_ERROR(check_offsets_of(a));
  if (a.tokens > 0 && a.batch > 0) {
    Buffers buffers;
    FOVEA_RETURN_IF_ERROR(check_memory(workspace, workspace_bytes, plan.worker_bytes * plan.workers));
    buffers.add_memory(workspace, workspace_bytes);
    buffers.add_memory(state, delta_state_bytes(s).value);
    FOVEA_RETURN_IF_ERROR(add_arrays(a, buffers));
  }
  call->state = state, call->workspace = static_cast<char*>(workspace);
  fill_call(a, call);
  return FOVEA_OK;
}

fovea_status plan_delta_matrices(const fovea_delta_args& a, DeltaMatricesCall* call) {
  FOVEA_RETURN_IF_ERROR(check_delta_shape(a));
  FOVEA_RETURN_IF_ERROR(make_delta_header(1, 1, a.head_dim, a.value_dim, a.decay_dim, &call->header));
  const CheckedSize state = delta_state_bytes(call->header).aligned();
  const size_t workers = a.executor ? a.executor->workers : 1;
  CheckedSize states = state;
  fovea_delta_args of_rest = known_part(a);
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
    FOVEA_RETURN_IF_ERROR(check_memory(workspace, workspace_bytes, call->worker_bytes * plan.workers));
    buffers.add_memory(workspace, workspace_bytes);
    buffers.add_output(*after, sizeof(float), {a.batch, a.v_heads, a.head_dim}, a.value_dim);
    add_arrays(a, buffers);
    if (before) {
      buffers.add_in_place(*after, sizeof(float), *before, sizeof(float), {a.batch, a.v_heads, a.head_dim},
                           a.value_dim);
    }
    FOVEA_RETURN_IF_ERROR(buffers.status());
  }
  call->v_heads = a.v_heads, call->before = before, call->after = after;
  call->call.workspace = static_cast<char*>(workspace);
  fill_call(a, &call->call);
  call->call.batch = a.batch;
  return FOVEA_OK;
}

fovea_status make_delta_header(uint32_t batch, uint32_t v_heads, uint32_t head_dim, uint32_t value_dim,
                               uint32_t decay_dim, fovea_delta_state* header) {
  *header = {};
  FOVEA_RETURN_IF_ERROR(check_dims(head_dim, value_dim, v_heads, decay_dim));
  header->magic = kDeltaStateMagic;
  header->batch = batch, header->v_heads = v_heads;
  header->head_dim = head_dim, header->value_dim = value_dim, header->decay_dim = decay_dim;
  return is_header(*header) ? FOVEA_OK : FOVEA_ERR_SIZE;
}

fovea_status check_delta_state(const fovea_delta_state* state) {
  FOVEA_RETURN_IF_ERROR(check_memory(state, 0, 0));
  return is_header(*state) ? FOVEA_OK : FOVEA_ERR_STATE;
}

fovea_status check_delta_set(const fovea_delta_state* state, uint32_t entry, const fovea_in* matrices,
                             DeltaEntries* entries) {
  FOVEA_RETURN_IF_ERROR(find_entries(state, entry, entries));
  if (!matrices) return FOVEA_OK;
  Buffers buffers;
  buffers.add_memory(state, delta_state_bytes(*state).value);
  return buffers.add_input(*matrices, sizeof(float), {entries->count, state->v_heads, state->head_dim},
                           state->value_dim);
}

fovea_status resolve_delta_get(const fovea_delta_state* state, fovea_target target, uint32_t entry,
                               const fovea_out* matrices, DeltaEntries* entries, const DeltaKernels** kernels) {
  if (!matrices) return FOVEA_ERR_NULL;
  const TargetTraits* traits;
  FOVEA_RETURN_IF_ERROR(find_target(target, &traits));
  *kernels = &delta_kernels(traits->target);
  FOVEA_RETURN_IF_ERROR(find_entries(state, entry, entries));
  Buffers buffers;
  buffers.add_memory(state, delta_state_bytes(*state).value);
  return buffers.add_output(*matrices, sizeof(float), {entries->count, state->v_heads, state->head_dim},
                            state->value_dim);
}

fovea_status check_delta_roll_back(const fovea_delta_state* state, uint32_t entry, uint32_t tokens,
                                   DeltaEntries* entries) {
  FOVEA_RETURN_IF_ERROR(find_entries(state, entry, entries));
  for (uint32_t i = 0; kHasChecks && i < entries->count; ++i) {
    if (tokens > pending_of(*state)[entries->first + i]) return FOVEA_ERR_LENGTH;
  }
  return FOVEA_OK;
}

fovea_status check_delta_export(const fovea_delta_state* state, const void* image, size_t image_bytes) {
  FOVEA_RETURN_IF_ERROR(check_delta_state(state));
  if (!image) return FOVEA_ERR_NULL;
  const size_t bytes = delta_state_bytes(*state).value;
  if (image_bytes < bytes) return FOVEA_ERR_STATE;
  Buffers buffers;
  buffers.add_memory(state, bytes);
  return buffers.add_memory(image, bytes);
}

fovea_status check_delta_import(const fovea_delta_state* state, size_t state_bytes, const void* image,
                                size_t image_bytes) {
  if (!state || !image) return FOVEA_ERR_NULL;
  if (!is_aligned(state, FOVEA_WORKSPACE_ALIGNMENT)) return FOVEA_ERR_ALIGNMENT;
  if (image_bytes < sizeof(fovea_delta_state)) return FOVEA_ERR_IMAGE;
  const uint8_t* const bytes = static_cast<const uint8_t*>(image);
  const fovea_delta_state header = read_delta_header(bytes);
  if (!is_header(header)) return FOVEA_ERR_IMAGE;
  const size_t needed = delta_state_bytes(header).value;
  if (needed > image_bytes || checksum_of(bytes, needed) != header.checksum) return FOVEA_ERR_IMAGE;
  if (state_bytes < needed) return FOVEA_ERR_STATE;
  Buffers buffers;
  buffers.add_memory(state, needed);
  return buffers.add_memory(image, needed);
}

}  // namespace fovea

extern "C" fovea_status fovea_delta_workspace_bytes(const fovea_delta_args* args, size_t* bytes) {
  return fovea::plan_and_write(args, fovea::plan_delta, bytes, [](auto& p) { return p.worker_bytes * p.workers; });
}

extern "C" fovea_status fovea_delta(fovea_delta_state* state, const fovea_delta_args* args, void* workspace,
                                    size_t workspace_bytes) {
  if (!args) return FOVEA_ERR_NULL;
  fovea::DeltaCall call;
  const fovea_status status = fovea::resolve_delta(state, *args, workspace, workspace_bytes, &call);
  return status == FOVEA_OK ? fovea::run_delta(call) : status;
}

extern "C" fovea_status fovea_delta_matrices_workspace_bytes(const fovea_delta_args* args, size_t* bytes) {
  return fovea::plan_and_write(args, fovea::plan_delta_matrices, bytes,
                               [](auto& c) { return c.worker_bytes * c.call.plan.workers; });
}

extern "C" fovea_status fovea_delta_matrices(const fovea_delta_args* args, const fovea_in* before,
                                             const fovea_out* after, void* workspace, size_t workspace_bytes) {
  if (!args) return FOVEA_ERR_NULL;
  fovea::DeltaMatricesCall call;
  const fovea_status status = fovea::resolve_delta_matrices(*args, before, after, workspace, workspace_bytes, &call);
  return status == FOVEA_OK ? fovea::run_delta_matrices(call) : status;
}

extern "C" fovea_status fovea_delta_state_bytes(uint32_t batch, uint32_t v_heads, uint32_t head_dim, uint32_t value_dim,
                                                uint32_t decay_dim, size_t* bytes) {
  if (!bytes) return FOVEA_ERR_NULL;
  fovea_delta_state header;
  FOVEA_RETURN_IF_ERROR(fovea::make_delta_header(batch, v_heads, head_dim, value_dim, decay_dim, &header));
  *bytes = fovea::delta_state_bytes(header).value;
  return FOVEA_OK;
}

extern "C" fovea_status fovea_delta_begin(fovea_delta_state* state, size_t state_bytes, uint32_t batch,
                                          uint32_t v_heads, uint32_t head_dim, uint32_t value_dim, uint32_t decay_dim) {
  fovea_delta_state header;
  FOVEA_RETURN_IF_ERROR(fovea::make_delta_header(batch, v_heads, head_dim, value_dim, decay_dim, &header));
  FOVEA_RETURN_IF_ERROR(
      fovea::check_memory(state, state_bytes, fovea::delta_state_bytes(header).value, FOVEA_ERR_STATE));
  fovea::begin_delta(header, state);
  return FOVEA_OK;
}

extern "C" fovea_status fovea_delta_set(fovea_delta_state* state, uint32_t entry, const fovea_in* matrices) {
  fovea::DeltaEntries entries;
  const fovea_status status = fovea::check_delta_set(state, entry, matrices, &entries);
  if (status == FOVEA_OK) fovea::set_delta(*state, entries.first, entries.count, matrices);
  return status;
}

extern "C" fovea_status fovea_delta_get(const fovea_delta_state* state, fovea_target target, uint32_t entry,
                                        const fovea_out* matrices) {
  fovea::DeltaEntries entries;
  const fovea::DeltaKernels* kernels;
  const fovea_status status = fovea::resolve_delta_get(state, target, entry, matrices, &entries, &kernels);
  if (status == FOVEA_OK) fovea::get_delta(*state, *kernels, entries.first, entries.count, *matrices);
  return status;
}

extern "C" uint32_t fovea_delta_pending(const fovea_delta_state* state, uint32_t entry) {
  fovea::DeltaEntries entries;
  const fovea_status status = fovea::check_delta_roll_back(state, entry, 0, &entries);
  return status == FOVEA_OK ? fovea::least_pending(*state, entries.first, entries.count) : 0;
}

extern "C" fovea_status fovea_delta_roll_back(fovea_delta_state* state, uint32_t entry, uint32_t tokens) {
  fovea::DeltaEntries entries;
  const fovea_status status = fovea::check_delta_roll_back(state, entry, tokens, &entries);
  if (status == FOVEA_OK) fovea::roll_back_delta(state, entries.first, entries.count, tokens);
  return status;
}

extern "C" fovea_status fovea_delta_export(const fovea_delta_state* state, void* image, size_t image_bytes) {
  const fovea_status status = fovea::check_delta_export(state, image, image_bytes);
  if (status == FOVEA_OK) fovea::write_delta_image(*state, static_cast<uint8_t*>(image));
  return status;
}

extern "C" fovea_status fovea_delta_import(fovea_delta_state* state, size_t state_bytes, const void* image,
                                           size_t image_bytes) {
  const fovea_status status = fovea::check_delta_import(state, state_bytes, image, image_bytes);
  if (status == FOVEA_OK) fovea::read_delta_image(static_cast<const uint8_t*>(image), state);
  return status;
}
