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

// y = the rotated query x; or takes back the rotation of y, which is the output x.
void rotate_row(const fovea_attention_desc& d, bool inverse, const void* x, float* y) {
  if (!inverse) widen_kernels(d.target).widen(d.q_dtype, {1, d.head_dim, y, 0, x, 0, nullptr, 0});
  rotate_rows(d.target, inverse ? d.value_dim : d.head_dim, d.rotation_seed, inverse, y, 1);
}

// Rotates the queries `rows` of a tile into `to`, one after the other; without `to`, takes back that of outputs.
void rotate_tile(const HeadTask& task, const QueryTile& tile, const TypedRows& rows, float* to) {
  const fovea_attention_desc& d = task.call().desc;
  for (uint32_t row = 0; row < tile.live; ++row) {
    void* const x = tile_row(rows, tile, row);
    rotate_row(d, !to, x, to ? to + size_t(row) * d.head_dim : static_cast<float*>(x));
  }
}

}  // namespace

void begin_rotated(const HeadTask& task, const QueryTile& tile) {
  float* const rotated = task.rotated;
  rotate_tile(task, tile, task.q, rotated);
  TypedRows rows = {};
  rows.head_stride = ptrdiff_t(task.call().desc.head_dim * sizeof(float));
  rows.token_stride = rows.head_stride * ptrdiff_t(tile.group);
  // The kernel counts from the first token and head of the call.
  rows.data = advanced(rotated, -(rows.token_stride * ptrdiff_t(tile.first_token) +
                                  rows.head_stride * ptrdiff_t(tile.first_head)));
  rows.dtype = FOVEA_F32;
  task.kernel().begin(tile, rows, task.score_factor());
}

const float* rotated_query(const HeadTask& task, const void* query) {
  rotate_row(task.call().desc, false, query, task.rotated);
  return task.rotated;
}

void rotate_back(const HeadTask& task, const QueryTile& tile, const TypedRows& outputs) {
  rotate_tile(task, tile, outputs, nullptr);
}

}  // namespace fovea
