// SPDX-License-Identifier: Apache-2.0
#include "base/arithmetic.h"
#include "norm/call.h"

#include "base/strides.h"

namespace fovea {
namespace {

// Goes through the rows [batch][heads][tokens], one after the other.
struct Row {
  uint32_t entry = 0, head = 0, token = 0;

  bool next(const NormRows& rows) {
    if (++token < rows.tokens) return true;
    token = 0;
    if (++head < rows.heads) return true;
    head = 0;
    return ++entry < rows.batch;
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

}  // namespace

void run_activation(const ActivationCall& c) {
  if (c.rows.batch == 0) return;
  Row row;
  do {
    c.kernels->activate({row.of(*c.x), row.of(*c.factor), row.of(*c.y), c.dim, c.alpha, c.sigmoid});
  } while (row.next(c.rows));
}

void run_norm(const NormCall& c) {
  if (c.rows.batch == 0) return;
  const bool sigmoid = c.gate_activation == FOVEA_ACTIVATION_SIGMOID;
  Row row;
  do {
    const float* const gate = row.of(*c.gate);
    const float* x = row.of(*c.x);
    float* const y = row.of(*c.y);
    if (gate && c.gate_order == FOVEA_NORM_GATE_BEFORE) {
      c.kernels->activate({gate, x, y, c.dim, 1.0f, sigmoid});
      x = y;
    }
    const float* const weight = c.weight ? c.weight + ptrdiff_t(row.head) * c.weight_head_stride : nullptr;
    c.kernels->normalise({x, weight, y, c.dim, c.divisor, c.epsilon, c.weight_offset});
    if (gate && c.gate_order == FOVEA_NORM_GATE_AFTER) c.kernels->activate({gate, y, y, c.dim, 1.0f, sigmoid});
  } while (row.next(c.rows));
}

}  // namespace fovea
