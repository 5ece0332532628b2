// SPDX-License-Identifier: Apache-2.0
#include "ground/base/arithmetic.h"
#include "fovea/fovea.h"
#include "layers/delta/call.h"
#include "layers/delta/resolve.h"

extern "C" size_t fovea_delta_state_bytes(uint32_t batch, uint32_t v_heads, uint32_t key_dim, uint32_t value_dim,
                                          uint32_t decay_dim) {
  fovea_delta_state header;
  const fovea_status status = fovea::make_delta_header(batch, v_heads, key_dim, value_dim, decay_dim, &header);
  return status == FOVEA_OK ? fovea::delta_state_bytes(header).value : 0;
}

extern "C" fovea_status fovea_delta_begin(fovea_delta_state* state, size_t state_bytes, uint32_t batch,
                                          uint32_t v_heads, uint32_t key_dim, uint32_t value_dim, uint32_t decay_dim) {
  fovea_delta_state header;
  fovea_status status = fovea::make_delta_header(batch, v_heads, key_dim, value_dim, decay_dim, &header);
  if (status == FOVEA_OK) status = fovea::check_new_delta_state(state, state_bytes, header);
  if (status == FOVEA_OK) fovea::begin_delta(header, state);
  return status;
}

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
