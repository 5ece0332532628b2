// SPDX-License-Identifier: Apache-2.0
//
// Caches of keys and values: their layout in memory, and the checks of every operation on them.
#include "ground/base/arithmetic.h"
#include "core/cache/resolve.h"

#include "core/attention/plan.h"
#include "core/cache/call.h"
#include "core/rope/resolve.h"
#include "fovea/fovea.h"
#include "ground/base/buffers.h"
#include "ground/base/carver.h"
#include "ground/base/key_places.h"
#include "ground/targets/registry.h"

namespace fovea {
namespace {

constexpr uint32_t kCacheMagic = magic_of("cache");

fovea_in dense_rows(void* data, size_t row, size_t tokens, size_t heads) {
  return {data, ptrdiff_t(row * tokens * heads), ptrdiff_t(row * tokens), ptrdiff_t(row)};
}

fovea_status check_cache_shape(const fovea_kv_cache_desc& c) {
  if (uint32_t(c.kind) > FOVEA_KV_LOAD || !is_dtype(c.key_dtype) || !is_dtype(c.value_dtype)) {
    return FOVEA_ERR_ENUM;
  }
  if (config::kHadamard && uint32_t(c.hadamard) > FOVEA_HADAMARD_BOTH) return FOVEA_ERR_ENUM;
  if (c.kv_heads == 0 || c.head_dim == 0 || c.value_dim == 0) return FOVEA_ERR_DIM;
  const bool ring = is_ring(c.kind), paged = is_paged(c.kind);
  if (c.kind == FOVEA_KV_LOAD) return FOVEA_ERR_UNSUPPORTED;
  if (c.kind != FOVEA_KV_STRIDED && !ring && !paged) return FOVEA_ERR_LEFT_OUT;
  if (!is_key_format(c.key_dtype)) return unserved<kEveryKeyFormat>(c.key_dtype);
  if (!is_key_format(c.value_dtype)) return unserved<kEveryKeyFormat>(c.value_dtype);
  if (c.max_tokens > kMostTokens || (ring && c.pinned_tokens >= c.max_tokens)) return FOVEA_ERR_SIZE;
  if (!config::kHadamard && c.hadamard != FOVEA_HADAMARD_NONE) return FOVEA_ERR_LEFT_OUT;
  if (c.values_in_keys && (c.key_center || c.hadamard != FOVEA_HADAMARD_NONE)) return FOVEA_ERR_UNSUPPORTED;
  if (c.values_in_keys && (c.value_dtype != c.key_dtype || c.value_dim > c.head_dim)) return FOVEA_ERR_SIZE;
  return paged == (c.page_tokens != 0) && (paged || c.pages == 0) ? FOVEA_OK : FOVEA_ERR_SIZE;
}

// Checks that no input overlaps the cache, nor the workspace if new rows pass through it.
fovea_status check_append_buffers(const MadeCache& c, const fovea_kv_append_args& a, const AppendCall& call,
                                  bool staged) {
  const size_t element_bytes = unscaled_bytes(a.dtype), blocks = call.ragged_offsets() ? 1 : a.batch;
  Buffers buffers;
  buffers.add_memory(c.memory, c.memory_bytes);
  if (staged) buffers.add_memory(a.workspace, a.workspace_bytes);
  const RowCounts rows = {blocks, c.kv_heads, a.tokens};
  buffers.add_tokens(a.keys, element_bytes, rows, c.head_dim);
  if (!c.values_in_keys) buffers.add_tokens(a.values, element_bytes, rows, c.value_dim);
  if (c.key_center) {
    const fovea_in center = {c.key_center, 0, ptrdiff_t(c.head_dim), 0};
    buffers.add_input(center, sizeof(float), {1, c.kv_heads, 1}, c.head_dim);
  }
  buffers.add_list(a.counts, sizeof(uint32_t), a.batch);
  buffers.add_list(a.offsets, sizeof(uint32_t), size_t(a.batch) + 1);
  if (!a.rope) return buffers.status();
  buffers.add_list(a.position_offsets, sizeof(int64_t), a.batch);
  return add_rope_tables(buffers, *a.rope, c.head_dim - first_turned(c));
}

// Whether an entry of this length has room for `count` more tokens.
fovea_status check_room(const MadeCache& c, uint32_t entry, uint32_t length, uint32_t count) {
  const uint32_t most = is_ring(c.kind) ? kMostTokens : c.max_tokens;
  if (length > most || count > most - length) return FOVEA_ERR_FULL;
  if (!is_paged(c.kind) || count == 0) return FOVEA_OK;
  const uint32_t* const table = c.page_table + ptrdiff_t(entry) * c.source.page_table_stride;
  for (uint32_t page = length / c.page_tokens; page <= (length + count - 1) / c.page_tokens; ++page) {
    if (table[page] == FOVEA_NO_PAGE) return FOVEA_ERR_FULL;
    if (table[page] >= c.pages) return FOVEA_ERR_PAGE;
  }
  return FOVEA_OK;
}

// Resolves all but arrays. *staged: the bytes of the rows of one token that pass through the workspace.
fovea_status plan_append(const MadeCache& c, const fovea_kv_append_args& a, AppendCall* call, size_t* staged) {
  FOVEA_RETURN_IF_ERROR(check_struct(a));
  if (!is_target(a.target) || !is_dtype(a.dtype)) return FOVEA_ERR_ENUM;
  if (!is_unscaled(a.dtype)) return unserved(a.dtype);
  if (!config::kRagged && a.offsets) return FOVEA_ERR_LEFT_OUT;
  const TargetTraits* const traits = resolve_target(a.target);
  if (!traits) return FOVEA_ERR_TARGET;
  if (a.position_offsets && !a.rope) return FOVEA_ERR_NULL;
  if (a.entry > c.batch || a.batch > c.batch - a.entry) return FOVEA_ERR_CAPACITY;
  if (a.rope) FOVEA_RETURN_IF_ERROR(check_struct(*a.rope));
  call->target = traits->target;
  call->entry = a.entry, call->batch = a.batch, call->tokens = a.tokens;
  call->counts = a.counts, call->offsets = a.offsets;
  call->dtype = a.dtype, call->keys = a.keys, call->values = a.values;
  call->workspace = static_cast<float*>(a.workspace), call->workspace_bytes = a.workspace_bytes;
  call->turns = a.rope != nullptr;
  if (a.rope) call->position_offset = a.rope->position_offset, call->position_offsets = a.position_offsets;
  const bool values = call->is_staged(c, false) && !c.values_in_keys;
  if (!values && !call->is_staged(c, true)) return *staged = 0, FOVEA_OK;
  CheckedSize token{c.kv_heads};
  token.times(values && c.value_dim > c.head_dim ? c.value_dim : c.head_dim).times(sizeof(float));
  if (token.overflow) return FOVEA_ERR_SIZE;
  *staged = token.value;
  return FOVEA_OK;
}

// Checks the positions of new keys, and makes call->turning.
fovea_status resolve_turning(const MadeCache& c, const fovea_kv_append_args& a, AppendCall* call) {
  fovea_rope_args rope = turning_args(c, a);
  for (uint32_t b = 0; b < a.batch; ++b) {
    const uint32_t count = call->tokens_of(b).count;
    int64_t offset = a.rope->position_offset, end;
    if (count == 0) continue;
    if ((a.position_offsets && __builtin_add_overflow(offset, a.position_offsets[b], &offset)) ||
        __builtin_add_overflow(offset, int64_t(c.lengths[a.entry + b]) + count, &end)) {
      return FOVEA_ERR_SIZE;
    }
    // Positions follow one another, so if the first and the last token are valid, all are.
    rope.position_offset = end - count;
    FOVEA_RETURN_IF_ERROR(resolve_rope(rope, &call->turning));
    rope.position_offset = end - 1;
    if (kHasChecks) FOVEA_RETURN_IF_ERROR(resolve_rope(rope, &call->turning));
  }
  return FOVEA_OK;
}

// Whether both caches have a token in the same row, given the same entry and the same page.
bool same_places(const MadeCache& a, const MadeCache& b) {
  return a.kind == b.kind && a.max_tokens == b.max_tokens && a.pinned_tokens == b.pinned_tokens &&
         a.page_tokens == b.page_tokens;
}

// Refuses to write a page of from_entry, unless both entries have it at the same index.
fovea_status check_shared_pages(const MadeCache& c, uint32_t to_entry, uint32_t from_entry, uint32_t tokens) {
  if (!kHasChecks || !is_paged(c.kind) || tokens == 0) return FOVEA_OK;
  const uint32_t* const to = c.page_table + ptrdiff_t(to_entry) * c.source.page_table_stride;
  const uint32_t* const from = c.page_table + ptrdiff_t(from_entry) * c.source.page_table_stride;
  const uint32_t last = (tokens - 1) / c.page_tokens, last_from = (c.lengths[from_entry] - 1) / c.page_tokens;
  for (uint32_t written = 0; written <= last; ++written) {
    if (to[written] == from[written]) continue;
    for (uint32_t page = 0; page <= last_from; ++page) {
      if (to[written] == from[page]) return FOVEA_ERR_OVERLAP;
    }
  }
  return FOVEA_OK;
}

}  // namespace

fovea_status lay_out_cache(const fovea_kv_cache_desc& desc, void* memory, MadeCache* cache, CheckedSize* bytes) {
  FOVEA_RETURN_IF_ERROR(check_struct(desc));
  MadeCache& c = *cache;
  static_cast<fovea_kv_cache_desc&>(c) = desc;
  FOVEA_RETURN_IF_ERROR(check_cache_shape(c));
  const bool paged = is_paged(c.kind);
  const size_t blocks = paged ? c.pages : c.batch, tokens = paged ? c.page_tokens : c.max_tokens;
  const size_t columns = paged ? size_t(c.max_tokens / c.page_tokens + (c.max_tokens % c.page_tokens != 0)) : 0;
  CheckedSize rows{blocks};
  rows.times(c.kv_heads).times(tokens);
  if (rows.overflow) return FOVEA_ERR_SIZE;

  Carver carver(memory);
  c.source = {};
  c.lengths = carver.take<uint32_t>(c.batch);
  c.first_tokens = is_ring(c.kind) ? carver.take<uint32_t>(c.batch) : nullptr;
  c.page_table = paged ? carver.take<uint32_t>(columns, c.batch) : nullptr;
  const auto place = [&](fovea_dtype dtype, size_t dim, fovea_in* array, fovea_in* scales) {
    const size_t row = dense_stride(dtype, dim), row_scales = dense_scale_stride(dtype, dim);
    *array = dense_rows(carver.take(row, rows.value, unit_bytes(dtype)), row, tokens, c.kv_heads);
    if (row_scales == 0) return;
    *scales = dense_rows(carver.take(row_scales, rows.value, scale_bytes(dtype)), row_scales, tokens, c.kv_heads);
  };
  place(c.key_dtype, c.head_dim, &c.source.keys, &c.source.key_scales);
  if (c.values_in_keys) {
    c.source.values = c.source.keys;
    c.source.value_scales = c.source.key_scales;
  } else {
    place(c.value_dtype, c.value_dim, &c.source.values, &c.source.value_scales);
  }
  c.source.key_center = c.key_center;
  c.source.first_tokens = c.first_tokens;
  c.source.page_table = c.page_table;
  c.source.page_table_stride = ptrdiff_t(columns);
  c.source.pages = c.pages;
  *bytes = carver.slow_used();
  c.magic = kCacheMagic;
  c.memory = memory;
  c.memory_bytes = bytes->value;
  return bytes->overflow || bytes->value > PTRDIFF_MAX ? FOVEA_ERR_SIZE : FOVEA_OK;
}

fovea_status measure_cache(const fovea_kv_cache_desc& desc, CheckedSize* bytes) {
  MadeCache measured;
  return lay_out_cache(desc, nullptr, &measured, bytes);
}

fovea_status check_made(const fovea_kv_cache* cache) {
  if (!cache) return FOVEA_ERR_NULL;
  return made(*cache).magic == kCacheMagic ? FOVEA_OK : FOVEA_ERR_PLAN;
}

fovea_status resolve_append(const MadeCache& c, const fovea_kv_append_args& a, AppendCall* call) {
  size_t staged;
  FOVEA_RETURN_IF_ERROR(plan_append(c, a, call, &staged));
  if (staged && !call->workspace) return FOVEA_ERR_NULL;
  if (staged && !is_aligned(call->workspace, sizeof(float))) return FOVEA_ERR_ALIGNMENT;
  if (call->workspace_bytes < staged) return FOVEA_ERR_WORKSPACE;
  FOVEA_RETURN_IF_ERROR(check_append_buffers(c, a, *call, staged != 0));
  if (call->ragged_offsets()) FOVEA_RETURN_IF_ERROR(check_offsets(a.offsets, a.batch, a.tokens, UINT32_MAX));
  for (uint32_t b = 0; b < a.batch; ++b) {
    const NewTokens tokens = call->tokens_of(b);
    if (tokens.count > tokens.all) return FOVEA_ERR_LENGTH;
    FOVEA_RETURN_IF_ERROR(check_room(c, a.entry + b, c.lengths[a.entry + b], tokens.count));
  }
  return a.rope ? resolve_turning(c, a, call) : FOVEA_OK;
}

fovea_status check_truncate(const MadeCache& c, uint32_t entry, uint32_t length) {
  if (entry >= c.batch) return FOVEA_ERR_CAPACITY;
  if (length > c.lengths[entry]) return FOVEA_ERR_LENGTH;
  const bool lost = is_ring(c.kind) && length > c.pinned_tokens && length < c.first_tokens[entry];
  return lost ? FOVEA_ERR_LENGTH : FOVEA_OK;
}

fovea_status check_length(const MadeCache& c, uint32_t entry, uint32_t length, uint32_t* first_token) {
  if (entry >= c.batch) return FOVEA_ERR_CAPACITY;
  FOVEA_RETURN_IF_ERROR(check_room(c, entry, 0, length));
  if (!is_ring(c.kind)) return *first_token ? FOVEA_ERR_LENGTH : FOVEA_OK;
  const uint32_t slots = c.max_tokens - c.pinned_tokens;
  if (*first_token == 0 && length > c.max_tokens) *first_token = length - slots;
  if (*first_token < c.pinned_tokens) *first_token = c.pinned_tokens;
  if (length <= c.pinned_tokens) return FOVEA_OK;
  return *first_token > length || length - *first_token > slots ? FOVEA_ERR_LENGTH : FOVEA_OK;
}

fovea_status check_held(const MadeCache& c, uint32_t entry, uint32_t first, uint32_t tokens) {
  if (entry >= c.batch) return FOVEA_ERR_CAPACITY;
  const uint32_t length = c.lengths[entry], oldest = first < c.pinned_tokens ? c.pinned_tokens : first;
  if (first > length || tokens > length - first) return FOVEA_ERR_LENGTH;
  if (is_ring(c.kind) && oldest < first + tokens && oldest < c.first_tokens[entry]) return FOVEA_ERR_LENGTH;
  uint32_t newest = 0;
  return check_length(c, entry, first + tokens, &newest);
}

fovea_status check_copy(const MadeCache& to, uint32_t to_entry, const MadeCache& from, uint32_t from_entry,
                        uint32_t tokens) {
  if (to_entry >= to.batch) return FOVEA_ERR_CAPACITY;
  const bool rings = is_ring(to.kind) || is_ring(from.kind);
  const bool alike = to.key_dtype == from.key_dtype && to.value_dtype == from.value_dtype &&
                     to.kv_heads == from.kv_heads && to.head_dim == from.head_dim && to.value_dim == from.value_dim &&
                     !to.values_in_keys == !from.values_in_keys && to.key_center == from.key_center &&
                     to.hadamard == from.hadamard &&
                     (to.hadamard == FOVEA_HADAMARD_NONE || to.hadamard_seed == from.hadamard_seed);
  if (!alike || (rings && !same_places(to, from))) return FOVEA_ERR_SIZE;
  FOVEA_RETURN_IF_ERROR(check_truncate(from, from_entry, tokens));
  FOVEA_RETURN_IF_ERROR(check_room(from, from_entry, 0, tokens));
  FOVEA_RETURN_IF_ERROR(check_room(to, to_entry, 0, tokens));
  if (to.memory == from.memory && same_places(to, from)) return check_shared_pages(to, to_entry, from_entry, tokens);
  Buffers buffers;
  buffers.add_memory(to.memory, to.memory_bytes);
  return buffers.add_list(from.memory, 1, from.memory_bytes);
}

fovea_status check_compact(const MadeCache& c, uint32_t entry, const uint32_t* kept, uint32_t count) {
  if (entry >= c.batch) return FOVEA_ERR_CAPACITY;
  if (count == 0) return FOVEA_OK;
  if (!kept) return FOVEA_ERR_NULL;
  Buffers buffers;
  buffers.add_memory(c.memory, c.memory_bytes);
  FOVEA_RETURN_IF_ERROR(buffers.add_list(kept, sizeof *kept, count));
  const uint32_t length = c.lengths[entry], slots = c.max_tokens - c.pinned_tokens;
  for (uint32_t i = 0; i < count; ++i) {
    if (kept[i] >= length || (i > 0 && kept[i] <= kept[i - 1])) return FOVEA_ERR_LENGTH;
    // By the second condition no two tokens have one slot, whatever first_tokens says.
    if (is_ring(c.kind) && kept[i] >= c.pinned_tokens &&
        (kept[i] < c.first_tokens[entry] || length - kept[i] > slots)) {
      return FOVEA_ERR_LENGTH;
    }
  }
  return check_room(c, entry, 0, kept[count - 1] + 1);
}

}  // namespace fovea

