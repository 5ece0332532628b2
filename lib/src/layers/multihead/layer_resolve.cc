// SPDX-License-Identifier: Apache-2.0
#include "ground/base/arithmetic.h"
#include "layers/multihead/layer_resolve.h"

#include "ground/base/carver.h"
#include "ground/base/strides.h"
#include "ground/targets/list.h"

namespace fovea {
namespace {

bool is_product(ptrdiff_t product, uint32_t a, ptrdiff_t b) {
  ptrdiff_t exact;
  return !__builtin_mul_overflow(ptrdiff_t(a), b, &exact) && exact == product;
}

// A dense array for these tokens, in the same order in memory, so that one linear layer can compute all of it.
Tokens dense_like(const Tokens& x, void* data, ptrdiff_t width, const Tensor& tensor) {
  if (!x.batch_is_outer() && x.tokens_are_outer()) {
    return {data, x.batch, x.count, width, width * ptrdiff_t(x.batch), tensor};
  }
  return {data, x.batch, x.count, width * ptrdiff_t(x.count), width, tensor};
}

}  // namespace

bool Tokens::batch_is_outer() const { return batch == 1 || is_product(batch_stride, count, token_stride); }
bool Tokens::tokens_are_outer() const { return count == 1 || is_product(token_stride, batch, batch_stride); }

uint32_t LayerCall::longest() const {
  uint32_t most = 0;
  for (uint32_t b = 0; b < args_.batch; ++b) {
    if (cache()->lengths[b] > most) most = cache()->lengths[b];
  }
  return most;
}

// The workspace holds the projections, then what the steps share. Packed projections are parts of the rows of one
// array.
Places LayerCall::place(void* workspace) const {
  const bool turns = attends() && args_.rope;
  const size_t q_rows = size_t(args_.batch) * args_.q_tokens, k_rows = size_t(args_.batch) * keys().count;
  Carver carver(workspace);
  const auto project = [&](const Tokens& from, size_t rows, uint64_t width, const Tensor& to) {
    return dense_like(from, carver.take(size_t(width), rows, to.unit_bytes()), ptrdiff_t(width), to);
  };
  Places p = {x(), keys(), values(), y(), false, {}};
  const Tensor q = q_tensor(), k = k_tensor(), v = v_tensor();
  p.packed = args_.weights.qkv.data && attends() && projects_keys() && !args_.keys.data && !args_.values.data &&
             q == k && q == v;
  if (p.packed) {
    p.q = p.k = p.v = project(x(), q_rows, widths_.all(), q);
    p.k.data = advanced(p.q.data, stride_bytes(ptrdiff_t(widths_.q), q.unit_bytes()));
    p.v.data = advanced(p.k.data, stride_bytes(ptrdiff_t(widths_.k), q.unit_bytes()));
  } else {
    if (attends() && (w_.q.data || turns)) p.q = project(p.q, q_rows, widths_.q, q);
    if (projects_keys() && (w_.k.data || turns)) p.k = project(p.k, k_rows, widths_.k, k);
    if (projects_keys() && w_.v.data) p.v = project(p.v, k_rows, widths_.v, v);
  }
  if (attends() && w_.out.data) p.o = project(p.o, q_rows, widths_.out, o_tensor());
  p.shared = {static_cast<char*>(workspace) + carver.slow_bytes().value, plan_.shared_bytes, nullptr, 0};
  return p;
}

}  // namespace fovea
