// SPDX-License-Identifier: Apache-2.0
#include "ground/base/arithmetic.h"
#include "core/cache/call.h"

#include "core/hadamard/call.h"
#include "ground/base/key_places.h"
#include "ground/formats/kernels.h"
#include "ground/targets/registry.h"

// Shifts of keys.
namespace fovea {
namespace {

void rotate_rows(const MadeCache& c, fovea_target target, float* rows, size_t count, bool inverse) {
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
  if (rotated) rotate_rows(c, call.target, rows, count, true);
  call.turning.heads = count;
  run_rope(call.turning);
  if (rotated) rotate_rows(c, call.target, rows, count, false);
  for (size_t i = 0; center && i < size_t(count) * c.head_dim; ++i) rows[i] -= center[i % c.head_dim];
}

}  // namespace

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