extern "C" fovea_status fovea_kv_cache_bytes(const fovea_kv_cache_desc* desc, size_t* bytes) {
  return fovea::plan_and_write(desc, fovea::measure_cache, bytes, [](auto& needed) { return needed.value; });
}

extern "C" fovea_status fovea_kv_cache_init(fovea_kv_cache* cache, const fovea_kv_cache_desc* desc, void* memory,
                                            size_t memory_bytes) {
  if (!cache || !desc) return FOVEA_ERR_NULL;
  fovea::MadeCache& c = fovea::made(*cache);
  fovea::CheckedSize bytes;
  FOVEA_RETURN_IF_ERROR(fovea::measure_cache(*desc, &bytes));
  FOVEA_RETURN_IF_ERROR(fovea::check_memory(memory, memory_bytes, bytes.value));
  fovea::lay_out_cache(*desc, memory, &c, &bytes);
  fovea::forget_pages(c);
  fovea::empty_entries(c);
  return FOVEA_OK;
}

extern "C" const fovea_kv_arrays* fovea_kv_cache_arrays(const fovea_kv_cache* cache) {
  return fovea::check_cache(cache) == FOVEA_OK ? &fovea::made(*cache) : nullptr;
}

extern "C" fovea_status fovea_kv_append_workspace_bytes(const fovea_kv_cache* cache, const fovea_kv_append_args* args,
                                                        size_t* bytes) {
  FOVEA_RETURN_IF_ERROR(fovea::check_cache(cache));
  if (!args || !bytes) return FOVEA_ERR_NULL;
  fovea::AppendCall call;
  return fovea::plan_append(fovea::made(*cache), *args, &call, bytes);
}

