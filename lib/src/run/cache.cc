// SPDX-License-Identifier: Apache-2.0
#include "run/cache.h"

#include "run/key_places.h"
#include "run/rope.h"
#include "targets/registry.h"

namespace fovea {
namespace {

// Rows of one head on their way into the cache: f32, from the token at `in` on.
struct NewRows {
  const float* in;
  ptrdiff_t stride;
};

void* element(const fovea_in& array, size_t unit, const KeyPlace& place, uint32_t head) {
  const ptrdiff_t at = ptrdiff_t(place.block) * array.batch_stride + ptrdiff_t(head) * array.head_stride +
                       ptrdiff_t(place.row) * array.token_stride;
  return static_cast<char*>(const_cast<void*>(array.data)) + at * ptrdiff_t(unit);
}

// Narrows `count` rows into the tokens from `token` on, run by run. Of a ring only those that will not give way to
// others of the same call, which are the ones from `from` on.
void put_rows(const fovea_kv_cache& c, const ConvertKernels& kernels, bool keys, uint32_t entry, uint32_t head,
              uint32_t token, uint32_t count, uint32_t from, const NewRows& rows) {
  const KeyPlaces places = {c.kind,        c.max_tokens, c.pinned_tokens,
                            c.page_tokens, c.page_table, c.source.page_table_stride};
  const fovea_dtype dtype = keys ? c.key_dtype : c.value_dtype;
  const fovea_in& array = keys ? c.source.keys : c.source.values;
  const fovea_in& scales = keys ? c.source.key_scales : c.source.value_scales;
  for (uint32_t done = 0; done < count;) {
    const KeyPlace place = places.of(entry, token + done);
    const uint32_t n = place.count < count - done ? uint32_t(place.count) : count - done;
    const bool pinned = c.kind == FOVEA_KV_RING && token + done < c.pinned_tokens;
    const uint32_t end = token + done + n;  // of the run
    const uint32_t skip = pinned || token + done >= from ? 0 : from < end ? from - (token + done) : n;
    if (skip < n) {
      KeyPlace first = place;
      first.row += skip;
      const NarrowRows narrow = {n - skip,
                                 keys ? c.head_dim : c.value_dim,
                                 element(array, unit_bytes(dtype), first, head),
                                 array.token_stride,
                                 scale_bytes(dtype) ? element(scales, scale_bytes(dtype), first, head) : nullptr,
                                 scales.token_stride,
                                 rows.in + ptrdiff_t(done + skip) * rows.stride,
                                 rows.stride};
      kernels.narrow[dtype](narrow);
    }
    done += n;
  }
}

}  // namespace

fovea_rope_args turning_args(const fovea_kv_cache& c, const fovea_kv_append_args& a, uint32_t b, uint32_t first,
                             uint32_t count) {
  fovea_rope_args rope = *a.rope;
  rope.target = a.target;
  rope.batch = 1;
  rope.heads = c.kv_heads;
  rope.tokens = count;
  rope.dim = c.head_dim;
  rope.out = {a.workspace, 0, ptrdiff_t(count) * ptrdiff_t(c.head_dim), ptrdiff_t(c.head_dim)};
  rope.in = a.keys;
  rope.in.batch_stride = 0;
  rope.in.data = static_cast<const float*>(a.keys.data) + ptrdiff_t(b) * a.keys.batch_stride +
                 ptrdiff_t(first) * a.keys.token_stride;
  rope.positions = rope.token_positions = nullptr;
  rope.position_offset += int64_t(c.lengths[a.entry + b]) + first;
  return rope;
}

void append_to_cache(fovea_kv_cache& c, const fovea_kv_append_args& a) {
  const fovea_target target = resolve_target(a.target)->target;
  const ConvertKernels& kernels = convert_kernels(target);
  for (uint32_t b = 0; b < a.batch; ++b) {
    const uint32_t entry = a.entry + b, length = c.lengths[entry], count = a.counts ? a.counts[b] : a.tokens;
    const uint32_t end = length + count, slots = c.max_tokens - c.pinned_tokens;
    const bool ring = config::kRing && c.kind == FOVEA_KV_RING;
    const uint32_t from = ring && end > slots ? end - slots : 0;  // tokens before it give way
    for (uint32_t head = 0; head < c.kv_heads; ++head) {
      const auto rows = [&](const fovea_in& in) {
        return NewRows{
            static_cast<const float*>(in.data) + ptrdiff_t(b) * in.batch_stride + ptrdiff_t(head) * in.head_stride,
            in.token_stride};
      };
      put_rows(c, kernels, false, entry, head, length, count, from, rows(a.values));
      if (!a.rope) put_rows(c, kernels, true, entry, head, length, count, from, rows(a.keys));
    }
    const size_t token_floats = size_t(c.kv_heads) * c.head_dim,
                 room = a.workspace_bytes / sizeof(float) / token_floats;
    for (uint32_t first = 0; a.rope && first < count;) {
      const uint32_t n = room < count - first ? uint32_t(room) : count - first;
      run_rope(turning_args(c, a, b, first, n), rope_kernels(target));
      for (uint32_t head = 0; head < c.kv_heads; ++head) {
        const float* const in = static_cast<const float*>(a.workspace) + size_t(head) * n * c.head_dim;
        put_rows(c, kernels, true, entry, head, length + first, n, from, {in, ptrdiff_t(c.head_dim)});
      }
      first += n;
    }
    c.lengths[entry] = end;
    if (ring && end > c.max_tokens && end - slots > c.first_tokens[entry]) c.first_tokens[entry] = end - slots;
  }
}

}  // namespace fovea
