// SPDX-License-Identifier: Apache-2.0
#include "ground/base/arithmetic.h"
#include "core/cache/call.h"

#include "core/hadamard/call.h"
#include "ground/base/key_places.h"
#include "ground/formats/kernels.h"
#include "ground/targets/registry.h"

namespace fovea {
namespace {

// New rows of one head, as f32: `in` is the first token's.
struct NewRows {
  const float* in;
  ptrdiff_t stride;
};

void* element_at(const fovea_in& array, size_t unit, const KeyPlace& place, uint32_t head) {
  const ptrdiff_t at = ptrdiff_t(place.entry_or_page) * array.batch_stride + ptrdiff_t(head) * array.head_stride +
                       ptrdiff_t(place.row) * array.token_stride;
  return static_cast<char*>(const_cast<void*>(array.data)) + at * ptrdiff_t(unit);
}

KeyPlacement places_of(const MadeCache& c) {
  return {c.kind, c.max_tokens, c.pinned_tokens, c.page_tokens, c.page_table, c.source.page_table_stride};
}

// Narrows `count` rows into the tokens from `token` on, run by run. In a ring, tokens before `from` are skipped unless
// they are pinned: later tokens of the same call would replace them. Not inlined, so that turning keys needs less
// stack.
__attribute__((noinline)) void put_rows(const MadeCache& c, const NarrowKernels& kernels, bool keys, uint32_t entry,
                                        uint32_t head, uint32_t token, uint32_t count, uint32_t from,
                                        const NewRows& rows) {
  const KeyPlacement places = places_of(c);
  const fovea_dtype dtype = keys ? c.key_dtype : c.value_dtype;
  const fovea_in& array = keys ? c.source.keys : c.source.values;
  const fovea_in& scales = keys ? c.source.key_scales : c.source.value_scales;
  for (uint32_t done = 0; done < count;) {
    const KeyPlace place = places.of(entry, token + done);
    const uint32_t n = place.count < count - done ? uint32_t(place.count) : count - done;
    const bool pinned = is_ring(c.kind) && token + done < c.pinned_tokens;
    const uint32_t end = token + done + n;  // of the run
    const uint32_t skip = pinned || token + done >= from ? 0 : from < end ? from - (token + done) : n;
    if (skip < n) {
      KeyPlace first = place;
      first.row += skip;
      const RowsToNarrow narrow = {n - skip,
                                   keys ? c.head_dim : c.value_dim,
                                   element_at(array, unit_bytes(dtype), first, head),
                                   array.token_stride,
                                   scale_bytes(dtype) ? element_at(scales, scale_bytes(dtype), first, head) : nullptr,
                                   scales.token_stride,
                                   rows.in + ptrdiff_t(done + skip) * rows.stride,
                                   rows.stride};
      kernels.narrow(dtype, narrow);
    }
    done += n;
  }
}

// Subtracts a vector from adjacent rows.
void subtract(const float* vector, size_t dim, float* rows, uint32_t count) {
  for (; count > 0; --count, rows += dim) {
    for (size_t d = 0; d < dim; ++d) rows[d] -= vector[d];
  }
}

// Rotates adjacent rows.
void rotate_in_place(const MadeCache& c, fovea_target target, size_t dim, float* rows, size_t count) {
  HadamardRow row = hadamard_of(dim, hadamard_block(dim), c.hadamard_seed, false);
  for (; count > 0; --count, rows += dim) {
    row.x = row.y = rows;
    hadamard_kernels(target).hadamard(row);
  }
}

// Turns the new keys [first, first + count) of entry call->entry + b in the workspace.
void turn_keys(const MadeCache& c, AppendCall* call, uint32_t b, uint32_t first, uint32_t count) {
  RopeCall& turning = call->turning;
  turning.tokens = count;
  turning.out.head_stride = turning.in.head_stride = ptrdiff_t(count) * ptrdiff_t(c.head_dim);
  turning.position_offset = call->position_offset + int64_t(c.lengths[call->entry + b]) + first;
  if (call->position_offsets) turning.position_offset += call->position_offsets[b];
  run_rope(turning);
}

// Stores the new keys or values of entry call->entry + b.
void put_array(const MadeCache& c, AppendCall* call, bool keys, uint32_t b, uint32_t from) {
  const AppendCall& a = *call;
  const fovea_in& in = keys ? a.keys : a.values;
  const NewTokens tokens = a.tokens_of(b);
  const size_t dim = keys ? c.head_dim : c.value_dim, unit = unscaled_bytes(a.dtype);
  const bool staged = a.is_staged(c, keys);
  const size_t room = staged ? a.workspace_bytes / sizeof(float) / (c.kv_heads * dim) : tokens.count;
  for (uint32_t first = 0; first < tokens.count;) {
    const uint32_t n = room < tokens.count - first ? uint32_t(room) : tokens.count - first;
    const KeyPlace at = {tokens.entry, size_t(tokens.first) + first, n};
    for (uint32_t head = 0; staged && head < c.kv_heads; ++head) {
      float* const out = a.workspace + size_t(head) * n * dim;
      widen_kernels(a.target).widen(
          a.dtype, {n, dim, out, ptrdiff_t(dim), element_at(in, unit, at, head), in.token_stride, nullptr, 0});
    }
    if (keys && a.turns) turn_keys(c, call, b, first, n);
    if (rotates(c, keys)) rotate_in_place(c, a.target, dim, a.workspace, size_t(c.kv_heads) * n);
    for (uint32_t head = 0; head < c.kv_heads; ++head) {
      float* const own = staged ? a.workspace + size_t(head) * n * dim : nullptr;
      if (keys && c.key_center) subtract(c.key_center + size_t(head) * dim, dim, own, n);
      const NewRows rows = own ? NewRows{own, ptrdiff_t(dim)}
                               : NewRows{static_cast<const float*>(element_at(in, unit, at, head)), in.token_stride};
      put_rows(c, narrow_kernels(a.target), keys, a.entry + b, head, c.lengths[a.entry + b] + first, n, from, rows);
    }
    first += n;
  }
}

// Copies `count` rows of each head unchanged.
void copy_rows(const fovea_in& to, const KeyPlace& to_place, const fovea_in& from, const KeyPlace& from_place,
               size_t unit, uint32_t heads, uint32_t count) {
  const size_t bytes = count * size_t(to.token_stride) * unit;
  for (uint32_t head = 0; bytes > 0 && head < heads; ++head) {
    __builtin_memcpy(element_at(to, unit, to_place, head), element_at(from, unit, from_place, head), bytes);
  }
}

// Puts a row of each head into another place of its array. With `swaps` the row that was there takes its place.
void move_rows(const fovea_in& array, const KeyPlace& to_place, const KeyPlace& from_place, size_t unit, uint32_t heads,
               bool swaps) {
  const size_t bytes = size_t(array.token_stride) * unit;
  for (uint32_t head = 0; bytes > 0 && head < heads; ++head) {
    char* const to = static_cast<char*>(element_at(array, unit, to_place, head));
    char* const from = static_cast<char*>(element_at(array, unit, from_place, head));
    for (size_t i = 0; i < bytes; ++i) {
      const char old = to[i];
      to[i] = from[i];
      if (swaps) from[i] = old;
    }
  }
}

void rotate_keys(const MadeCache& c, fovea_target target, float* rows, size_t count, bool inverse) {
  HadamardRow row = hadamard_of(c.head_dim, hadamard_block(c.head_dim), c.hadamard_seed, inverse);
  for (; count > 0; --count, rows += c.head_dim) {
    row.x = row.y = rows;
    hadamard_kernels(target).hadamard(row);
  }
}

// Turns adjacent keys of a head: back from how they are stored, and there again.
void shift_rows(const MadeCache& c, ShiftCall& call, uint32_t head, uint32_t count) {
  float* const rows = call.workspace;
  const bool rotated = rotates(c, true);
  const float* const center = c.key_center ? c.key_center + size_t(head) * c.head_dim : nullptr;
  for (size_t i = 0; center && i < size_t(count) * c.head_dim; ++i) rows[i] += center[i % c.head_dim];
  if (rotated) rotate_keys(c, call.target, rows, count, true);
  call.turning.heads = count;
  run_rope(call.turning);
  if (rotated) rotate_keys(c, call.target, rows, count, false);
  for (size_t i = 0; center && i < size_t(count) * c.head_dim; ++i) rows[i] -= center[i % c.head_dim];
}

}  // namespace

void append_to_cache(MadeCache& c, AppendCall* call) {
  for (uint32_t b = 0; b < call->batch; ++b) {
    const uint32_t entry = call->entry + b, end = c.lengths[entry] + call->tokens_of(b).count;
    const uint32_t slots = c.max_tokens - c.pinned_tokens;
    const bool ring = is_ring(c.kind);
    // The first token that no later one of this call replaces.
    const uint32_t from = ring && end > slots ? end - slots : 0;
    if (!c.values_in_keys) put_array(c, call, false, b, from);
    put_array(c, call, true, b, from);
    c.lengths[entry] = end;
    if (ring && end > c.max_tokens && end - slots > c.first_tokens[entry]) c.first_tokens[entry] = end - slots;
  }
}

void forget_pages(MadeCache& c) {
  const size_t pages = c.page_table ? size_t(c.source.page_table_stride) * c.batch : 0;
  for (size_t i = 0; i < pages; ++i) c.page_table[i] = FOVEA_NO_PAGE;
}

void set_length(MadeCache& c, uint32_t entry, uint32_t length, uint32_t first_token) {
  c.lengths[entry] = length;
  if (c.first_tokens) c.first_tokens[entry] = length <= c.pinned_tokens ? c.pinned_tokens : first_token;
}

void empty_entries(MadeCache& c) {
  for (uint32_t entry = 0; entry < c.batch; ++entry) set_length(c, entry, 0, 0);
}

uint32_t longest_entry(const MadeCache& c) {
  uint32_t most = 0;
  for (uint32_t entry = 0; entry < c.batch; ++entry) most = c.lengths[entry] > most ? c.lengths[entry] : most;
  return most;
}

void copy_tokens(MadeCache& to, uint32_t to_entry, uint32_t to_first, const MadeCache& from, uint32_t from_entry,
                 uint32_t from_first, uint32_t tokens, uint32_t oldest) {
  const KeyPlacement to_places = places_of(to), from_places = places_of(from);
  for (uint32_t done = 0; done < tokens;) {
    const uint32_t token = to_first + done;
    if (token >= to.pinned_tokens && token < oldest) {
      done = oldest - to_first;
      continue;
    }
    const KeyPlace t = to_places.of(to_entry, token), f = from_places.of(from_entry, from_first + done);
    const size_t run = t.count < f.count ? t.count : f.count;
    const uint32_t n = run < tokens - done ? uint32_t(run) : tokens - done;
    done += n;
    if (to.memory == from.memory && t.entry_or_page == f.entry_or_page) continue;  // the same rows
    const fovea_kv_source &out = to.source, &in = from.source;
    copy_rows(out.keys, t, in.keys, f, unit_bytes(to.key_dtype), to.kv_heads, n);
    copy_rows(out.key_scales, t, in.key_scales, f, scale_bytes(to.key_dtype), to.kv_heads, n);
    if (to.values_in_keys) continue;
    copy_rows(out.values, t, in.values, f, unit_bytes(to.value_dtype), to.kv_heads, n);
    copy_rows(out.value_scales, t, in.value_scales, f, scale_bytes(to.value_dtype), to.kv_heads, n);
  }
}

void keep_tokens(MadeCache& c, uint32_t entry, const uint32_t* kept, uint32_t count) {
  const KeyPlacement places = places_of(c);
  const bool ring = is_ring(c.kind);
  for (uint32_t i = 0; i < count; ++i) {
    const KeyPlace to = places.of(entry, i);
    KeyPlace from = places.of(entry, kept[i]);
    // In a ring a token may be in a slot that an earlier one has got: it was swapped to where that one came from.
    while (ring && from.row < i) from = places.of(entry, kept[from.row]);
    if (to.entry_or_page == from.entry_or_page && to.row == from.row) continue;
    const fovea_kv_source& in = c.source;
    move_rows(in.keys, to, from, unit_bytes(c.key_dtype), c.kv_heads, ring);
    move_rows(in.key_scales, to, from, scale_bytes(c.key_dtype), c.kv_heads, ring);
    if (c.values_in_keys) continue;
    move_rows(in.values, to, from, unit_bytes(c.value_dtype), c.kv_heads, ring);
    move_rows(in.value_scales, to, from, scale_bytes(c.value_dtype), c.kv_heads, ring);
  }
}

void shift_keys(const MadeCache& c, ShiftCall& call) {
  const KeyPlacement places = places_of(c);
  const fovea_in &keys = c.source.keys, &scales = c.source.key_scales;
  const size_t unit = unit_bytes(c.key_dtype), scale = scale_bytes(c.key_dtype), dim = c.head_dim;
  const size_t room = call.workspace_bytes / sizeof(float) / dim;
  for (uint32_t done = 0; done < call.tokens;) {
    const KeyPlace place = places.of(call.entry, call.first + done);
    const size_t run = place.count < room ? place.count : room;
    const uint32_t n = run < call.tokens - done ? uint32_t(run) : call.tokens - done;
    for (uint32_t head = 0; head < c.kv_heads; ++head) {
      void* const data = element_at(keys, unit, place, head);
      void* const row_scales = scale ? element_at(scales, scale, place, head) : nullptr;
      widen_kernels(call.target)
          .widen(c.key_dtype,
                 {n, dim, call.workspace, ptrdiff_t(dim), data, keys.token_stride, row_scales, scales.token_stride});
      shift_rows(c, call, head, n);
      narrow_kernels(call.target)
          .narrow(c.key_dtype,
                  {n, dim, data, keys.token_stride, row_scales, scales.token_stride, call.workspace, ptrdiff_t(dim)});
    }
    done += n;
  }
}

}  // namespace fovea