extern "C" fovea_status fovea_kv_append(fovea_kv_cache* cache, const fovea_kv_append_args* args) {
  FOVEA_RETURN_IF_ERROR(fovea::check_cache(cache));
  if (!args) return FOVEA_ERR_NULL;
  fovea::AppendCall call;
  FOVEA_RETURN_IF_ERROR(fovea::resolve_append(fovea::made(*cache), *args, &call));
  fovea::append_to_cache(fovea::made(*cache), &call);
  return FOVEA_OK;
}

extern "C" fovea_status fovea_kv_truncate(fovea_kv_cache* cache, uint32_t entry, uint32_t length) {
  FOVEA_RETURN_IF_ERROR(fovea::check_cache(cache));
  fovea::MadeCache& c = fovea::made(*cache);
  FOVEA_RETURN_IF_ERROR(fovea::check_truncate(c, entry, length));
  fovea::set_length(c, entry, length, c.first_tokens ? c.first_tokens[entry] : 0);
  return FOVEA_OK;
}

extern "C" fovea_status fovea_kv_set_length(fovea_kv_cache* cache, uint32_t entry, uint32_t length,
                                            uint32_t first_token) {
  FOVEA_RETURN_IF_ERROR(fovea::check_cache(cache));
  fovea::MadeCache& c = fovea::made(*cache);
  FOVEA_RETURN_IF_ERROR(fovea::check_length(c, entry, length, &first_token));
  fovea::set_length(c, entry, length, first_token);
  return FOVEA_OK;
}

