// SPDX-License-Identifier: Apache-2.0
#include "base/arithmetic.h"
#include "norm/call.h"

#include "base/strides.h"

namespace fovea {
namespace {

// Goes through the rows [batch][heads][tokens], one after the other.
struct Row {
  uint32_t entry = 0, head = 0, token = 0;

  template <class Args>
  bool next(const Args& a) {
    if (++token < a.tokens) return true;
    token = 0;
    if (++head < a.heads) return true;
    head = 0;
    return ++entry < a.batch;
  }
  // Null if there is no array.
  const float* of(const fovea_in& array) const {
    if (!array.data) return nullptr;
    return reinterpret_cast<const float*>(
        row_of(array, sizeof(float), ptrdiff_t(entry), ptrdiff_t(head), ptrdiff_t(token)));
  }
  float* of(const fovea_out& array) const {
    return const_cast<float*>(of(fovea_in{array.data, array.batch_stride, array.head_stride, array.token_stride}));
  }
};

bool no_rows(uint32_t batch, uint32_t heads, uint32_t tokens) { return batch == 0 || heads == 0 || tokens == 0; }

}  // namespace

void run_activation(const fovea_activation_args& a, const NormKernels& kernels) {
  if (no_rows(a.batch, a.heads, a.tokens)) return;
  const float alpha = a.alpha == 0.0f ? 1.0f : a.alpha;
  Row row;
  do {
    kernels.activate({row.of(a.x), row.of(a.factor), row.of(a.y), a.dim, alpha,
                      a.activation == FOVEA_ACTIVATION_SIGMOID});
  } while (row.next(a));
}

void run_norm(const fovea_norm_args& a, const NormKernels& kernels) {
  if (no_rows(a.batch, a.heads, a.tokens)) return;
  const float divisor = a.norm == FOVEA_NORM_RMS ? float(a.dim) : 1.0f;
  const bool sigmoid = a.gate_activation == FOVEA_ACTIVATION_SIGMOID;
  Row row;
  do {
    const float* const gate = row.of(a.gate);
    const float* x = row.of(a.x);
    float* const y = row.of(a.y);
    if (gate && a.gate_order == FOVEA_NORM_GATE_BEFORE) {
      kernels.activate({gate, x, y, a.dim, 1.0f, sigmoid});
      x = y;
    }
    const float* const weight = a.weight ? a.weight + ptrdiff_t(row.head) * a.weight_head_stride : nullptr;
    kernels.normalise({x, weight, y, a.dim, divisor, a.epsilon, a.weight_offset});
    if (gate && a.gate_order == FOVEA_NORM_GATE_AFTER) kernels.activate({gate, y, y, a.dim, 1.0f, sigmoid});
  } while (row.next(a));
}

}  // namespace fovea
