// SPDX-License-Identifier: Apache-2.0
//
// Operators on rows of floats between products. Each takes little time; taken, they save changes between
// backends, which cost some microseconds each.
#include <algorithm>
#include <atomic>
#include <cmath>

#include "context.h"

namespace fovea_ggml {
namespace {

bool are_floats(const ggml_tensor* t) { return t->type == GGML_TYPE_F32 && has_rows(t); }

// Row r of the node, or that of a tensor which is repeated to its shape.
float* row(const ggml_tensor* t, int64_t r, const ggml_tensor* node) {
  const int64_t i1 = r % node->ne[1], i2 = r / node->ne[1] % node->ne[2], i3 = r / node->ne[1] / node->ne[2];
  return reinterpret_cast<float*>(static_cast<char*>(t->data) + i1 % t->ne[1] * t->nb[1] + i2 % t->ne[2] * t->nb[2] +
                                  i3 % t->ne[3] * t->nb[3]);
}

bool takes_add(const ggml_tensor* node) {
  return are_floats(node->src[0]) && are_floats(node->src[1]) && are_floats(node) && node->src[1]->ne[0] == node->ne[0];
}

bool compute_add(Context& context, ggml_tensor* node) {
  context.run(ggml_nrows(node), ggml_nelements(node), [&](int64_t r, uint32_t) {
    const float *a = row(node->src[0], r, node), *b = row(node->src[1], r, node);
    float* const y = row(node, r, node);
    for (int64_t i = 0; i < node->ne[0]; ++i) y[i] = a[i] + b[i];
  });
  return true;
}

bool takes_norm(const ggml_tensor* node) { return are_floats(node->src[0]) && are_floats(node); }

// x / max(|x|, epsilon)
bool compute_norm(Context& context, ggml_tensor* node) {
  const float epsilon = option(node, 0);
  context.run(ggml_nrows(node), ggml_nelements(node), [&](int64_t r, uint32_t) {
    const float* const x = row(node->src[0], r, node);
    float* const y = row(node, r, node);
    double sum = 0;
    for (int64_t i = 0; i < node->ne[0]; ++i) sum += double{x[i]} * double{x[i]};
    const float factor = 1 / std::max(static_cast<float>(std::sqrt(sum)), epsilon);
    for (int64_t i = 0; i < node->ne[0]; ++i) y[i] = x[i] * factor;
  });
  return true;
}

int activation_of(const ggml_tensor* node) {
  switch (ggml_get_glu_op(node)) {
    case GGML_GLU_OP_REGLU: return FOVEA_ACTIVATION_RELU;
    case GGML_GLU_OP_GEGLU: return FOVEA_ACTIVATION_GELU_TANH;
    case GGML_GLU_OP_SWIGLU: return FOVEA_ACTIVATION_SILU;
    case GGML_GLU_OP_GEGLU_ERF: return FOVEA_ACTIVATION_GELU;
    default: return -1;
  }
}

bool takes_gate(const ggml_tensor* node) {
  const ggml_tensor *x = node->src[0], *factor = node->src[1];
  return activation_of(node) >= 0 && are_floats(x) && are_floats(node) && (!factor || are_floats(factor));
}

// activation(x) * factor, which may be the two halves of one row.
bool compute_gate(Context& context, ggml_tensor* node) {
  const ggml_tensor *x = node->src[0], *factor = node->src[1] ? node->src[1] : x;
  const int64_t n = node->ne[0];
  const bool swapped = node->op_params[1] != 0, halves = !node->src[1];
  std::atomic<fovea_status> worst{FOVEA_OK};
  context.run(ggml_nrows(node), ggml_nelements(node), [&](int64_t r, uint32_t) {
    fovea_activation_args args = {};
    args.struct_bytes = sizeof args;
    args.activation = static_cast<fovea_activation_kind>(activation_of(node));
    args.batch = args.heads = args.tokens = 1;
    args.dim = static_cast<uint32_t>(n);
    args.x.data = row(x, r, node) + (halves && swapped ? n : 0);
    args.factor.data = row(factor, r, node) + (halves && !swapped ? n : 0);
    args.y.data = row(node, r, node);
    const fovea_status status = fovea_activation(&args);
    if (status != FOVEA_OK) worst = status;
  });
  return report(node, worst);
}

}  // namespace

const Operator kAdd = {GGML_OP_ADD, "ADD", takes_add, compute_add};
const Operator kGate = {GGML_OP_GLU, "GLU", takes_gate, compute_gate};
const Operator kNormalize = {GGML_OP_L2_NORM, "L2_NORM", takes_norm, compute_norm};

}  // namespace fovea_ggml
