// SPDX-License-Identifier: Apache-2.0
//
// Streams: what may be done with a state, and the calls that add keys to it or end it.
#include "ground/base/arithmetic.h"
#include "core/attention/stream/state.h"

#include "core/attention/call.h"
#include "core/attention/plan.h"
#include "fovea/fovea.h"
#include "ground/base/buffers.h"
#include "ground/targets/registry.h"

namespace fovea {
namespace {

constexpr uint32_t kStateMagic = 0x31736f66u;  // "fos1" as bytes in memory; changes with the layout

// Whether this is a header that check_new_state could make.
bool is_header(const fovea_stream_state& s) {
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

// Whether keys can be pushed at this position. Key tiles that follow pages begin where the push does, and dropout makes
// random numbers for four keys at a time.
bool push_served(const fovea_attention_desc& d, int64_t next_key) {
  return !drops(d) || next_key % 4 == 0 || !tiles_follow_pages(d);
}

// Checks a new state of these counts in this memory, and makes its header.
fovea_status check_new_state(const MadePlan& plan, uint32_t batch, uint32_t q_tokens, int64_t first_key,
                             const void* memory, size_t bytes, fovea_stream_state* header) {
  const fovea_attention_desc& d = plan.desc;
  FOVEA_RETURN_IF_ERROR(check_memory(memory, 0, 0));
  if (!kHasStreams) return FOVEA_ERR_LEFT_OUT;
  if (d.diagonal == FOVEA_DIAGONAL_BOTTOM_RIGHT) return FOVEA_ERR_UNSUPPORTED;
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

// Whether the memory holds a state.
fovea_status check_state(const fovea_stream_state* state) {
  FOVEA_RETURN_IF_ERROR(check_memory(state, 0, 0));
  if (!kHasStreams) return FOVEA_ERR_LEFT_OUT;
  return is_header(*state) ? FOVEA_OK : FOVEA_ERR_STATE;
}

// And whether it fits the plan.
fovea_status check_state_of(const MadePlan& plan, const fovea_stream_state* state) {
  FOVEA_RETURN_IF_ERROR(check_state(state));
  const fovea_attention_desc& d = plan.desc;
  const bool fits = state->q_heads == d.q_heads && state->kv_heads == d.kv_heads && state->value_dim == d.value_dim &&
                    state->batch <= d.max_batch && state->q_tokens <= d.max_q_tokens;
  if (!fits) return FOVEA_ERR_STATE;
  return d.diagonal == FOVEA_DIAGONAL_BOTTOM_RIGHT ? FOVEA_ERR_UNSUPPORTED : FOVEA_OK;
}

// Whether two states are partial results for the same rows.
fovea_status check_mergeable(const fovea_stream_state& into, const fovea_stream_state& from) {
  const bool same = into.batch == from.batch && into.q_heads == from.q_heads && into.kv_heads == from.kv_heads &&
                    into.q_tokens == from.q_tokens && into.value_dim == from.value_dim;
  if (!same) return FOVEA_ERR_STATE;
  const size_t bytes = state_bytes(into).value;
  return overlap(&into, bytes, &from, bytes) ? FOVEA_ERR_OVERLAP : FOVEA_OK;
}

fovea_status check_export(const fovea_stream_state* state, const void* image, size_t image_bytes) {
  FOVEA_RETURN_IF_ERROR(check_state(state));
  if (!image) return FOVEA_ERR_NULL;
  const size_t bytes = state_bytes(*state).value;
  if (image_bytes < bytes) return FOVEA_ERR_STATE;
  return overlap(state, bytes, image, bytes) ? FOVEA_ERR_OVERLAP : FOVEA_OK;
}

// Reads all of the image, but not past image_bytes: its checksum must be right.
fovea_status check_import(const fovea_stream_state* state, size_t bytes, const uint8_t* image, size_t image_bytes) {
  if (!state || !image) return FOVEA_ERR_NULL;
  if (!is_aligned(state, FOVEA_WORKSPACE_ALIGNMENT)) return FOVEA_ERR_ALIGNMENT;
  if (!kHasStreams) return FOVEA_ERR_LEFT_OUT;
  if (image_bytes < sizeof(fovea_stream_state)) return FOVEA_ERR_IMAGE;
  const fovea_stream_state header = read_image_header(image);
  if (!is_header(header)) return FOVEA_ERR_IMAGE;
  const size_t needed = state_bytes(header).value;
  if (needed > image_bytes || !image_is_whole(image, needed)) return FOVEA_ERR_IMAGE;
  if (bytes < needed) return FOVEA_ERR_STATE;
  return overlap(state, needed, image, needed) ? FOVEA_ERR_OVERLAP : FOVEA_OK;
}

}  // namespace fovea

using fovea::StreamCall;
using fovea::Workspace;

extern "C" fovea_status fovea_stream_state_bytes(const fovea_attention_plan* plan, uint32_t batch, uint32_t q_tokens,
                                                 size_t* bytes) {
  if (!plan || !bytes) return FOVEA_ERR_NULL;
  if (!fovea::is_plan(*plan)) return FOVEA_ERR_PLAN;
  fovea_stream_state header = {};
  header.batch = batch;
  header.q_heads = fovea::made(*plan).desc.q_heads;
  header.q_tokens = q_tokens;
  header.value_dim = fovea::made(*plan).desc.value_dim;
  const fovea::CheckedSize needed = fovea::state_bytes(header);
  if (needed.overflow) return FOVEA_ERR_SIZE;
  *bytes = needed.value;
  return FOVEA_OK;
}

extern "C" fovea_status fovea_stream_begin(const fovea_attention_plan* plan, fovea_stream_state* state,
                                           size_t state_bytes, uint32_t batch, uint32_t q_tokens, int64_t first_key) {
  if (!plan) return FOVEA_ERR_NULL;
  if (!fovea::is_plan(*plan)) return FOVEA_ERR_PLAN;
  fovea_stream_state header;
  const fovea_status status =
      fovea::check_new_state(fovea::made(*plan), batch, q_tokens, first_key, state, state_bytes, &header);
  if (status == FOVEA_OK) fovea::begin_state(header, state);
  return status;
}

namespace {

fovea_status call_on_stream(const fovea::MadePlan& plan, const fovea_stream_state* state,
                            const fovea_attention_args& args, void* workspace, size_t workspace_bytes, bool ends) {
  FOVEA_RETURN_IF_ERROR(fovea::check_state_of(plan, state));
  const Workspace parts = {workspace, workspace_bytes, args.slow_workspace, args.slow_workspace_bytes};
  const StreamCall stream = {state, fovea::state_bytes(*state).value, fovea::state_rows(*state), state->next_key, ends};
  const fovea::AttentionCall call(plan, args, parts, &stream);
  FOVEA_RETURN_IF_ERROR(fovea::check_attention(call));
  if (args.batch != state->batch || args.q_tokens != state->q_tokens) return FOVEA_ERR_STATE;
  if (!ends && !fovea::push_served(plan.desc, state->next_key)) return FOVEA_ERR_UNSUPPORTED;
  if (state->next_key > fovea::kMostPosition - int64_t(args.kv_tokens)) return FOVEA_ERR_SIZE;
  return fovea::run_attention(call);
}

fovea_status check_call(const fovea_attention_plan* plan, const fovea_attention_args* args) {
  if (!plan || !args) return FOVEA_ERR_NULL;
  if (!fovea::is_plan(*plan)) return FOVEA_ERR_PLAN;
  return fovea::check_struct(*args);
}

}  // namespace

extern "C" fovea_status fovea_stream_push(const fovea_attention_plan* plan, fovea_stream_state* state,
                                          const fovea_attention_args* args, void* workspace, size_t workspace_bytes) {
  FOVEA_RETURN_IF_ERROR(check_call(plan, args));
  // Options that apply when rows end belong to fovea_stream_end.
  fovea_attention_args used = fovea::known_part(*args);
  used.out = used.lse = {};
  used.sinks = used.value_channel_scales = nullptr;
  FOVEA_RETURN_IF_ERROR(call_on_stream(fovea::made(*plan), state, used, workspace, workspace_bytes, false));
  state->next_key += args->kv_tokens;
  return FOVEA_OK;
}

extern "C" fovea_status fovea_stream_end(const fovea_attention_plan* plan, const fovea_stream_state* state,
                                         const fovea_attention_args* args, void* workspace, size_t workspace_bytes) {
  FOVEA_RETURN_IF_ERROR(check_call(plan, args));
  // The state contains what pushes took in. All other options apply when rows end, or are refused.
  fovea_attention_args used = fovea::known_part(*args);
  used.kv_tokens = 0;
  used.q = used.q_scales = {};
  used.kv = {};
  used.kv_lengths = nullptr;
  used.first_positions = nullptr;
  used.mask = {};
  used.alibi_slopes = used.score_vector = nullptr;
  used.block_map = nullptr;
  used.modifier = nullptr;
  return call_on_stream(fovea::made(*plan), state, used, workspace, workspace_bytes, true);
}

extern "C" fovea_status fovea_stream_merge(const fovea_attention_plan* plan, fovea_stream_state* into,
                                           const fovea_stream_state* from) {
  if (!plan || !into || !from) return FOVEA_ERR_NULL;
  if (!fovea::is_plan(*plan)) return FOVEA_ERR_PLAN;
  FOVEA_RETURN_IF_ERROR(fovea::check_state_of(fovea::made(*plan), into));
  FOVEA_RETURN_IF_ERROR(fovea::check_state(from));
  FOVEA_RETURN_IF_ERROR(fovea::check_mergeable(*into, *from));
  const fovea::StateRows a = fovea::state_rows(*into), b = fovea::state_rows(*from);
  fovea::merge_kernels(fovea::made(*plan).desc.target).merge(a, b, fovea::state_row_count(*into), into->value_dim);
  if (from->next_key > into->next_key) into->next_key = from->next_key;
  return FOVEA_OK;
}

extern "C" fovea_status fovea_stream_export(const fovea_stream_state* state, void* image, size_t image_bytes) {
  FOVEA_RETURN_IF_ERROR(fovea::check_export(state, image, image_bytes));
  fovea::write_image(*state, fovea::state_bytes(*state).value, static_cast<uint8_t*>(image));
  return FOVEA_OK;
}

extern "C" fovea_status fovea_stream_import(fovea_stream_state* state, size_t state_bytes, const void* image,
                                            size_t image_bytes) {
  const uint8_t* const bytes = static_cast<const uint8_t*>(image);
  FOVEA_RETURN_IF_ERROR(fovea::check_import(state, state_bytes, bytes, image_bytes));
  fovea::read_image(bytes, fovea::state_bytes(fovea::read_image_header(bytes)).value, state);
  return FOVEA_OK;
}
