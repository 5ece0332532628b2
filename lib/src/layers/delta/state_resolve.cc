// SPDX-License-Identifier: Apache-2.0
//
// States: their headers, and the functions that begin, read, change and store them outside of calls.
#include "ground/base/arithmetic.h"
#include "layers/delta/state_resolve.h"

#include "fovea/fovea.h"
#include "ground/base/buffers.h"
#include "ground/base/image.h"
#include "ground/base/status.h"
#include "ground/targets/registry.h"

namespace fovea {
namespace {

bool is_header(const fovea_delta_state& s) {
  if (s.magic != kDeltaStateMagic || check_delta_dims(s.key_dim, s.value_dim, s.v_heads, s.decay_dim) != FOVEA_OK)
    return false;
  const CheckedSize bytes = delta_state_bytes(s);
  return !bytes.overflow && bytes.value <= PTRDIFF_MAX;
}

}  // namespace

// The entries that `entry` names: one, or all.
struct DeltaEntries {
  uint32_t first, count;
};

static fovea_status find_entries(const fovea_delta_state* state, uint32_t entry, DeltaEntries* entries) {
  FOVEA_RETURN_IF_ERROR(check_delta_state(state));
  *entries = {entry, 1};
  if (entry == FOVEA_ALL_ENTRIES) *entries = {0, state->batch};
  return check_delta_entries(*state, entries->first, entries->count);
}

fovea_status check_delta_set(const fovea_delta_state* state, uint32_t entry, const fovea_in* matrices,
                             DeltaEntries* entries) {
  FOVEA_RETURN_IF_ERROR(find_entries(state, entry, entries));
  if (!matrices) return FOVEA_OK;
  Buffers buffers;
  buffers.add_memory(state, delta_state_bytes(*state).value);
  return buffers.add_input(*matrices, sizeof(float), {entries->count, state->v_heads, state->key_dim},
                           state->value_dim);
}

fovea_status resolve_delta_get(const fovea_delta_state* state, fovea_target target, uint32_t entry,
                               const fovea_out* matrices, DeltaEntries* entries, const DeltaKernels** kernels) {
  if (!matrices) return FOVEA_ERR_NULL;
  fovea_target found;
  FOVEA_RETURN_IF_ERROR(find_target(target, &found));
  *kernels = &delta_kernels(found);
  FOVEA_RETURN_IF_ERROR(find_entries(state, entry, entries));
  Buffers buffers;
  buffers.add_memory(state, delta_state_bytes(*state).value);
  return buffers.add_output(*matrices, sizeof(float), {entries->count, state->v_heads, state->key_dim},
                            state->value_dim);
}

fovea_status check_delta_roll_back(const fovea_delta_state* state, uint32_t entry, uint32_t tokens,
                                   DeltaEntries* entries) {
  FOVEA_RETURN_IF_ERROR(find_entries(state, entry, entries));
  for (uint32_t i = 0; i < entries->count; ++i) {
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

fovea_status check_delta_dims(uint32_t key_dim, uint32_t value_dim, uint32_t v_heads, uint32_t decay_dim) {
  if (key_dim == 0 || value_dim == 0 || v_heads == 0) return FOVEA_ERR_DIM;
  if (key_dim > INT32_MAX || value_dim > INT32_MAX) return FOVEA_ERR_SIZE;
  if (decay_dim <= 1 || decay_dim == key_dim) return FOVEA_OK;
  if (decay_dim != FOVEA_DELTA_GENERAL_DIM(key_dim)) return FOVEA_ERR_SIZE;
  return kHasGeneralDelta ? FOVEA_OK : FOVEA_ERR_UNSUPPORTED;
}

fovea_status make_delta_header(uint32_t batch, uint32_t v_heads, uint32_t key_dim, uint32_t value_dim,
                               uint32_t decay_dim, fovea_delta_state* header) {
  *header = {};
  FOVEA_RETURN_IF_ERROR(check_delta_dims(key_dim, value_dim, v_heads, decay_dim));
  header->magic = kDeltaStateMagic;
  header->batch = batch, header->v_heads = v_heads;
  header->key_dim = key_dim, header->value_dim = value_dim, header->decay_dim = decay_dim;
  return is_header(*header) ? FOVEA_OK : FOVEA_ERR_SIZE;
}

fovea_status check_delta_state(const fovea_delta_state* state) {
  FOVEA_RETURN_IF_ERROR(check_memory(state, 0, 0));
  return is_header(*state) ? FOVEA_OK : FOVEA_ERR_STATE;
}

fovea_status check_delta_entries(const fovea_delta_state& s, uint32_t first, uint32_t count) {
  if (first > s.batch || count > s.batch - first) return FOVEA_ERR_CAPACITY;
  for (uint32_t i = 0; i < count; ++i) {
    if (pending_of(s)[first + i] > kDeltaTokens) return FOVEA_ERR_STATE;
  }
  return FOVEA_OK;
}

}  // namespace fovea

extern "C" size_t fovea_delta_state_bytes(uint32_t batch, uint32_t v_heads, uint32_t key_dim, uint32_t value_dim,
                                          uint32_t decay_dim) {
  fovea_delta_state header;
  const fovea_status status = fovea::make_delta_header(batch, v_heads, key_dim, value_dim, decay_dim, &header);
  return status == FOVEA_OK ? fovea::delta_state_bytes(header).value : 0;
}

extern "C" fovea_status fovea_delta_begin(fovea_delta_state* state, size_t state_bytes, uint32_t batch,
                                          uint32_t v_heads, uint32_t key_dim, uint32_t value_dim, uint32_t decay_dim) {
  fovea_delta_state header;
  FOVEA_RETURN_IF_ERROR(fovea::make_delta_header(batch, v_heads, key_dim, value_dim, decay_dim, &header));
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
