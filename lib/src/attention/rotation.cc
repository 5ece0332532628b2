// SPDX-License-Identifier: Apache-2.0
#include "base/arithmetic.h"
#include "attention/rotation.h"

#include "formats/kernels.h"
#include "rotate/call.h"

namespace fovea {
namespace {

// The row of a query or an output of a tile.
void* tile_row(const TypedRows& rows, const QueryTile& tile, uint32_t row) {
  const uint32_t of_head = tile.first_head + row;
  return advanced(rows.data, ptrdiff_t(tile.first_token + of_head / tile.group) * rows.token_stride +
                                 ptrdiff_t(of_head % tile.group) * rows.head_stride);
}

void rotate_row(const fovea_attention_desc& d, size_t dim, bool inverse, const float* x, float* y) {
  RotateRow rotation = rotation_of(dim, rotate_block(dim), d.rotation_seed, inverse);
  rotation.x = x, rotation.y = y;
  rotate_kernels(d.target).rotate(rotation);
}

void rotate_to(const HeadTask& task, const void* query, float* to) {
  const fovea_attention_desc& d = task.call().desc;
  const bool f32 = is_f32<kUnscaledFormats>(d.q_dtype);
  if (!f32) widen_kernels(d.target).widen(d.q_dtype, {1, d.head_dim, to, 0, query, 0, nullptr, 0});
  rotate_row(d, d.head_dim, false, f32 ? static_cast<const float*>(query) : to, to);
}

}  // namespace

void begin_rotated(const HeadTask& task, const QueryTile& tile) {
  float* const to = task.rotated;
  const size_t dim = task.call().desc.head_dim;
  for (uint32_t row = 0; row < tile.live; ++row) rotate_to(task, tile_row(task.q, tile, row), to + row * dim);
  TypedRows rows = {};
  rows.head_stride = ptrdiff_t(dim * sizeof(float));
  rows.token_stride = rows.head_stride * ptrdiff_t(tile.group);
  rows.data = advanced(to, -ptrdiff_t(tile.first_token) * rows.token_stride -
                               ptrdiff_t(tile.first_head) * rows.head_stride);
  rows.dtype = FOVEA_F32;
  task.kernel().begin(tile, rows, task.score_factor());
}

const float* rotated_query(const HeadTask& task, const void* query) {
  rotate_to(task, query, task.rotated);
  return task.rotated;
}

void rotate_back(const HeadTask& task, const QueryTile& tile, const TypedRows& out) {
  const fovea_attention_desc& d = task.call().desc;
  for (uint32_t row = 0; row < tile.live; ++row) {
    float* const y = static_cast<float*>(tile_row(out, tile, row));
    rotate_row(d, d.value_dim, true, y, y);
  }
}

}  // namespace fovea