extern "C" fovea_status fovea_kv_copy(fovea_kv_cache* to, uint32_t to_entry, const fovea_kv_cache* from,
                                      uint32_t from_entry, uint32_t tokens) {
  FOVEA_RETURN_IF_ERROR(fovea::check_cache(to));
  FOVEA_RETURN_IF_ERROR(fovea::check_cache(from));
  fovea::MadeCache& out = fovea::made(*to);
  const fovea::MadeCache& in = fovea::made(*from);
  FOVEA_RETURN_IF_ERROR(fovea::check_copy(out, to_entry, in, from_entry, tokens));
  const uint32_t oldest = in.first_tokens ? in.first_tokens[from_entry] : 0;
  fovea::copy_tokens(out, to_entry, 0, in, from_entry, 0, tokens, oldest);
  fovea::set_length(out, to_entry, tokens, oldest);
  return FOVEA_OK;
}

extern "C" fovea_status fovea_kv_compact(fovea_kv_cache* cache, uint32_t entry, const uint32_t* kept, uint32_t count) {
  FOVEA_RETURN_IF_ERROR(fovea::check_cache(cache));
  fovea::MadeCache& c = fovea::made(*cache);
  FOVEA_RETURN_IF_ERROR(fovea::check_compact(c, entry, kept, count));
  fovea::keep_tokens(c, entry, kept, count);
  fovea::set_length(c, entry, count, c.pinned_tokens);
  return FOVEA_OK;
}

