// SPDX-License-Identifier: Apache-2.0
#include "ground/base/arithmetic.h"
#include "core/attention/head_task.h"

#include "core/hadamard/call.h"
#include "ground/formats/kernels.h"

namespace fovea {
namespace {

// The row of a query or an output of a tile.
void* tile_row(const TypedRows& rows, const QueryTile& tile, uint32_t row) {
  const uint32_t of_head = tile.first_head + row;
  return advanced(rows.data, ptrdiff_t(tile.first_token + of_head / tile.group) * rows.token_stride +
                                 ptrdiff_t(of_head % tile.group) * rows.head_stride);
}

// y = the rotated query x, or x with its rotation taken back.
void rotate_as_described(const fovea_attention_desc& d, bool inverse, const void* x, float* y) {
  const size_t dim = inverse ? d.value_dim : d.head_dim;
  HadamardRow rotation = hadamard_of(dim, hadamard_block(dim), d.hadamard_seed, inverse);
  if (!inverse && !is_f32<kUnscaledFormats>(d.q_dtype)) {
    widen_kernels(d.target).widen(d.q_dtype, {1, dim, y, 0, x, 0, nullptr, 0});
    x = y;
  }
  rotation.x = static_cast<const float*>(x), rotation.y = y;
  hadamard_kernels(d.target).hadamard(rotation);
}

}  // namespace

void rotate_tile(const HeadTask& task, const QueryTile& tile, bool inverse, const TypedRows& from,
                 const TypedRows& to) {
  for (uint32_t row = 0; row < tile.live; ++row) {
    rotate_as_described(task.call().desc, inverse, tile_row(from, tile, row),
                        static_cast<float*>(tile_row(to, tile, row)));
  }
}

void begin_rotated(const HeadTask& task, const QueryTile& tile) {
  const size_t dim = task.call().desc.head_dim;
  TypedRows rows = {};
  rows.head_stride = ptrdiff_t(dim * sizeof(float));
  rows.token_stride = rows.head_stride * ptrdiff_t(tile.group);
  rows.data = task.rotated -
              ptrdiff_t(dim) * (ptrdiff_t(tile.first_token) * ptrdiff_t(tile.group) + ptrdiff_t(tile.first_head));
  rows.dtype = FOVEA_F32;
  rotate_tile(task, tile, false, task.q, rows);
  task.kernel().begin(tile, rows, task.score_factor());
}

const float* rotated_query(const HeadTask& task, const void* query) {
  rotate_as_described(task.call().desc, false, query, task.rotated);
  return task.rotated;
}

}  // namespace fovea
