// SPDX-License-Identifier: Apache-2.0
//
// Validation of a call's arguments. Nothing has been written when one is refused.
#include "attention/limits.h"
#include "attention/plan.h"
#include "base/buffers.h"

namespace fovea {
namespace {

// Null, always, where there are no ragged batches.
const uint32_t* q_offsets(const fovea_attention_args& a) { return config::kRagged ? a.q_offsets : nullptr; }
const uint32_t* kv_offsets(const fovea_attention_args& a) { return config::kRagged ? a.kv_offsets : nullptr; }

// Of any entry.
struct Most {
  uint32_t queries, keys;
};

// Keys or values, with the scales that their format needs.
fovea_status add_rows(Buffers& buffers, const fovea_in& array, const fovea_in& scales, fovea_dtype dtype, size_t dim,
                      size_t blocks, size_t heads, size_t tokens) {
  const size_t units = dense_stride(dtype, dim);
  FOVEA_RETURN_IF_ERROR(buffers.add_input(array, unit_bytes(dtype), blocks, heads, tokens, units));
  if (scale_bytes(dtype) == 0) return FOVEA_OK;
  return buffers.add_input(scales, scale_bytes(dtype), blocks, heads, tokens, dense_scale_stride(dtype, dim));
}

// Of each entry as many pages as its keys need: what lies behind a shorter row is no part of the table.
fovea_status add_page_table(Buffers& buffers, const fovea_attention_desc& d, const fovea_attention_args& a,
                            uint32_t most_keys) {
  const auto pages = [&](uint32_t keys) { return size_t(keys / d.page_tokens + (keys % d.page_tokens != 0)); };
  const fovea_kv_source& kv = a.kv;
  const Dimensions rows = {{a.batch, kv.page_table_stride}, {1, 0}, {1, 0}, {pages(most_keys), 1}};
  Span all;
  FOVEA_RETURN_IF_ERROR(check_array(kv.page_table, sizeof(uint32_t), rows, false, &all));
  if (all.begin == all.end) return FOVEA_OK;
  for (uint32_t b = 0; b < a.batch; ++b) {
    const uint32_t keys = a.kv_lengths && a.kv_lengths[b] < most_keys ? a.kv_lengths[b] : most_keys;
    const uint32_t* const row = kv.page_table + ptrdiff_t(b) * kv.page_table_stride;
    FOVEA_RETURN_IF_ERROR(buffers.add_list(row, sizeof(uint32_t), pages(keys)));
  }
  return FOVEA_OK;
}

fovea_status add_source(Buffers& buffers, const fovea_attention_desc& d, const fovea_attention_args& a,
                        uint32_t most_keys) {
  size_t blocks = kv_offsets(a) ? 1 : a.batch, tokens = a.kv_tokens;
  if (config::kRing && d.kv_kind == FOVEA_KV_RING) {
    tokens = most_keys < d.ring_tokens ? most_keys : d.ring_tokens;
    FOVEA_RETURN_IF_ERROR(buffers.add_list(a.kv.first_tokens, sizeof(uint32_t), a.batch));
  }
  if (config::kPages && d.kv_kind == FOVEA_KV_PAGED) {
    blocks = a.kv.pages;
    tokens = d.page_tokens;
    FOVEA_RETURN_IF_ERROR(add_page_table(buffers, d, a, most_keys));
  }
  if (config::kLoad && d.kv_kind == FOVEA_KV_LOAD) return FOVEA_OK;
  FOVEA_RETURN_IF_ERROR(
      add_rows(buffers, a.kv.keys, a.kv.key_scales, d.key_dtype, d.head_dim, blocks, d.kv_heads, tokens));
  return add_rows(buffers, a.kv.values, a.kv.value_scales, d.value_dtype, d.value_dim, blocks, d.kv_heads, tokens);
}

fovea_status check_buffers(const fovea_attention_desc& d, const fovea_attention_args& a, const Workspace& workspace,
                           const StreamState* stream, const Most& most) {
  const size_t q_tokens = a.q_tokens, q_batch = q_offsets(a) ? 1 : a.batch;
  Buffers buffers;
  // Outputs and the workspace.
  const bool whole = !config::kStreams || !stream;
  if (whole || stream->ends) {
    const size_t element_bytes = unscaled_bytes(d.out_dtype);
    FOVEA_RETURN_IF_ERROR(buffers.add_output(a.out, element_bytes, q_batch, d.q_heads, q_tokens, d.value_dim));
  }
  if (config::kLse && a.lse.data) FOVEA_RETURN_IF_ERROR(buffers.add_output(a.lse, 4, q_batch, d.q_heads, q_tokens, 1));
  if (config::kScores && a.scores_stage != FOVEA_SCORES_NONE) {
    FOVEA_RETURN_IF_ERROR(buffers.add_output(a.scores, 4, a.batch, d.q_heads, q_tokens, a.kv_tokens));
  }
  FOVEA_RETURN_IF_ERROR(buffers.add_memory(workspace.fast, workspace.fast_bytes));
  if (config::kSlowWorkspace) FOVEA_RETURN_IF_ERROR(buffers.add_memory(workspace.slow, a.slow_workspace_bytes));
  if (!whole) FOVEA_RETURN_IF_ERROR(buffers.add_memory(stream->state, stream->bytes));
  // Inputs.
  if (whole || !stream->ends) {
    const size_t element_bytes = unscaled_bytes(d.q_dtype);
    FOVEA_RETURN_IF_ERROR(buffers.add_input(a.q, element_bytes, q_batch, d.q_heads, q_tokens, d.head_dim));
  }
  FOVEA_RETURN_IF_ERROR(add_source(buffers, d, a, most.keys));
  if (config::kMask) {
    const uint32_t keys = kv_offsets(a) ? most.keys : a.kv_tokens;
    FOVEA_RETURN_IF_ERROR(add_mask(buffers, a.mask, a.batch, d.q_heads, most.queries, keys));
  }
  FOVEA_RETURN_IF_ERROR(buffers.add_list(a.kv_lengths, sizeof(uint32_t), a.batch));
  if (config::kRagged) {
    FOVEA_RETURN_IF_ERROR(buffers.add_list(q_offsets(a), sizeof(uint32_t), size_t(a.batch) + 1));
    FOVEA_RETURN_IF_ERROR(buffers.add_list(kv_offsets(a), sizeof(uint32_t), size_t(a.batch) + 1));
  }
  FOVEA_RETURN_IF_ERROR(buffers.add_list(a.positions, sizeof(int64_t), a.batch));
  if (config::kAlibi) FOVEA_RETURN_IF_ERROR(buffers.add_list(a.alibi_slopes, sizeof(float), d.q_heads));
  if (config::kSinks) FOVEA_RETURN_IF_ERROR(buffers.add_list(a.sinks, sizeof(float), d.q_heads));
  if (config::kAdditive && a.score_vector) {
    const fovea_in vector = {a.score_vector, 0, a.score_vector_stride, 0};
    FOVEA_RETURN_IF_ERROR(buffers.add_input(vector, sizeof(float), 1, d.kv_heads, 1, d.head_dim));
  }
  return FOVEA_OK;
}

bool mask_served(fovea_mask_kind kind) {
  if (kind == FOVEA_MASK_NONE) return true;
  return kind == FOVEA_MASK_BYTE ? config::kMaskByte : config::kMaskF32 && format_served(mask_dtype(kind));
}

fovea_status check_mask(const fovea_mask& m, uint32_t kv_tokens) {
  const bool none = m.kind == FOVEA_MASK_NONE, adds = !none && m.kind != FOVEA_MASK_BYTE;
  if (none == (m.data != nullptr) || (none && (m.kv_tokens || m.broadcast_keys))) return FOVEA_ERR_MASK;
  if (m.head_factors && !adds) return FOVEA_ERR_MASK;
  return m.kv_tokens > kv_tokens && m.kv_tokens != FOVEA_MASK_COVERS_NONE ? FOVEA_ERR_MASK : FOVEA_OK;
}

// What the description does not say already.
bool asks_for_what_is_left_out(const fovea_attention_args& a) {
  return (!config::kAlibi && a.alibi_slopes) || (!config::kLse && a.lse.data) || !mask_served(a.mask.kind) ||
         (!config::kScores && a.scores_stage != FOVEA_SCORES_NONE) || (!config::kSinks && a.sinks) ||
         (!config::kRagged && (a.q_offsets || a.kv_offsets));
}

fovea_status check_options(const fovea_attention_desc& d, const fovea_attention_args& a, const StreamState* stream) {
  if (uint32_t(a.scores_stage) > FOVEA_SCORES_SOFTMAX) return FOVEA_ERR_ENUM;
  if (uint32_t(a.mask.kind) > FOVEA_MASK_BF16) return FOVEA_ERR_ENUM;
  if (asks_for_what_is_left_out(a)) return FOVEA_ERR_UNSUPPORTED;
  if (a.executor) {
    if (!config::kExecutor) return FOVEA_ERR_UNSUPPORTED;
    if (!a.executor->run) return FOVEA_ERR_NULL;
    if (a.executor->workers == 0 || a.executor->workers > worker_count(d)) return FOVEA_ERR_CAPACITY;
  }
  const uint64_t entries_q = q_offsets(a) ? d.max_batch : 1, entries_kv = kv_offsets(a) ? d.max_batch : 1;
  if (a.batch > d.max_batch || a.q_tokens > entries_q * d.max_q_tokens || a.kv_tokens > entries_kv * d.max_kv_tokens) {
    return FOVEA_ERR_CAPACITY;
  }
  const bool ragged = q_offsets(a) || kv_offsets(a), ring = config::kRing && d.kv_kind == FOVEA_KV_RING;
  const bool scores = config::kScores && a.scores_stage != FOVEA_SCORES_NONE;
  if ((ragged || ring) && (scores || stream)) return FOVEA_ERR_UNSUPPORTED;
  if (scores && a.scores_stage < FOVEA_SCORES_MASKED && d.kv_kind != FOVEA_KV_STRIDED) return FOVEA_ERR_UNSUPPORTED;
  if (kv_offsets(a) && d.kv_kind != FOVEA_KV_STRIDED) return FOVEA_ERR_UNSUPPORTED;
  if (config::kLoad && d.kv_kind == FOVEA_KV_LOAD && !(stream && stream->ends)) {
    if (!a.kv.loader || !a.kv.loader->start) return FOVEA_ERR_NULL;
  }
  FOVEA_RETURN_IF_ERROR(check_mask(a.mask, a.kv_tokens));

  const bool positions_named = d.diagonal == FOVEA_DIAGONAL_TOP_LEFT || d.diagonal == FOVEA_DIAGONAL_BOTTOM_RIGHT;
  const bool positions_needed =
      !positions_named && (d.diagonal == FOVEA_DIAGONAL_POSITIONS || d.window_left || d.window_right || a.alibi_slopes);
  if (config::kStreams && stream) {
    if (a.scores_stage != FOVEA_SCORES_NONE) return FOVEA_ERR_UNSUPPORTED;
    if (stream->ends) return FOVEA_OK;
  }
  const bool additive = config::kAdditive && d.score == FOVEA_SCORE_ADDITIVE;
  if (additive && !a.score_vector) return FOVEA_ERR_NULL;
  if (!additive && a.score_vector) return FOVEA_ERR_UNSUPPORTED;
  if (positions_named && a.positions) return FOVEA_ERR_POSITIONS_TWICE;
  if (positions_needed && !a.positions && a.batch > 0) return FOVEA_ERR_POSITIONS_MISSING;
  return FOVEA_OK;
}

fovea_status check_workspace(const fovea_plan& plan, const fovea_attention_args& a, const Workspace& workspace) {
  if (!config::kSlowWorkspace && (workspace.slow || a.slow_workspace_bytes)) return FOVEA_ERR_UNSUPPORTED;
  if (!workspace.fast || (!workspace.slow && a.slow_workspace_bytes)) return FOVEA_ERR_NULL;
  if (!is_aligned(workspace.fast, FOVEA_WORKSPACE_ALIGNMENT)) return FOVEA_ERR_ALIGNMENT;
  if (!is_aligned(workspace.slow, FOVEA_WORKSPACE_ALIGNMENT)) return FOVEA_ERR_ALIGNMENT;
  if (workspace.fast_bytes >= plan.workspace_bytes) return FOVEA_OK;
  if (!config::kSlowWorkspace || a.slow_workspace_bytes == 0) return FOVEA_ERR_WORKSPACE;
  return a.slow_workspace_bytes < slow_workspace_bytes(plan, workspace.fast_bytes) ? FOVEA_ERR_WORKSPACE : FOVEA_OK;
}

// What stands in the small arrays. They are aligned.
fovea_status check_ring(const fovea_attention_desc& d, const fovea_attention_args& a, uint32_t batch) {
  const uint32_t first = ring_first(d, a, batch), length = key_count(a, batch);
  if (length <= d.pinned_tokens) return FOVEA_OK;
  if (first > length || length - first > d.ring_tokens - d.pinned_tokens) return FOVEA_ERR_LENGTH;
  return !d.hide_gone && sees_gone_token(d, a, batch) ? FOVEA_ERR_RING : FOVEA_OK;
}

fovea_status check_pages(const fovea_attention_desc& d, const fovea_kv_source& kv, uint32_t batch, uint32_t length) {
  const uint32_t* const table = length ? kv.page_table + ptrdiff_t(batch) * kv.page_table_stride : nullptr;
  for (uint32_t p = 0; uint64_t(p) * d.page_tokens < length; ++p) {
    if (table[p] >= kv.pages) return FOVEA_ERR_PAGE;
  }
  return FOVEA_OK;
}

// What an entry has by the offsets, or where there are none.
uint32_t entry_count(const uint32_t* offsets, uint32_t batch, uint32_t otherwise) {
  return offsets ? offsets[batch + 1] - offsets[batch] : otherwise;
}

fovea_status check_entries(const fovea_attention_desc& d, const fovea_attention_args& a) {
  if (q_offsets(a)) {
    FOVEA_RETURN_IF_ERROR(check_offsets(q_offsets(a), a.batch, a.q_tokens, d.max_q_tokens));
  }
  if (kv_offsets(a)) {
    FOVEA_RETURN_IF_ERROR(check_offsets(kv_offsets(a), a.batch, a.kv_tokens, d.max_kv_tokens));
  }
  for (uint32_t b = 0; b < a.batch; ++b) {
    const uint32_t all = entry_count(kv_offsets(a), b, a.kv_tokens);
    const uint32_t length = a.kv_lengths ? a.kv_lengths[b] : all;
    if (length > all) return FOVEA_ERR_LENGTH;
    if (config::kPages && d.kv_kind == FOVEA_KV_PAGED) FOVEA_RETURN_IF_ERROR(check_pages(d, a.kv, b, length));
    if (a.positions && (a.positions[b] > kMostPosition || a.positions[b] < -kMostPosition)) return FOVEA_ERR_SIZE;
    if (config::kRing && d.kv_kind == FOVEA_KV_RING) FOVEA_RETURN_IF_ERROR(check_ring(d, a, b));
  }
  return FOVEA_OK;
}

// The largest entry, whatever the small arrays hold: they are aligned, and not yet known to be right.
fovea_status measure_entries(const fovea_attention_args& a, Most* most) {
  const void* const lists[] = {a.kv_lengths, q_offsets(a), kv_offsets(a)};
  for (const void* list : lists) {
    if (!is_aligned(list, sizeof(uint32_t))) return FOVEA_ERR_ALIGNMENT;
  }
  for (uint32_t b = 0; b < a.batch; ++b) {
    const uint32_t all = entry_count(kv_offsets(a), b, a.kv_tokens);
    const uint32_t keys = a.kv_lengths ? a.kv_lengths[b] : all, queries = entry_count(q_offsets(a), b, a.q_tokens);
    if (keys > most->keys && keys <= a.kv_tokens) most->keys = keys;
    if (queries > most->queries && queries <= a.q_tokens) most->queries = queries;
  }
  return FOVEA_OK;
}

}  // namespace

fovea_status add_mask(Buffers& buffers, const fovea_mask& m, size_t batch, size_t q_heads, size_t queries,
                      uint32_t keys) {
  if (m.kind == FOVEA_MASK_NONE) return FOVEA_OK;
  const fovea_in mask = {m.data, m.batch_stride, m.head_stride, m.q_stride};
  uint32_t columns = mask_columns(m, keys);
  if (m.broadcast_keys && columns > 1) columns = 1;
  FOVEA_RETURN_IF_ERROR(buffers.add_input(mask, mask_element_bytes(m.kind), batch, q_heads, queries, columns));
  return buffers.add_list(m.head_factors, sizeof(float), q_heads);
}

fovea_status check_attention_args(const fovea_plan& plan, const fovea_attention_args& args, const Workspace& workspace,
                                  const StreamState* stream) {
  if (!is_plan(plan)) return FOVEA_ERR_PLAN;
  if (args.struct_bytes != sizeof(fovea_attention_args)) return FOVEA_ERR_STRUCT;
  FOVEA_RETURN_IF_ERROR(check_workspace(plan, args, workspace));
  FOVEA_RETURN_IF_ERROR(check_options(plan.desc, args, stream));
  Most most = {};
  FOVEA_RETURN_IF_ERROR(measure_entries(args, &most));
  FOVEA_RETURN_IF_ERROR(check_buffers(plan.desc, args, workspace, stream, most));
  return check_entries(plan.desc, args);
}

}  // namespace fovea
