// SPDX-License-Identifier: Apache-2.0
//
// Validation of a call's arguments. Nothing has been written when one is refused.
#include "plan/attention_plan.h"
#include "plan/memory.h"

namespace fovea {
namespace {

// Arrays of the call, for the checks of alignment and overlap. Inputs may overlap one another.
class Buffers {
 public:
  explicit Buffers(size_t batch) : batch_(batch) {}

  // An array [batch][heads][tokens][dim].
  fovea_status add_input(const fovea_in& array, size_t element_bytes, size_t heads, size_t tokens, size_t dim) {
    return add(array, element_bytes, heads, tokens, dim, false);
  }
  // Outputs come first; each must be distinct in itself and from everything else.
  fovea_status add_output(const fovea_out& array, size_t element_bytes, size_t heads, size_t tokens, size_t dim) {
    const fovea_in as_input = {array.data, array.batch_stride, array.head_stride, array.token_stride};
    outputs_ = count_ + 1;
    return add(as_input, element_bytes, heads, tokens, dim, true);
  }
  // One that may be absent, of count elements.
  fovea_status add_list(const void* data, size_t element_bytes, size_t count) {
    return data ? add_input({data, 0, 0, 0}, element_bytes, 1, 1, count) : FOVEA_OK;
  }
  // A part of the workspace.
  fovea_status add_memory(void* data, size_t bytes) {
    outputs_ = count_ + 1;
    if (__builtin_add_overflow(reinterpret_cast<uintptr_t>(data), bytes, &spans_[count_].end)) return FOVEA_ERR_SIZE;
    spans_[count_++].begin = reinterpret_cast<uintptr_t>(data);
    return FOVEA_OK;
  }
  fovea_status check_overlap() const {
    for (size_t i = 0; i < outputs_; ++i) {
      for (size_t j = i + 1; j < count_; ++j) {
        if (spans_[i].overlaps(spans_[j])) return FOVEA_ERR_OVERLAP;
      }
    }
    return FOVEA_OK;
  }

 private:
  fovea_status add(const fovea_in& array, size_t element_bytes, size_t heads, size_t tokens, size_t dim, bool output) {
    const Dimensions dimensions = {
        {batch_, array.batch_stride}, {heads, array.head_stride}, {tokens, array.token_stride}, {dim, 1}};
    return check_array(array.data, element_bytes, dimensions, output, &spans_[count_++]);
  }

