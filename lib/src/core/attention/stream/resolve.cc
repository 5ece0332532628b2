// SPDX-License-Identifier: Apache-2.0
#include "ground/base/arithmetic.h"
#include "core/attention/stream/resolve.h"

#include "core/attention/plan.h"
#include "ground/base/buffers.h"

namespace fovea {
namespace {

constexpr uint32_t kStateMagic = 0x31736f66u;  // "fos1" as bytes in memory; changes with the layout

// Whether this is a header that check_new_state could make.
bool is_header(const fovea_state& s) {
  if (s.magic != kStateMagic || s.next_key < 0 || s.next_key > kMostPosition) return false;
  if (s.value_dim == 0 || s.q_heads == 0 || s.kv_heads == 0 || s.q_heads % s.kv_heads != 0) return false;
  const CheckedSize bytes = state_bytes(s);
  return !bytes.overflow && bytes.value <= PTRDIFF_MAX;
}

bool overlap(const void* a, size_t a_bytes, const void* b, size_t b_bytes) {
  const uintptr_t a_begin = reinterpret_cast<uintptr_t>(a), b_begin = reinterpret_cast<uintptr_t>(b);
  return a_begin < b_begin ? b_begin - a_begin < a_bytes : a_begin - b_begin < b_bytes;
}

}  // namespace

bool push_served(const fovea_attention_desc& d, int64_t next_key) {
  return !drops(d) || next_key % 4 == 0 || !tiles_follow_pages(d);
}

fovea_status check_new_state(const fovea_plan& plan, uint32_t batch, uint32_t q_tokens, int64_t first_key,
                             const void* memory, size_t bytes, fovea_state* header) {
  const fovea_attention_desc& d = plan.desc;
  if (!memory) return FOVEA_ERR_NULL;
  if (!is_aligned(memory, FOVEA_WORKSPACE_ALIGNMENT)) return FOVEA_ERR_ALIGNMENT;
  if (!kHasStreams || d.diagonal == FOVEA_DIAGONAL_BOTTOM_RIGHT) return FOVEA_ERR_UNSUPPORTED;
  if (batch > d.max_batch || q_tokens > d.max_q_tokens) return FOVEA_ERR_CAPACITY;
  if (first_key < 0 || first_key > kMostPosition) return FOVEA_ERR_SIZE;
  *header = {};
  header->magic = kStateMagic;
  header->batch = batch;
  header->q_heads = d.q_heads;
  header->kv_heads = d.kv_heads;
  header->q_tokens = q_tokens;
  header->value_dim = d.value_dim;
  header->next_key = first_key;
  const CheckedSize needed = state_bytes(*header);
  if (needed.overflow || needed.value > PTRDIFF_MAX) return FOVEA_ERR_SIZE;
  return bytes < needed.value ? FOVEA_ERR_STATE : FOVEA_OK;
}

fovea_status check_state(const fovea_state* state) {
  if (!state) return FOVEA_ERR_NULL;
  if (!is_aligned(state, FOVEA_WORKSPACE_ALIGNMENT)) return FOVEA_ERR_ALIGNMENT;
  if (!kHasStreams) return FOVEA_ERR_UNSUPPORTED;
  return is_header(*state) ? FOVEA_OK : FOVEA_ERR_STATE;
}

fovea_status check_state_of(const fovea_plan& plan, const fovea_state* state) {
  const fovea_status status = check_state(state);
  if (status != FOVEA_OK) return status;
  const fovea_attention_desc& d = plan.desc;
  const bool fits = state->q_heads == d.q_heads && state->kv_heads == d.kv_heads && state->value_dim == d.value_dim &&
                    state->batch <= d.max_batch && state->q_tokens <= d.max_q_tokens;
  if (!fits) return FOVEA_ERR_STATE;
  return d.diagonal == FOVEA_DIAGONAL_BOTTOM_RIGHT ? FOVEA_ERR_UNSUPPORTED : FOVEA_OK;
}

fovea_status check_mergeable(const fovea_state& into, const fovea_state& from) {
  const bool same = into.batch == from.batch && into.q_heads == from.q_heads && into.kv_heads == from.kv_heads &&
                    into.q_tokens == from.q_tokens && into.value_dim == from.value_dim;
  if (!same) return FOVEA_ERR_STATE;
  const size_t bytes = state_bytes(into).value;
  return overlap(&into, bytes, &from, bytes) ? FOVEA_ERR_OVERLAP : FOVEA_OK;
}

fovea_status check_export(const fovea_state* state, const void* image, size_t image_bytes) {
  const fovea_status status = check_state(state);
  if (status != FOVEA_OK) return status;
  if (!image) return FOVEA_ERR_NULL;
  const size_t bytes = state_bytes(*state).value;
  if (image_bytes < bytes) return FOVEA_ERR_STATE;
  return overlap(state, bytes, image, bytes) ? FOVEA_ERR_OVERLAP : FOVEA_OK;
}

fovea_status check_import(const fovea_state* state, size_t bytes, const uint8_t* image, size_t image_bytes) {
  if (!state || !image) return FOVEA_ERR_NULL;
  if (!is_aligned(state, FOVEA_WORKSPACE_ALIGNMENT)) return FOVEA_ERR_ALIGNMENT;
  if (!kHasStreams) return FOVEA_ERR_UNSUPPORTED;
  if (image_bytes < sizeof(fovea_state)) return FOVEA_ERR_IMAGE;
  const fovea_state header = read_image_header(image);
  if (!is_header(header)) return FOVEA_ERR_IMAGE;
  const size_t needed = state_bytes(header).value;
  if (needed > image_bytes || !image_is_whole(image, needed)) return FOVEA_ERR_IMAGE;
  if (bytes < needed) return FOVEA_ERR_STATE;
  return overlap(state, needed, image, needed) ? FOVEA_ERR_OVERLAP : FOVEA_OK;
}

}  // namespace fovea
