// SPDX-License-Identifier: Apache-2.0
#include "ground/base/arithmetic.h"
#include "core/attention/call.h"
#include "core/attention/plan.h"
#include "core/attention/resolve.h"
#include "core/attention/stream/resolve.h"
#include "core/attention/stream/state.h"
#include "fovea/fovea.h"
#include "ground/targets/registry.h"

using fovea::StreamCall;
using fovea::Workspace;

extern "C" size_t fovea_state_bytes(const fovea_plan* plan, uint32_t batch, uint32_t q_tokens) {
  if (!plan || !fovea::is_plan(*plan)) return 0;
  fovea_state header = {};
  header.batch = batch;
  header.q_heads = plan->desc.q_heads;
  header.q_tokens = q_tokens;
  header.value_dim = plan->desc.value_dim;
  const fovea::CheckedSize bytes = fovea::state_bytes(header);
  return bytes.overflow ? 0 : bytes.value;
}

extern "C" fovea_status fovea_stream_begin(const fovea_plan* plan, fovea_state* state, size_t state_bytes,
                                           uint32_t batch, uint32_t q_tokens, int64_t first_key) {
  if (!plan) return FOVEA_ERR_NULL;
  if (!fovea::is_plan(*plan)) return FOVEA_ERR_PLAN;
  fovea_state header;
  const fovea_status status = fovea::check_new_state(*plan, batch, q_tokens, first_key, state, state_bytes, &header);
  if (status == FOVEA_OK) fovea::begin_state(header, state);
  return status;
}

namespace {

fovea_status call_on_stream(const fovea_plan& plan, fovea_state* state, const fovea_attention_args& args,
                            void* workspace, size_t workspace_bytes, bool ends) {
  fovea_status status = fovea::check_state_of(plan, state);
  if (status != FOVEA_OK) return status;
  const Workspace parts = {workspace, workspace_bytes, args.slow_workspace, args.slow_workspace_bytes};
  const StreamCall stream = {state, fovea::state_bytes(*state).value, fovea::state_rows(*state), state->next_key, ends};
  const fovea::AttentionCall call(plan, args, parts, &stream);
  status = fovea::check_attention(call);
  if (status != FOVEA_OK) return status;
  if (args.batch != state->batch || args.q_tokens != state->q_tokens) return FOVEA_ERR_STATE;
  if (!ends && !fovea::push_served(plan.desc, state->next_key)) return FOVEA_ERR_UNSUPPORTED;
  if (state->next_key > fovea::kMostPosition - int64_t(args.kv_tokens)) return FOVEA_ERR_SIZE;
  return fovea::run_attention(call);
}

fovea_status check_call(const fovea_plan* plan, const fovea_attention_args* args) {
  if (!plan || !args) return FOVEA_ERR_NULL;
  if (!fovea::is_plan(*plan)) return FOVEA_ERR_PLAN;
  return args->struct_bytes == sizeof *args ? FOVEA_OK : FOVEA_ERR_STRUCT;
}

}  // namespace

extern "C" fovea_status fovea_stream_push(const fovea_plan* plan, fovea_state* state, const fovea_attention_args* args,
                                          void* workspace, size_t workspace_bytes) {
  fovea_status status = check_call(plan, args);
  if (status != FOVEA_OK) return status;
  // Options that apply when rows end belong to fovea_stream_end.
  fovea_attention_args used = *args;
  used.out = used.lse = {};
  used.sinks = used.value_channel_scales = nullptr;
  status = call_on_stream(*plan, state, used, workspace, workspace_bytes, false);
  if (status == FOVEA_OK) state->next_key += args->kv_tokens;
  return status;
}

extern "C" fovea_status fovea_stream_end(const fovea_plan* plan, const fovea_state* state,
                                         const fovea_attention_args* args, void* workspace, size_t workspace_bytes) {
  const fovea_status status = check_call(plan, args);
  if (status != FOVEA_OK) return status;
  // The state contains what pushes took in. All other options apply when rows end, or are refused.
  fovea_attention_args used = *args;
  used.kv_tokens = 0;
  used.q = used.q_scales = {};
  used.kv = {};
  used.kv_lengths = nullptr;
  used.positions = nullptr;
  used.mask = {};
  used.alibi_slopes = used.score_vector = nullptr;
  used.block_map = nullptr;
  used.modifier = nullptr;
  // The state is only read.
  return call_on_stream(*plan, const_cast<fovea_state*>(state), used, workspace, workspace_bytes, true);
}

extern "C" fovea_status fovea_stream_merge(const fovea_plan* plan, fovea_state* into, const fovea_state* from) {
  if (!plan || !into || !from) return FOVEA_ERR_NULL;
  if (!fovea::is_plan(*plan)) return FOVEA_ERR_PLAN;
  fovea_status status = fovea::check_state_of(*plan, into);
  if (status == FOVEA_OK) status = fovea::check_state(from);
  if (status == FOVEA_OK) status = fovea::check_mergeable(*into, *from);
  if (status != FOVEA_OK) return status;
  const fovea::StateRows a = fovea::state_rows(*into), b = fovea::state_rows(*from);
  fovea::merge_kernels(plan->desc.target).merge(a, b, fovea::state_row_count(*into), into->value_dim);
  if (from->next_key > into->next_key) into->next_key = from->next_key;
  return FOVEA_OK;
}

extern "C" fovea_status fovea_stream_export(const fovea_state* state, void* image, size_t image_bytes) {
  const fovea_status status = fovea::check_export(state, image, image_bytes);
  if (status != FOVEA_OK) return status;
  fovea::write_image(*state, fovea::state_bytes(*state).value, static_cast<uint8_t*>(image));
  return FOVEA_OK;
}

extern "C" fovea_status fovea_stream_import(fovea_state* state, size_t state_bytes, const void* image,
                                            size_t image_bytes) {
  const uint8_t* const bytes = static_cast<const uint8_t*>(image);
  const fovea_status status = fovea::check_import(state, state_bytes, bytes, image_bytes);
  if (status != FOVEA_OK) return status;
  fovea::read_image(bytes, fovea::state_bytes(fovea::read_image_header(bytes)).value, state);
  return FOVEA_OK;
}
