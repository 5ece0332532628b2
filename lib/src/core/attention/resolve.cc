// SPDX-License-Identifier: Apache-2.0
//
// Checks a call's arguments. Nothing has been written when one is refused.
#include "ground/base/arithmetic.h"
#include "core/attention/call.h"

#include "core/attention/limits.h"
#include "core/attention/plan.h"
#include "ground/base/buffers.h"
#include "ground/base/tasks.h"

namespace fovea {
namespace {

// The counts of the largest entry.
struct Most {
  uint32_t queries, keys;  // without those of a prefix
};

// Adds keys or values, with the scales that their format needs.
void add_rows(Buffers& buffers, const fovea_in& array, const fovea_in& scales, fovea_dtype dtype, size_t dim,
              const RowCounts& rows) {
  buffers.add_tokens(array, unit_bytes(dtype), rows, dense_stride(dtype, dim));
  if (scale_bytes(dtype) != 0) buffers.add_input(scales, scale_bytes(dtype), rows, dense_scale_stride(dtype, dim));
}

// The same for both of a source or a prefix.
template <class Source>
fovea_status add_keys_and_values(Buffers& buffers, const fovea_attention_desc& d, const Source& kv,
                                 const RowCounts& rows) {
  add_rows(buffers, kv.keys, scale_or(d.key_scale, kv.key_scales), d.key_dtype, d.head_dim, rows);
  add_rows(buffers, kv.values, scale_or(d.value_scale, kv.value_scales), d.value_dtype, d.value_dim, rows);
  return buffers.status();
}

// An entry with fewer keys needs only the first elements of its row. The others count as outside of the table: an
// output may be there.
fovea_status add_page_table(Buffers& buffers, const AttentionCall& call, uint32_t most_keys) {
  const fovea_attention_desc& d = call.desc;
  const auto pages = [&](uint32_t keys) { return size_t(keys / d.page_tokens + (keys % d.page_tokens != 0)); };
  const fovea_kv_source& kv = call.kv();
  const ArrayShape rows = {{call.batch(), kv.page_table_stride}, {1, 0}, {1, 0}, {pages(most_keys), 1}};
  Span all;
  FOVEA_RETURN_IF_ERROR(check_array(kv.page_table, sizeof(uint32_t), rows, false, &all));
  if (all.begin == all.end) return FOVEA_OK;
  for (uint32_t b = 0; b < call.batch(); ++b) {
    const uint32_t keys = call.kv_lengths() && call.kv_lengths()[b] < most_keys ? call.kv_lengths()[b] : most_keys;
    const uint32_t* const row = kv.page_table + ptrdiff_t(b) * kv.page_table_stride;
    buffers.add_list(row, sizeof(uint32_t), pages(keys));
  }
  return buffers.status();
}

fovea_status add_source(Buffers& buffers, const AttentionCall& call, uint32_t most_keys) {
  const fovea_attention_desc& d = call.desc;
  const fovea_kv_source& kv = call.kv();
  RowCounts rows = {call.kv_offsets() ? 1 : call.batch(), d.kv_heads, call.own_tokens()};
  if (is_ring(d)) {
    rows.tokens = most_keys < d.ring_tokens ? most_keys : d.ring_tokens;
    buffers.add_list(kv.first_tokens, sizeof(uint32_t), call.batch());
  }
  if (is_paged(d)) {
    rows.batch = kv.pages;
    rows.tokens = d.page_tokens;
    FOVEA_RETURN_IF_ERROR(buffers.status());
    FOVEA_RETURN_IF_ERROR(add_page_table(buffers, call, most_keys));
  }
  if (is_loaded(d)) return FOVEA_OK;
  return add_keys_and_values(buffers, d, kv, rows);
}

// Outputs and the workspace.
void add_outputs(Buffers& buffers, const AttentionCall& call, const RowCounts& queries) {
  const fovea_attention_desc& d = call.desc;
  const StreamCall* const stream = call.stream();
  if (!stream || stream->ends) buffers.add_output(call.out(), tensor_bytes(d.out_dtype), queries, d.value_dim);
  if (call.wants_lse()) buffers.add_output(call.lse(), sizeof(float), queries, 1);
  if (call.wants_scores()) buffers.add_output(call.scores(), sizeof(float), queries, call.kv_tokens());
  if (call.wants_mass()) {
    const size_t entries = call.kv_offsets() ? 1 : call.batch();
    buffers.add_output(call.key_mass(), sizeof(float), {entries, d.kv_heads, 1}, call.kv_tokens());
  }
  buffers.add_memory(call.workspace.fast, call.workspace.fast_bytes);
  if (kMayHaveSlowPart && (config::kPreferSize || call.workspace.slow)) {
    buffers.add_memory(call.workspace.slow, call.workspace.slow_bytes);
  }
  if (stream) buffers.add_memory(stream->state, stream->state_bytes);
}

// Arrays of one row for each key head.
void add_head_rows(Buffers& buffers, const AttentionCall& call, const float* data, ptrdiff_t stride, size_t dim) {
  if (data) buffers.add_input({data, 0, stride, 0}, sizeof(float), {1, call.desc.kv_heads, 1}, dim);
}

fovea_status check_attention_buffers(const AttentionCall& call, const Most& most) {
  const fovea_attention_desc& d = call.desc;
  const size_t batch = call.batch();
  const RowCounts queries = {call.q_offsets() ? 1 : batch, d.q_heads, call.q_tokens()};
  Buffers buffers;
  add_outputs(buffers, call, queries);
  if (!call.ends_stream()) {
    buffers.add_tokens(call.q(), tensor_bytes(d.q_dtype), queries, d.head_dim);
    if (needs_q_scales(d)) buffers.add_input(call.q_scales(), sizeof(float), queries, 1);
  }
  FOVEA_RETURN_IF_ERROR(add_source(buffers, call, most.keys));
  if (call.prefixes()) FOVEA_RETURN_IF_ERROR(add_prefixes(buffers, d, call.kv(), call.batch()));
  if (call.is_masked()) {
    const uint32_t keys = call.kv_offsets() ? most.keys : call.kv_tokens();
    add_mask(buffers, call.mask(), batch, d.q_heads, most.queries, keys);
  }
  buffers.add_list(call.kv_lengths(), sizeof(uint32_t), batch);
  if (kHasRagged) {
    buffers.add_list(call.q_offsets(), sizeof(uint32_t), batch + 1);
    buffers.add_list(call.kv_offsets(), sizeof(uint32_t), batch + 1);
  }
  buffers.add_list(call.positions(), sizeof(int64_t), batch);
  if (call.block_map()) {
    FOVEA_RETURN_IF_ERROR(buffers.status());
    FOVEA_RETURN_IF_ERROR(add_block_map(buffers, *call.block_map(), batch, d.kv_heads, most.queries));
  }
  if (kHasAlibi) buffers.add_list(call.alibi_slopes(), sizeof(float), d.q_heads);
  if (kHasSinks) buffers.add_list(call.sinks(), sizeof(float), d.q_heads);
  add_head_rows(buffers, call, call.key_center(0), ptrdiff_t(d.head_dim), d.head_dim);
  add_head_rows(buffers, call, call.value_channel_scales(0), call.args().value_channel_stride, d.value_dim);
  add_head_rows(buffers, call, call.score_vector(0), call.args().score_vector_stride, d.head_dim);
  return buffers.status();
}

bool mask_served(fovea_mask_kind kind) {
  if (kind == FOVEA_MASK_NONE) return true;
  return kind == FOVEA_MASK_BYTE ? config::kMaskByte : config::kMaskF32 && format_served(mask_dtype(kind));
}

fovea_status check_mask(const fovea_mask& m, uint32_t kv_tokens) {
  const bool none = m.kind == FOVEA_MASK_NONE, adds = !none && m.kind != FOVEA_MASK_BYTE;
  if (none == (m.data != nullptr) || (none && (m.kv_tokens || m.broadcast_keys))) return FOVEA_ERR_MASK;
  if (m.head_factors && !adds) return FOVEA_ERR_MASK;
  if (kHasBlockMaps && m.at_end && (none || m.kv_tokens == 0)) return FOVEA_ERR_MASK;
  if (kHasBlockMaps && m.at_end && m.kv_tokens > kv_tokens) return FOVEA_ERR_MASK;  // FOVEA_MASK_NO_KEYS, too
  return m.kv_tokens > kv_tokens && m.kv_tokens != FOVEA_MASK_NO_KEYS ? FOVEA_ERR_MASK : FOVEA_OK;
}

// Whether the arguments have scales that the description does not allow.
bool has_unused_scales(const AttentionCall& call) {
  const fovea_attention_args& a = call.args();
  const fovea_attention_desc& d = call.desc;
  if (!kHasI8Tensors) return false;  // compiled out
  return (a.q_scales.data && !needs_q_scales(d)) || (a.kv.key_scales.data && d.key_scale != 0.0f) ||
         (a.kv.value_scales.data && d.value_scale != 0.0f) ||
         (a.value_channel_scales && (!is_i8(d) || rotates_values(d)));
}

// Whether a centre was subtracted from keys, results depend on it, and kernels cannot add it again.
bool misses_center(const AttentionCall& call) {
  const fovea_attention_desc& d = call.desc;
  if (!call.args().kv.key_center) return false;
  return is_additive(d) || (call.sees_center() && !(has_shifts(d) && is_one_of<kCenteredQueries>(d.q_dtype)));
}

// Whether the arguments ask for an option that is compiled out.
bool needs_absent_option(const AttentionCall& call) {
  const fovea_attention_args& a = call.args();
  return a.alibi_slopes != call.alibi_slopes() || a.sinks != call.sinks() || (a.lse.data && !call.wants_lse()) ||
         (a.scores_stage != FOVEA_SCORES_NONE && !call.wants_scores()) || !mask_served(a.mask.kind) ||
         a.q_offsets != call.q_offsets() || a.kv_offsets != call.kv_offsets() || a.block_map != call.block_map() ||
         a.modifier != call.modifier() || a.kv.prefixes != call.prefixes() || (a.key_mass.data && !call.wants_mass()) ||
         (!kHasBlockMaps && a.mask.at_end) || (!kHasI8Tensors && (a.q_scales.data || a.value_channel_scales));
}

// Checks what the arguments ask for, alone and together, before options that are compiled out disappear from the call.
fovea_status check_attention_options(const AttentionCall& call) {
  const fovea_attention_args& a = call.args();
  const fovea_attention_desc& d = call.desc;
  if (uint32_t(a.scores_stage) > FOVEA_SCORES_SOFTMAX) return FOVEA_ERR_ENUM;
  if (uint32_t(a.mask.kind) > FOVEA_MASK_BF16) return FOVEA_ERR_ENUM;
  if (a.mask.reserved) return FOVEA_ERR_STRUCT;
  if (needs_absent_option(call)) return FOVEA_ERR_LEFT_OUT;
  if (has_unused_scales(call) || misses_center(call)) return FOVEA_ERR_UNSUPPORTED;
  FOVEA_RETURN_IF_ERROR(check_executor(a.executor, worker_count(d)));
  const uint64_t entries_q = call.q_offsets() ? d.max_batch : 1, entries_kv = call.kv_offsets() ? d.max_batch : 1;
  if (a.batch > d.max_batch || a.q_tokens > entries_q * d.max_q_tokens || a.kv_tokens > entries_kv * d.max_kv_tokens) {
    return FOVEA_ERR_CAPACITY;
  }
  const bool ragged = call.q_offsets() || call.kv_offsets(), ring = is_ring(d);
  if ((ragged || ring) && (call.wants_scores() || call.stream())) return FOVEA_ERR_UNSUPPORTED;
  if (call.wants_scores() && a.scores_stage < FOVEA_SCORES_MASKED && d.kv_kind != FOVEA_KV_STRIDED) {
    return FOVEA_ERR_UNSUPPORTED;
  }
  if (call.kv_offsets() && d.kv_kind != FOVEA_KV_STRIDED) return FOVEA_ERR_UNSUPPORTED;
  if (is_loaded(d) && !call.ends_stream()) {
    if (!a.kv.loader || !a.kv.loader->start) return FOVEA_ERR_NULL;
  }
  if (call.prefixes()) {
    const bool whole = call.wants_scores() && a.scores_stage < FOVEA_SCORES_MASKED;
    if (d.max_prefix_tokens == 0 || call.kv_offsets() || call.stream() || whole) return FOVEA_ERR_UNSUPPORTED;
  }
  FOVEA_RETURN_IF_ERROR(check_mask(a.mask, call.kv_tokens()));

  const bool positions_named = d.diagonal == FOVEA_DIAGONAL_TOP_LEFT || d.diagonal == FOVEA_DIAGONAL_BOTTOM_RIGHT;
  const bool limited = d.diagonal == FOVEA_DIAGONAL_POSITIONS || window_left(d) || window_right(d);
  const bool positions_needed = !positions_named && (limited || call.alibi_slopes());
  if (call.stream() && call.wants_scores()) return FOVEA_ERR_UNSUPPORTED;
  if (call.modifies_weights() && (call.stream() || d.key_split_tokens != 0)) return FOVEA_ERR_UNSUPPORTED;
  if (call.wants_mass() && (call.stream() || call.modifies_weights() || d.key_mass_queries == 0)) {
    return FOVEA_ERR_UNSUPPORTED;
  }
  if (call.ends_stream()) return FOVEA_OK;
  if (call.block_map() && call.stream() && call.stream()->first_key % kKeyTile != 0) return FOVEA_ERR_UNSUPPORTED;
  if (is_additive(d) && !a.score_vector) return FOVEA_ERR_NULL;
  if (!is_additive(d) && a.score_vector) return FOVEA_ERR_UNSUPPORTED;
  if (positions_named && a.first_positions) return FOVEA_ERR_POSITIONS_TWICE;
  if (positions_needed && !a.first_positions && a.batch > 0) return FOVEA_ERR_POSITIONS_MISSING;
  return FOVEA_OK;
}

fovea_status check_workspace(const MadePlan& plan, const Workspace& workspace) {
  if (!kMayHaveSlowPart && (workspace.slow || workspace.slow_bytes)) return FOVEA_ERR_LEFT_OUT;
  if (!workspace.fast || (!workspace.slow && workspace.slow_bytes)) return FOVEA_ERR_NULL;
  if (!is_aligned(workspace.fast, FOVEA_WORKSPACE_ALIGNMENT)) return FOVEA_ERR_ALIGNMENT;
  if (!is_aligned(workspace.slow, FOVEA_WORKSPACE_ALIGNMENT)) return FOVEA_ERR_ALIGNMENT;
  if (workspace.fast_bytes >= plan.workspace_bytes) return FOVEA_OK;
  if (!kMayHaveSlowPart || workspace.slow_bytes == 0) return FOVEA_ERR_WORKSPACE;
  return workspace.slow_bytes < slow_workspace_bytes(plan, workspace.fast_bytes) ? FOVEA_ERR_WORKSPACE : FOVEA_OK;
}

// The small arrays are aligned by now. These functions check their contents.
fovea_status check_ring(const AttentionCall& call, uint32_t entry) {
  const fovea_attention_desc& d = call.desc;
  const uint32_t first = ring_first(call, entry) - call.prefix_tokens(entry), length = call.own_count(entry);
  if (length <= d.pinned_tokens) return FOVEA_OK;
  if (first > length || length - first > d.ring_tokens - d.pinned_tokens) return FOVEA_ERR_LENGTH;
  return !d.allow_evicted && sees_gone_token(call, entry) ? FOVEA_ERR_RING : FOVEA_OK;
}

fovea_status check_pages(const fovea_attention_desc& d, const fovea_kv_source& kv, uint32_t entry, uint32_t length) {
  const uint32_t* const table = length ? kv.page_table + ptrdiff_t(entry) * kv.page_table_stride : nullptr;
  for (uint32_t p = 0; uint64_t(p) * d.page_tokens < length; ++p) {
    if (table[p] >= kv.pages) return FOVEA_ERR_PAGE;
  }
  return FOVEA_OK;
}

fovea_status check_entries(const AttentionCall& call) {
  const fovea_attention_desc& d = call.desc;
  if (const uint32_t* const offsets = call.q_offsets()) {
    FOVEA_RETURN_IF_ERROR(check_offsets(offsets, call.batch(), call.q_tokens(), d.max_q_tokens));
  }
  if (const uint32_t* const offsets = call.kv_offsets()) {
    FOVEA_RETURN_IF_ERROR(check_offsets(offsets, call.batch(), call.own_tokens(), d.max_kv_tokens));
  }
  for (uint32_t entry = 0; kHasChecks && entry < call.batch(); ++entry) {
    const uint32_t length = call.own_count(entry);
    if (length > call.keys(entry).count) return FOVEA_ERR_LENGTH;
    if (call.mask_at_end() && call.key_count(entry) < call.mask().kv_tokens) return FOVEA_ERR_MASK;
    if (is_paged(d)) FOVEA_RETURN_IF_ERROR(check_pages(d, call.kv(), entry, length));
    const int64_t position = call.positions() ? call.positions()[entry] : 0;
    if (position > kMostPosition || position < -kMostPosition) return FOVEA_ERR_SIZE;
    if (is_ring(d)) FOVEA_RETURN_IF_ERROR(check_ring(call, entry));
  }
  return FOVEA_OK;
}

// Finds the largest entry. The contents of the small arrays are not checked yet, so wrong counts are skipped.
fovea_status measure_entries(const AttentionCall& call, Most* most) {
  if (!is_aligned(call.kv_lengths(), sizeof(uint32_t)) || !is_aligned(call.q_offsets(), sizeof(uint32_t)) ||
      !is_aligned(call.kv_offsets(), sizeof(uint32_t))) {
    return FOVEA_ERR_ALIGNMENT;
  }
  for (uint32_t entry = 0; entry < call.batch(); ++entry) {
    const uint32_t keys = call.own_count(entry), queries = call.queries(entry).count;
    if (keys > most->keys && keys <= call.own_tokens()) most->keys = keys;
    if (queries > most->queries && queries <= call.q_tokens()) most->queries = queries;
  }
  return FOVEA_OK;
}

}  // namespace

fovea_status add_prefixes(Buffers& buffers, const fovea_attention_desc& d, const fovea_kv_source& kv, uint32_t batch) {
  FOVEA_RETURN_IF_ERROR(buffers.add_list(kv.prefixes, sizeof(void*), batch));
  for (uint32_t entry = 0; entry < batch; ++entry) {
    const fovea_kv_prefix* const prefix = kv.prefixes[entry];
    if (!prefix || (entry != 0 && prefix == kv.prefixes[entry - 1])) continue;
    FOVEA_RETURN_IF_ERROR(check_struct(*prefix));
    if (prefix->tokens > d.max_prefix_tokens) return FOVEA_ERR_CAPACITY;
    const bool unused =
        (prefix->key_scales.data && d.key_scale != 0.0f) || (prefix->value_scales.data && d.value_scale != 0.0f);
    if (kHasI8Tensors && unused) return FOVEA_ERR_UNSUPPORTED;
    buffers.add_list(prefix, sizeof(void*), sizeof *prefix / sizeof(void*));
    const RowCounts rows = {1, d.kv_heads, prefix->tokens};
    FOVEA_RETURN_IF_ERROR(add_keys_and_values(buffers, d, *prefix, rows));
  }
  return FOVEA_OK;
}

fovea_status add_mask(Buffers& buffers, const fovea_mask& m, size_t batch, size_t q_heads, size_t queries,
                      uint32_t keys) {
  if (m.kind == FOVEA_MASK_NONE) return buffers.status();
  const fovea_in mask = {m.data, m.batch_stride, m.head_stride, m.q_stride};
  uint32_t columns = mask_columns(m, keys);
  if (m.broadcast_keys && columns > 1) columns = 1;
  buffers.add_input(mask, mask_element_bytes(m.kind), {batch, q_heads, queries}, columns);
  return buffers.add_list(m.head_factors, sizeof(float), q_heads);
}

fovea_status check_attention(const AttentionCall& call) {
  if (!is_plan(call.plan)) return FOVEA_ERR_PLAN;
  FOVEA_RETURN_IF_ERROR(check_struct(call.args()));
  FOVEA_RETURN_IF_ERROR(check_workspace(call.plan, call.workspace));
  FOVEA_RETURN_IF_ERROR(check_attention_options(call));
  Most most = {};
  if (kHasChecks) FOVEA_RETURN_IF_ERROR(measure_entries(call, &most));
  FOVEA_RETURN_IF_ERROR(check_attention_buffers(call, most));
  FOVEA_RETURN_IF_ERROR(check_entries(call));
  if (!kHasChecks || !call.block_map()) return FOVEA_OK;
  return check_block_map(call, most.queries, call.kv_offsets() ? most.keys : call.kv_tokens());
}

}  // namespace fovea

extern "C" fovea_status fovea_attention(const fovea_attention_plan* plan, const fovea_attention_args* args,
                                        void* workspace, size_t workspace_bytes) {
  if (!plan || !args) return FOVEA_ERR_NULL;
  const fovea::Workspace parts = {workspace, workspace_bytes, args->slow_workspace, args->slow_workspace_bytes};
  const fovea::AttentionCall call(fovea::made(*plan), *args, parts, nullptr);
  const fovea_status status = fovea::check_attention(call);
  return status == FOVEA_OK ? fovea::run_attention(call) : status;
}
