// SPDX-License-Identifier: Apache-2.0
#include "ground/base/arithmetic.h"
#include "layers/tensors/call.h"

#include "ground/base/strides.h"
#include "ground/formats/kernels.h"

namespace fovea {
namespace {

const void* row_in(const fovea_in& array, fovea_dtype dtype, size_t entry, size_t head, size_t token) {
  return row_of(array, unscaled_bytes(dtype), ptrdiff_t(entry), ptrdiff_t(head), ptrdiff_t(token));
}
void* row_in(const fovea_out& array, fovea_dtype dtype, size_t entry, size_t head, size_t token) {
  return const_cast<void*>(row_in(as_input(array), dtype, entry, head, token));
}

// Not inlined: sums and products share it.
__attribute__((noinline)) void run_pair(PairCall& c, bool multiply) {
  PairRow& row = c.row;
  for_each_row(c.rows, [&](size_t entry, size_t head, size_t token) {
    row.y = row_in(*c.y, row.y_dtype, entry, head, token);
    row.a = row_in(*c.a, row.a_dtype, entry, head, token);
    row.b = row_in(*c.b, row.b_dtype, entry, head, token);
    multiply ? c.kernels->multiply(row) : c.kernels->add(row);
  });
}

}  // namespace

void run_sum(PairCall& call) { run_pair(call, false); }
void run_product(PairCall& call) { run_pair(call, true); }

void run_pooling(PoolingCall& c) {
  MeanRow& row = c.row;
  for (uint32_t entry = 0; entry < c.batch; ++entry) {
    row.tokens = c.lengths && c.lengths[entry] < c.most ? c.lengths[entry] : c.most;
    for (uint32_t head = 0; head < c.heads; ++head) {
      row.y = row_in(*c.y, row.y_dtype, entry, head, 0);
      row.x = row_in(*c.x, row.x_dtype, entry, head, 0);
      c.kernels->mean(row);
    }
  }
}

void run_embedding(const EmbeddingCall& c) {
  if (c.tokens == 0) return;
  const fovea_linear_weights& w = c.table;
  const size_t scales = dense_scale_stride(w.dtype, c.dim) * scale_bytes(w.dtype);  // bytes of a row's
  for (uint32_t token = 0; token < c.tokens; ++token) {
    const auto index = ptrdiff_t(c.indices[token]);
    const void* const row =
        advanced(static_cast<const char*>(w.data), stride_bytes(w.row_stride, unit_bytes(w.dtype), index));
    const void* const scale = advanced(static_cast<const char*>(w.scales), stride_bytes(ptrdiff_t(scales), 1, index));
    float* const y = c.y + ptrdiff_t(token) * c.y_stride;
    weight_kernels(c.target).widen_weights(w.dtype, {1, c.dim, y, 0, row, 0, scale, 0});
  }
}

}  // namespace fovea