extern "C" fovea_status fovea_kv_reset(fovea_kv_cache* cache, uint32_t entry) {
  FOVEA_RETURN_IF_ERROR(fovea::check_cache(cache));
  if (entry != FOVEA_ALL_ENTRIES) return fovea_kv_truncate(cache, entry, 0);
  fovea::empty_entries(fovea::made(*cache));
  return FOVEA_OK;
}

extern "C" fovea_status fovea_kv_describe(const fovea_kv_cache* cache, fovea_attention_desc* desc) {
  FOVEA_RETURN_IF_ERROR(fovea::check_cache(cache));
  if (!desc) return FOVEA_ERR_NULL;
  FOVEA_RETURN_IF_ERROR(fovea::check_struct(*desc));
  const fovea::MadeCache& c = fovea::made(*cache);
  const bool ring = fovea::is_ring(c.kind);
  desc->kv_heads = c.kv_heads;
  desc->head_dim = c.head_dim;
  desc->value_dim = c.value_dim;
  desc->max_batch = c.batch;
  desc->max_kv_tokens = ring ? fovea::kMostTokens : c.max_tokens;
  desc->key_dtype = c.key_dtype;
  desc->value_dtype = c.value_dtype;
  desc->hadamard = c.hadamard;
  desc->hadamard_seed = c.hadamard_seed;
  desc->kv_kind = c.kind;
  desc->ring_tokens = ring ? c.max_tokens : 0;
  desc->pinned_tokens = c.pinned_tokens;
  desc->page_tokens = c.page_tokens;
  return FOVEA_OK;
}

extern "C" fovea_status fovea_kv_attach(const fovea_kv_cache* cache, fovea_attention_args* args) {
  FOVEA_RETURN_IF_ERROR(fovea::check_cache(cache));
  if (!args) return FOVEA_ERR_NULL;
  FOVEA_RETURN_IF_ERROR(fovea::check_struct(*args));
  const fovea::MadeCache& c = fovea::made(*cache);
  args->batch = c.batch;
  args->kv_tokens = fovea::longest_entry(c);
  args->kv_lengths = c.lengths;
  const fovea_kv_prefix* const* const prefixes = args->kv.prefixes;
  args->kv = c.source;
  args->kv.prefixes = prefixes;
  return FOVEA_OK;
}
