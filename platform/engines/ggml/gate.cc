// SPDX-License-Identifier: Apache-2.0
//
// Gated activations. They take little time, and stand between two products: taken, they save two changes of backends.
#include <atomic>

#include "context.h"

namespace fovea_ggml {
namespace {

bool are_floats(const ggml_tensor* t) { return t->type == GGML_TYPE_F32 && has_rows(t); }

int activation_of(const ggml_tensor* node) {
  switch (ggml_get_glu_op(node)) {
    case GGML_GLU_OP_REGLU: return FOVEA_ACTIVATION_RELU;
    case GGML_GLU_OP_GEGLU: return FOVEA_ACTIVATION_GELU_TANH;
    case GGML_GLU_OP_SWIGLU: return FOVEA_ACTIVATION_SILU;
    case GGML_GLU_OP_GEGLU_ERF: return FOVEA_ACTIVATION_GELU;
    default: return -1;
  }
}

bool takes(const ggml_tensor* node) {
  const ggml_tensor *x = node->src[0], *factor = node->src[1];
  return activation_of(node) >= 0 && are_floats(x) && are_floats(node) && (!factor || are_floats(factor));
}

// activation(x) * factor, which may be the two halves of one row.
bool compute(Context& context, ggml_tensor* node) {
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
    args.x.data = row_of(x, r) + (halves && swapped ? n : 0);
    args.factor.data = row_of(factor, r) + (halves && !swapped ? n : 0);
    args.y.data = row_of(node, r);
    const fovea_status status = fovea_activation(&args);
    if (status != FOVEA_OK) worst = status;
  });
  return report(node, worst);
}

}  // namespace

const Operator kGate = {GGML_OP_GLU, "GLU", takes, compute};

}  // namespace fovea_ggml
