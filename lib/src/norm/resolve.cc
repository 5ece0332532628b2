// SPDX-License-Identifier: Apache-2.0
#include "norm/resolve.h"

#include "base/buffers.h"
#include "base/status.h"
#include "targets/registry.h"

namespace fovea {
namespace {

bool is_finite(float x) { return x - x == 0.0f; }

fovea_status check_target(fovea_target target) {
  if (!is_target(target)) return FOVEA_ERR_ENUM;
  return resolve_target(target) ? FOVEA_OK : FOVEA_ERR_TARGET;
}

// Arrays of the rows of a call.
struct Rows {
  uint32_t batch, heads, tokens, dim;

  bool none() const { return batch == 0 || heads == 0 || tokens == 0; }
  bool same_places(const fovea_out& y, const fovea_in& x) const {
    return y.data == x.data && (batch == 1 || y.batch_stride == x.batch_stride) &&
           (heads == 1 || y.head_stride == x.head_stride) && (tokens == 1 || y.token_stride == x.token_stride);
  }
  fovea_status check(const void* data, ptrdiff_t batch_stride, ptrdiff_t head_stride, ptrdiff_t token_stride,
                     bool output, Span* span) const {
    const Dimensions dimensions = {{batch, batch_stride}, {heads, head_stride}, {tokens, token_stride}, {dim, 1}};
    return check_array(data, sizeof(float), dimensions, output, span);
  }
  fovea_status check(const fovea_out& y, Span* span) const {
    return check(y.data, y.batch_stride, y.head_stride, y.token_stride, true, span);
  }
  // An input that may be where y is, or must not.
  fovea_status check(const fovea_in& x, const fovea_out& y, const Span& y_span, bool may_be_y) const {
    Span span;
    FOVEA_RETURN_IF_ERROR(check(x.data, x.batch_stride, x.head_stride, x.token_stride, false, &span));
    if (may_be_y && same_places(y, x)) return FOVEA_OK;
    return y_span.overlaps(span) ? FOVEA_ERR_OVERLAP : FOVEA_OK;
  }
};

}  // namespace

fovea_status check_activation_args(const fovea_activation_args& a) {
  if (a.struct_bytes != sizeof a) return FOVEA_ERR_STRUCT;
  if (uint32_t(a.activation) > FOVEA_ACTIVATION_SIGMOID) return FOVEA_ERR_ENUM;
  FOVEA_RETURN_IF_ERROR(check_target(a.target));
  if (a.dim == 0) return FOVEA_ERR_DIM;
  if (!is_finite(a.alpha)) return FOVEA_ERR_NUMBER;
  const Rows rows = {a.batch, a.heads, a.tokens, a.dim};
  if (rows.none()) return FOVEA_OK;
  Span y;
  FOVEA_RETURN_IF_ERROR(rows.check(a.y, &y));
  FOVEA_RETURN_IF_ERROR(rows.check(a.x, a.y, y, true));
  return a.factor.data ? rows.check(a.factor, a.y, y, true) : FOVEA_OK;
}

fovea_status check_norm_args(const fovea_norm_args& a) {
  if (a.struct_bytes != sizeof a) return FOVEA_ERR_STRUCT;
  if (uint32_t(a.norm) > FOVEA_NORM_L2) return FOVEA_ERR_ENUM;
  if (a.gate.data && (uint32_t(a.gate_order) > FOVEA_NORM_GATE_BEFORE ||
                      uint32_t(a.gate_activation) > FOVEA_ACTIVATION_SIGMOID)) {
    return FOVEA_ERR_ENUM;
  }
  FOVEA_RETURN_IF_ERROR(check_target(a.target));
  if (a.dim == 0) return FOVEA_ERR_DIM;
  if (!(a.epsilon >= 0.0f) || !is_finite(a.epsilon) || !is_finite(a.weight_offset)) return FOVEA_ERR_NUMBER;
  if (!a.weight && a.weight_offset != 0.0f) return FOVEA_ERR_NULL;
  const Rows rows = {a.batch, a.heads, a.tokens, a.dim};
  if (rows.none()) return FOVEA_OK;
  Span y;
  FOVEA_RETURN_IF_ERROR(rows.check(a.y, &y));
  FOVEA_RETURN_IF_ERROR(rows.check(a.x, a.y, y, true));
  if (a.weight) {
    const Rows weights = {1, a.heads, 1, a.dim};
    FOVEA_RETURN_IF_ERROR(weights.check({a.weight, 0, a.weight_head_stride, 0}, a.y, y, false));
  }
  return a.gate.data ? rows.check(a.gate, a.y, y, false) : FOVEA_OK;
}

}  // namespace fovea
