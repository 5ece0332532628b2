// SPDX-License-Identifier: Apache-2.0
//
// GATED_DELTA_NET: the gated delta rule, and L2_NORM, which stands before it. ggml keeps the transpose of the library's S,
// which is copied before and after: a call with a few tokens pays for that.
#include <algorithm>
#include <cmath>

#include "context.h"

namespace fovea_ggml {
namespace {

constexpr int64_t kFewestTokens = 8;  // below that the copies take longer than what is saved

fovea_in in(const ggml_tensor* t, int64_t first_head) {
  return {static_cast<const char*>(t->data) + first_head * t->nb[1], stride(t, 3), stride(t, 1), stride(t, 2)};
}

// Value head h reads head h % heads of queries and keys; so the value heads are taken in turns of as many.
fovea_delta_args turn_of(const ggml_tensor* node, int64_t first_head) {
  const ggml_tensor *q = node->src[0], *k = node->src[1], *v = node->src[2], *g = node->src[3], *beta = node->src[4];
  fovea_delta_args args = {};
  args.struct_bytes = sizeof args;
  args.rule = FOVEA_DELTA_RULE_GATED_DELTA;
  args.batch = static_cast<uint32_t>(v->ne[3]);
  args.q_heads = args.k_heads = args.v_heads = static_cast<uint32_t>(k->ne[1]);
  args.head_dim = args.value_dim = static_cast<uint32_t>(v->ne[0]);
  args.decay_dim = static_cast<uint32_t>(g->ne[0]);
  args.tokens = static_cast<uint32_t>(v->ne[2]);
  args.q = in(q, 0);
  args.k = in(k, 0);
  args.v = in(v, first_head);
  args.decay = in(g, first_head);
  args.beta = in(beta, first_head);
  const ptrdiff_t dim = v->ne[0], heads = v->ne[1], tokens = v->ne[2];
  args.out = {static_cast<float*>(node->data) + first_head * dim, tokens * heads * dim, dim, heads * dim};
  return args;
}

void transpose(const float* from, int64_t dim, float* to) {
  for (int64_t i = 0; i < dim * dim; ++i) to[i] = from[i % dim * dim + i / dim];
}

bool takes(const ggml_tensor* node) {
  const ggml_tensor *q = node->src[0], *k = node->src[1], *v = node->src[2];
  const int32_t states = node->op_params[0];
  if (states != 1 || v->ne[2] < kFewestTokens || q->ne[1] != k->ne[1] || v->ne[1] % k->ne[1] != 0 ||
      q->ne[3] != v->ne[3] || k->ne[3] != v->ne[3] || !std::all_of(node->src, node->src + 6, has_rows)) {
    return false;
  }
  const fovea_delta_args args = turn_of(node, 0);
  size_t bytes;
  return fovea_delta_matrices_workspace_bytes(&args, &bytes) == FOVEA_OK;
}

bool compute(Context& context, ggml_tensor* node) {
  const ggml_tensor *k = node->src[1], *v = node->src[2], *state = node->src[5];
  const int64_t dim = v->ne[0], heads = v->ne[1], batch = v->ne[3], count = dim * dim, all = heads * batch * count;
  const float* const before = static_cast<const float*>(state->data);
  float* const after = static_cast<float*>(node->data) + dim * heads * v->ne[2] * batch;

  fovea_delta_args args = turn_of(node, 0);
  args.executor = context.executor();
  size_t bytes = 0;
  if (!report(node, fovea_delta_matrices_workspace_bytes(&args, &bytes))) return false;
  char* const memory = context.memory(aligned(bytes) + all * sizeof(float));
  if (!memory) return report(node, FOVEA_ERR_WORKSPACE);
  float* const s = reinterpret_cast<float*>(memory + aligned(bytes));
  const auto each = [&](int64_t i, uint32_t) { transpose(before + i * count, dim, s + i * count); };
  context.run(heads * batch, all, each);
  for (int64_t head = 0; head < heads; head += k->ne[1]) {
    args = turn_of(node, head);
    args.executor = context.executor();
    const fovea_in from = {s + head * count, heads * count, count, dim};
    const fovea_out to = {s + head * count, heads * count, count, dim};
    if (!report(node, fovea_delta_matrices(&args, &from, &to, memory, bytes))) return false;
  }
  context.run(heads * batch, all, [&](int64_t i, uint32_t) { transpose(s + i * count, dim, after + i * count); });
  return true;
}

bool takes_norm(const ggml_tensor* node) {
  return node->type == GGML_TYPE_F32 && has_rows(node->src[0]) && has_rows(node);
}

// x / max(|x|, epsilon)
bool normalize(Context& context, ggml_tensor* node) {
  context.run(ggml_nrows(node), ggml_nelements(node), [&](int64_t r, uint32_t) {
    const float* const x = row_of(node->src[0], r);
    float* const y = row_of(node, r);
    double sum = 0;
    for (int64_t i = 0; i < node->ne[0]; ++i) sum += double{x[i]} * double{x[i]};
    const float factor = 1 / std::max(static_cast<float>(std::sqrt(sum)), option(node, 0));
    for (int64_t i = 0; i < node->ne[0]; ++i) y[i] = x[i] * factor;
  });
  return true;
}

}  // namespace

const Operator kNormalize = {GGML_OP_L2_NORM, "L2_NORM", takes_norm, normalize};
const Operator kDelta = {GGML_OP_GATED_DELTA_NET, "GATED_DELTA_NET", takes, compute};

}  // namespace fovea_ggml