  static constexpr size_t kMost = 16;
  size_t batch_;
  Span spans_[kMost];
  size_t count_ = 0, outputs_ = 0;
};

#define FOVEA_RETURN_IF_ERROR(expression)                  \
  do {                                                     \
    const fovea_status status_of_step = (expression);      \
    if (status_of_step != FOVEA_OK) return status_of_step; \
  } while (false)

fovea_status check_buffers(const fovea_attention_desc& d, const fovea_attention_args& a, const Workspace& workspace,
                           const StreamState* stream) {
  const size_t q_tokens = a.q_tokens, kv_tokens = a.kv_tokens;
  Buffers buffers(a.batch);
  // Outputs and the workspace.
  const bool whole = !config::kStreams || !stream;
  if (whole || stream->ends) FOVEA_RETURN_IF_ERROR(buffers.add_output(a.out, 4, d.q_heads, q_tokens, d.value_dim));
  if (config::kLse && a.lse.data) FOVEA_RETURN_IF_ERROR(buffers.add_output(a.lse, 4, d.q_heads, q_tokens, 1));
  if (config::kScores && a.scores_stage != FOVEA_SCORES_NONE) {
    FOVEA_RETURN_IF_ERROR(buffers.add_output(a.scores, 4, d.q_heads, q_tokens, kv_tokens));
  }
  FOVEA_RETURN_IF_ERROR(buffers.add_memory(workspace.fast, workspace.fast_bytes));
  FOVEA_RETURN_IF_ERROR(buffers.add_memory(workspace.slow, a.slow_workspace_bytes));
  if (!whole) FOVEA_RETURN_IF_ERROR(buffers.add_memory(stream->state, stream->bytes));
  // Inputs.
  if (whole || !stream->ends) FOVEA_RETURN_IF_ERROR(buffers.add_input(a.q, 4, d.q_heads, q_tokens, d.head_dim));
  FOVEA_RETURN_IF_ERROR(buffers.add_input(a.kv.keys, 4, d.kv_heads, kv_tokens, d.head_dim));
  FOVEA_RETURN_IF_ERROR(buffers.add_input(a.kv.values, 4, d.kv_heads, kv_tokens, d.value_dim));
  if (config::kMask && a.mask.kind != FOVEA_MASK_NONE) {
    const fovea_in mask = {a.mask.data, a.mask.batch_stride, a.mask.head_stride, a.mask.q_stride};
    const size_t element_bytes = a.mask.kind == FOVEA_MASK_F32 ? 4 : 1;
    FOVEA_RETURN_IF_ERROR(buffers.add_input(mask, element_bytes, d.q_heads, q_tokens, a.mask.kv_tokens));
  }
  FOVEA_RETURN_IF_ERROR(buffers.add_list(a.kv_lengths, sizeof(uint32_t), a.batch));
  if (config::kPositions) FOVEA_RETURN_IF_ERROR(buffers.add_list(a.positions, sizeof(int64_t), a.batch));
  if (config::kAlibi) FOVEA_RETURN_IF_ERROR(buffers.add_list(a.alibi_slopes, sizeof(float), d.q_heads));
  if (config::kSinks) FOVEA_RETURN_IF_ERROR(buffers.add_list(a.sinks, sizeof(float), d.q_heads));
  return buffers.check_overlap();
}

// What the description does not say already.
bool asks_for_what_is_left_out(const fovea_attention_args& a) {
  return (!config::kAlibi && a.alibi_slopes) || (!config::kLse && a.lse.data) ||
         (!config::kMaskByte && a.mask.kind == FOVEA_MASK_BYTE) ||
         (!config::kMaskF32 && a.mask.kind == FOVEA_MASK_F32) || (!config::kPositions && a.positions) ||
         (!config::kScores && a.scores_stage != FOVEA_SCORES_NONE) || (!config::kSinks && a.sinks);
}

fovea_status check_options(const fovea_attention_desc& d, const fovea_attention_args& a, const StreamState* stream) {
  if (uint32_t(a.scores_stage) > FOVEA_SCORES_SOFTMAX) return FOVEA_ERR_ENUM;
  if (uint32_t(a.mask.kind) > FOVEA_MASK_BYTE) return FOVEA_ERR_ENUM;
  if (asks_for_what_is_left_out(a)) return FOVEA_ERR_UNSUPPORTED;
  if (a.executor) {
    if (!config::kExecutor) return FOVEA_ERR_UNSUPPORTED;
    if (!a.executor->run) return FOVEA_ERR_NULL;
    if (a.executor->workers == 0 || a.executor->workers > worker_count(d)) return FOVEA_ERR_CAPACITY;
  }
  if (a.batch > d.max_batch || a.q_tokens > d.max_q_tokens || a.kv_tokens > d.max_kv_tokens) return FOVEA_ERR_CAPACITY;
  if ((a.mask.kind == FOVEA_MASK_NONE) != (a.mask.data == nullptr)) return FOVEA_ERR_MASK;
  if (a.mask.kv_tokens > (a.mask.kind == FOVEA_MASK_NONE ? 0 : a.kv_tokens)) return FOVEA_ERR_MASK;

  const bool positions_named = d.causal == FOVEA_CAUSAL_TOP_LEFT || d.causal == FOVEA_CAUSAL_BOTTOM_RIGHT;
  const bool positions_needed =
      !positions_named && (d.causal == FOVEA_CAUSAL_POSITIONS || d.window_left || d.window_right || a.alibi_slopes);
  if (config::kStreams && stream) {
    if (a.scores_stage != FOVEA_SCORES_NONE) return FOVEA_ERR_UNSUPPORTED;
    if (stream->ends) return FOVEA_OK;
  }
  if (positions_named && a.positions) return FOVEA_ERR_POSITIONS;
  if (positions_needed && !a.positions && a.batch > 0) return FOVEA_ERR_POSITIONS;
  return FOVEA_OK;
}

fovea_status check_workspace(const fovea_plan& plan, const fovea_attention_args& a, const Workspace& workspace) {
  if (!workspace.fast || (!workspace.slow && a.slow_workspace_bytes)) return FOVEA_ERR_NULL;
  if (!is_aligned(workspace.fast, FOVEA_WORKSPACE_ALIGNMENT)) return FOVEA_ERR_ALIGNMENT;
  if (!is_aligned(workspace.slow, FOVEA_WORKSPACE_ALIGNMENT)) return FOVEA_ERR_ALIGNMENT;
  if (workspace.fast_bytes >= plan.workspace_bytes) return FOVEA_OK;
  if (a.slow_workspace_bytes == 0) return FOVEA_ERR_WORKSPACE;
  return a.slow_workspace_bytes < slow_workspace_bytes(plan, workspace.fast_bytes) ? FOVEA_ERR_WORKSPACE : FOVEA_OK;
}

// What stands in the small arrays: read only after check_buffers.
fovea_status check_entries(const fovea_attention_args& a) {
  for (uint32_t b = 0; b < a.batch; ++b) {
    if (a.kv_lengths && a.kv_lengths[b] > a.kv_tokens) return FOVEA_ERR_LENGTH;
    if (config::kPositions && a.positions && (a.positions[b] > kMostPosition || a.positions[b] < -kMostPosition))
      return FOVEA_ERR_SIZE;
  }
  return FOVEA_OK;
}

}  // namespace

fovea_status check_attention_args(const fovea_plan& plan, const fovea_attention_args& args, const Workspace& workspace,
                                  const StreamState* stream) {
  if (!is_plan(plan)) return FOVEA_ERR_PLAN;
  if (args.struct_bytes != sizeof(fovea_attention_args)) return FOVEA_ERR_STRUCT;
  FOVEA_RETURN_IF_ERROR(check_workspace(plan, args, workspace));
  FOVEA_RETURN_IF_ERROR(check_options(plan.desc, args, stream));
  FOVEA_RETURN_IF_ERROR(check_buffers(plan.desc, args, workspace, stream));
  return check_entries(args);
}

}  // namespace fovea
