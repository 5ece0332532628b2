// SPDX-License-Identifier: Apache-2.0
#include "plan/softmax_check.h"

#include "plan/memory.h"
#include "targets/registry.h"

namespace fovea {

fovea_status check_softmax_args(const fovea_softmax_args& a) {
  if (a.struct_bytes != sizeof(fovea_softmax_args)) return FOVEA_ERR_STRUCT;
  if (a.target != FOVEA_TARGET_BEST && a.target != FOVEA_TARGET_XSIMD && !target_traits(a.target))
    return FOVEA_ERR_ENUM;
  if (!resolve_target(a.target)) return FOVEA_ERR_TARGET;
  if (!(a.scale - a.scale == 0.0f)) return FOVEA_ERR_NUMBER;
  if (a.mask && a.mask_inner_stride != 0 && a.mask_inner_stride != 1) return FOVEA_ERR_MASK;
  if (a.outer == 0 || a.axis == 0 || a.inner == 0) return FOVEA_OK;

  const Dimension out[] = {{a.outer, a.out_outer_stride}, {a.axis, a.out_axis_stride}, {a.inner, 1}};
  const Dimension in[] = {{a.outer, a.in_outer_stride}, {a.axis, a.in_axis_stride}, {a.inner, 1}};
  const Dimension mask[] = {
      {a.outer, a.mask_outer_stride}, {a.axis, a.mask_axis_stride}, {a.inner, a.mask_inner_stride}};
  if (!a.out || !a.in) return FOVEA_ERR_NULL;
  if (!is_aligned(a.out, 4) || !is_aligned(a.in, 4) || !is_aligned(a.mask, 4)) return FOVEA_ERR_ALIGNMENT;
  Span out_span, in_span, mask_span;
  if (!span_of(a.out, 4, out, &out_span) || !span_of(a.in, 4, in, &in_span)) return FOVEA_ERR_SIZE;
  if (a.mask && !span_of(a.mask, 4, mask, &mask_span)) return FOVEA_ERR_SIZE;
  if (!elements_distinct(out)) return FOVEA_ERR_STRIDE;
  const bool in_place = a.out == a.in && (a.outer == 1 || a.out_outer_stride == a.in_outer_stride) &&
                        (a.axis == 1 || a.out_axis_stride == a.in_axis_stride);
  if (!in_place && out_span.overlaps(in_span)) return FOVEA_ERR_OVERLAP;
  if (a.mask && out_span.overlaps(mask_span)) return FOVEA_ERR_OVERLAP;
  return FOVEA_OK;
}

}  // namespace fovea
