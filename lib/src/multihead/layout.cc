// SPDX-License-Identifier: Apache-2.0
#include "base/arithmetic.h"
#include "multihead/layout.h"

#include "base/carver.h"
#include "base/strides.h"
#include "targets/list.h"

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
    if (args_.cache->lengths[b] > most) most = args_.cache->lengths[b];
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

// Projected heads are turned in place; heads that come straight from an input are turned into `to`.
fovea_rope_args LayerCall::turning(const Tokens& from, const Tokens& to, uint32_t heads) const {
  fovea_rope_args turn = *args_.rope;
  turn.target = kernels_of(d_.target);  // for calls without processor_features
  turn.batch = from.batch;
  turn.heads = heads;
  turn.tokens = from.count;
  turn.dim = d_.head_dim;
  turn.in = from.heads(turn.dim);
  turn.out = to.heads_out(turn.dim);
  turn.token_positions = nullptr;
  turn.token_positions_stride = 0;
  return turn;
}

void LayerCall::lay_out_append(const Places& p, fovea_kv_append_args* append) const {
  fovea_kv_append_args& a = *append;
  a.struct_bytes = sizeof a;
  a.target = kernels_of(d_.target);
  a.batch = args_.batch;
  a.tokens = p.k.count;
  a.keys = p.k.heads(d_.head_dim);
  a.values = p.v.heads(d_.value_dim);
  a.rope = args_.rope;
  a.workspace = p.shared.fast;
  a.workspace_bytes = p.shared.fast_bytes;
}

void LayerCall::lay_out_attention(const Places& p, MultiheadSteps* steps) const {
  steps->turns_q = args_.rope != nullptr;
  steps->turns_k = args_.rope && projects_keys();
  if (steps->turns_q) steps->turn_q = turning(w_.q.data ? p.q : x(), p.q, d_.q_heads);
  if (steps->turns_k) steps->turn_k = turning(w_.k.data ? p.k : keys(), p.k, d_.kv_heads);
  fovea_attention_args& a = steps->attention;
  a = args_.attention;
  a.batch = args_.batch;
  a.q_tokens = args_.q_tokens;
  a.out = p.o.heads_out(d_.value_dim);
  a.q = p.q.heads(d_.head_dim);
  a.kv = {};
  a.kv_tokens = p.k.count;
  a.kv.keys = p.k.heads(d_.head_dim);
  a.kv.values = p.v.heads(d_.value_dim);
  if (!args_.cache) return;
  a.kv = args_.cache->source;
  a.kv_lengths = args_.cache->lengths;
  a.kv_tokens = longest();
}

}  // namespace fovea
