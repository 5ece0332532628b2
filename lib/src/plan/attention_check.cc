// SPDX-License-Identifier: Apache-2.0
//
// Validation of a call's arguments. Nothing has been written when one is refused.
#include "plan/attention_plan.h"
#include "plan/memory.h"

namespace fovea {
namespace {

constexpr int64_t kMostPosition = int64_t(1) << 62;

// Arrays of the call, for the checks of alignment and overlap. Inputs may overlap one another.
class Buffers {
 public:
  template <size_t kDimensions>
  fovea_status add_input(const void* data, size_t element_bytes, const Dimension (&dimensions)[kDimensions]) {
    Span span;
    const fovea_status status = measure(data, element_bytes, dimensions, &span);
    if (status == FOVEA_OK) spans_[count_++] = span;
    return status;
  }
  // Outputs come first; each must be distinct in itself and from everything else.
  template <size_t kDimensions>
  fovea_status add_output(const void* data, size_t element_bytes, const Dimension (&dimensions)[kDimensions]) {
    const fovea_status status = add_input(data, element_bytes, dimensions);
    if (status != FOVEA_OK) return status;
    if (!elements_distinct(dimensions)) return FOVEA_ERR_STRIDE;
    outputs_ = count_;
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
  template <size_t kDimensions>
  static fovea_status measure(const void* data, size_t element_bytes, const Dimension (&dimensions)[kDimensions],
                              Span* span) {
    if (!span_of(data, element_bytes, dimensions, span)) return FOVEA_ERR_SIZE;
    if (span->begin == span->end) return FOVEA_OK;  // no element: the pointer means nothing
    if (!data) return FOVEA_ERR_NULL;
    return is_aligned(data, element_bytes) ? FOVEA_OK : FOVEA_ERR_ALIGNMENT;
  }

  static constexpr size_t kMost = 16;
  Span spans_[kMost];
  size_t count_ = 0, outputs_ = 0;
};

#define FOVEA_RETURN_IF_ERROR(expression)                  \
  do {                                                     \
    const fovea_status status_of_step = (expression);      \
    if (status_of_step != FOVEA_OK) return status_of_step; \
  } while (false)

fovea_status check_buffers(const fovea_attention_desc& d, const fovea_attention_args& a, const void* workspace,
                           size_t workspace_bytes) {
  const size_t batch = a.batch, q_tokens = a.q_tokens, kv_tokens = a.kv_tokens;
  Buffers buffers;
  // Outputs and the workspace.
  FOVEA_RETURN_IF_ERROR(buffers.add_output(
      a.out.data, 4,
      {{batch, a.out.batch_stride}, {d.q_heads, a.out.head_stride}, {q_tokens, a.out.token_stride}, {d.value_dim, 1}}));
  if (a.lse.data) {
    FOVEA_RETURN_IF_ERROR(buffers.add_output(
        a.lse.data, 4, {{batch, a.lse.batch_stride}, {d.q_heads, a.lse.head_stride}, {q_tokens, a.lse.token_stride}}));
  }
  if (a.scores_stage != FOVEA_SCORES_NONE) {
    FOVEA_RETURN_IF_ERROR(buffers.add_output(a.scores.data, 4,
                                             {{batch, a.scores.batch_stride},
                                              {d.q_heads, a.scores.head_stride},
                                              {q_tokens, a.scores.token_stride},
                                              {kv_tokens, 1}}));
  }
  FOVEA_RETURN_IF_ERROR(buffers.add_output(workspace, 1, {{workspace_bytes, 1}}));
  // Inputs.
  FOVEA_RETURN_IF_ERROR(buffers.add_input(
      a.q.data, 4,
      {{batch, a.q.batch_stride}, {d.q_heads, a.q.head_stride}, {q_tokens, a.q.token_stride}, {d.head_dim, 1}}));
  FOVEA_RETURN_IF_ERROR(buffers.add_input(a.kv.keys.data, 4,
                                          {{batch, a.kv.keys.batch_stride},
                                           {d.kv_heads, a.kv.keys.head_stride},
                                           {kv_tokens, a.kv.keys.token_stride},
                                           {d.head_dim, 1}}));
  FOVEA_RETURN_IF_ERROR(buffers.add_input(a.kv.values.data, 4,
                                          {{batch, a.kv.values.batch_stride},
                                           {d.kv_heads, a.kv.values.head_stride},
                                           {kv_tokens, a.kv.values.token_stride},
                                           {d.value_dim, 1}}));
  if (a.mask.kind != FOVEA_MASK_NONE) {
    FOVEA_RETURN_IF_ERROR(buffers.add_input(a.mask.data, a.mask.kind == FOVEA_MASK_F32 ? 4 : 1,
                                            {{batch, a.mask.batch_stride},
                                             {d.q_heads, a.mask.head_stride},
                                             {q_tokens, a.mask.q_stride},
                                             {a.mask.kv_tokens, 1}}));
  }
  if (a.kv_lengths) FOVEA_RETURN_IF_ERROR(buffers.add_input(a.kv_lengths, sizeof(uint32_t), {{batch, 1}}));
  if (a.positions) FOVEA_RETURN_IF_ERROR(buffers.add_input(a.positions, sizeof(int64_t), {{batch, 1}}));
  if (a.alibi_slopes) FOVEA_RETURN_IF_ERROR(buffers.add_input(a.alibi_slopes, sizeof(float), {{d.q_heads, 1}}));
  if (a.sinks) FOVEA_RETURN_IF_ERROR(buffers.add_input(a.sinks, sizeof(float), {{d.q_heads, 1}}));
  return buffers.check_overlap();
}

fovea_status check_options(const fovea_attention_desc& d, const fovea_attention_args& a) {
  if (a.scores_stage < 0 || a.scores_stage > FOVEA_SCORES_SOFTMAX) return FOVEA_ERR_ENUM;
  if (a.mask.kind < 0 || a.mask.kind > FOVEA_MASK_BYTE) return FOVEA_ERR_ENUM;
  if (a.batch > d.max_batch || a.q_tokens > d.max_q_tokens || a.kv_tokens > d.max_kv_tokens) return FOVEA_ERR_CAPACITY;
  if ((a.mask.kind == FOVEA_MASK_NONE) != (a.mask.data == nullptr)) return FOVEA_ERR_MASK;
  if (a.mask.kv_tokens > (a.mask.kind == FOVEA_MASK_NONE ? 0 : a.kv_tokens)) return FOVEA_ERR_MASK;

  const bool positions_named = d.causal == FOVEA_CAUSAL_TOP_LEFT || d.causal == FOVEA_CAUSAL_BOTTOM_RIGHT;
  const bool positions_needed =
      !positions_named && (d.causal == FOVEA_CAUSAL_POSITIONS || d.window_left || d.window_right || a.alibi_slopes);
  if (positions_named && a.positions) return FOVEA_ERR_POSITIONS;
  if (positions_needed && !a.positions && a.batch > 0) return FOVEA_ERR_POSITIONS;
  return FOVEA_OK;
}

// What stands in the small arrays: read only after check_buffers.
fovea_status check_entries(const fovea_attention_args& a) {
  for (uint32_t b = 0; b < a.batch; ++b) {
    if (a.kv_lengths && a.kv_lengths[b] > a.kv_tokens) return FOVEA_ERR_LENGTH;
    if (a.positions && (a.positions[b] > kMostPosition || a.positions[b] < -kMostPosition)) return FOVEA_ERR_SIZE;
  }
  return FOVEA_OK;
}

}  // namespace

fovea_status check_attention_args(const fovea_plan& plan, const fovea_attention_args& args, const void* workspace,
                                  size_t workspace_bytes) {
  if (!is_plan(plan)) return FOVEA_ERR_PLAN;
  if (args.struct_bytes != sizeof(fovea_attention_args)) return FOVEA_ERR_STRUCT;
  if (!workspace) return FOVEA_ERR_NULL;
  if (!is_aligned(workspace, FOVEA_WORKSPACE_ALIGNMENT)) return FOVEA_ERR_ALIGNMENT;
  if (workspace_bytes < plan.workspace_bytes) return FOVEA_ERR_WORKSPACE;
  FOVEA_RETURN_IF_ERROR(check_options(plan.desc, args));
  FOVEA_RETURN_IF_ERROR(check_buffers(plan.desc, args, workspace, workspace_bytes));
  return check_entries(args);
}

}  // namespace fovea
