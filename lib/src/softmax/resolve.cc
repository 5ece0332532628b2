// SPDX-License-Identifier: Apache-2.0
#include "base/arithmetic.h"
#include "softmax/resolve.h"

#include "base/buffers.h"
#include "base/finite.h"
#include "softmax/call.h"
#include "targets/registry.h"

namespace fovea {
namespace {

fovea_status check(const fovea_softmax_args& a, const float* data, ptrdiff_t outer_stride, ptrdiff_t axis_stride,
                   ptrdiff_t inner_stride, bool output, Span* span) {
  const Dimensions dimensions = {{1, 0}, {a.outer, outer_stride}, {a.axis, axis_stride}, {a.inner, inner_stride}};
  return check_array(data, sizeof(float), dimensions, output, span);
}

}  // namespace

fovea_status check_softmax_args(const fovea_softmax_args& a, bool logarithm) {
  if (a.struct_bytes != sizeof(fovea_softmax_args)) return FOVEA_ERR_STRUCT;
  if (!is_target(a.target)) return FOVEA_ERR_ENUM;
  if (!resolve_target(a.target)) return FOVEA_ERR_TARGET;
  if (!is_finite(a.scale)) return FOVEA_ERR_NUMBER;
  if ((!config::kLogSoftmax && logarithm) || (!config::kSoftmaxMask && a.mask)) return FOVEA_ERR_UNSUPPORTED;
  if (a.mask && a.mask_inner_stride != 0 && a.mask_inner_stride != 1) return FOVEA_ERR_MASK;
  if (a.outer == 0 || a.axis == 0 || a.inner == 0) return FOVEA_OK;
  if (!config::kSoftmaxStrided && !is_rows(a)) return FOVEA_ERR_UNSUPPORTED;

  Span out, other;
  fovea_status status = check(a, a.out, a.out_outer_stride, a.out_axis_stride, 1, true, &out);
  if (status != FOVEA_OK) return status;
  status = check(a, a.in, a.in_outer_stride, a.in_axis_stride, 1, false, &other);
  if (status != FOVEA_OK) return status;
  const bool in_place = a.out == a.in && (a.outer == 1 || a.out_outer_stride == a.in_outer_stride) &&
                        (a.axis == 1 || a.out_axis_stride == a.in_axis_stride);
  if (!in_place && out.overlaps(other)) return FOVEA_ERR_OVERLAP;
  if (!config::kSoftmaxMask || !a.mask) return FOVEA_OK;
  status = check(a, a.mask, a.mask_outer_stride, a.mask_axis_stride, a.mask_inner_stride, false, &other);
  if (status != FOVEA_OK) return status;
  return out.overlaps(other) ? FOVEA_ERR_OVERLAP : FOVEA_OK;
}

}  // namespace fovea
