// SPDX-License-Identifier: Apache-2.0
#include "ground/base/arithmetic.h"
#include "core/softmax/call.h"

#include "fovea/fovea.h"
#include "ground/base/buffers.h"
#include "ground/base/numbers.h"
#include "ground/base/status.h"
#include "ground/targets/registry.h"

namespace fovea {
namespace {

fovea_status check_operand(const Softmaxes& s, const float* data, const SoftmaxStrides& strides, bool output,
                           Span* span) {
  const ArrayShape dimensions = {{1, 0}, {s.outer, strides.outer}, {s.axis, strides.axis}, {s.inner, strides.inner}};
  return check_array(data, sizeof(float), dimensions, output, span);
}

fovea_status check_softmax_arrays(const Softmaxes& s) {
  Span out, other;
  FOVEA_RETURN_IF_ERROR(check_operand(s, s.out, s.out_strides, true, &out));
  FOVEA_RETURN_IF_ERROR(check_operand(s, s.in, s.in_strides, false, &other));
  const bool in_place = s.out == s.in && (s.outer == 1 || s.out_strides.outer == s.in_strides.outer) &&
                        (s.axis == 1 || s.out_strides.axis == s.in_strides.axis);
  if (!in_place && out.overlaps(other)) return FOVEA_ERR_OVERLAP;
  if (!config::kSoftmaxMask || !s.mask) return FOVEA_OK;
  FOVEA_RETURN_IF_ERROR(check_operand(s, s.mask, s.mask_strides, false, &other));
  return out.overlaps(other) ? FOVEA_ERR_OVERLAP : FOVEA_OK;
}

// Whether each softmax is along one contiguous row of memory.
bool is_rows(const Softmaxes& s) {
  if (s.inner != 1) return false;
  return s.axis == 1 || (s.in_strides.axis == 1 && s.out_strides.axis == 1 && (!s.mask || s.mask_strides.axis == 1));
}

}  // namespace

fovea_status resolve_softmax(const fovea_softmax_args& a, bool logarithm, SoftmaxCall* call) {
  FOVEA_RETURN_IF_ERROR(check_struct(a));
  const TargetTraits* traits;
  FOVEA_RETURN_IF_ERROR(find_target(a.target, &traits));
  if (!is_finite(a.scale)) return FOVEA_ERR_NUMBER;
  if ((!config::kLogSoftmax && logarithm) || (!config::kSoftmaxMask && a.mask)) return FOVEA_ERR_LEFT_OUT;
  if (a.inner == 0) return FOVEA_ERR_DIM;
  if (a.mask && a.inner != 1 && a.mask_inner_stride != 0 && a.mask_inner_stride != 1) return FOVEA_ERR_MASK;
  Softmaxes& s = call->softmaxes;
  s.outer = 0;
  if (a.outer == 0 || a.axis == 0) return FOVEA_OK;
  s = {a.outer,
       a.axis,
       a.inner,
       a.y,
       {a.y_outer_stride, a.y_axis_stride, 1},
       a.x,
       {a.x_outer_stride, a.x_axis_stride, 1},
       a.mask,
       {a.mask_outer_stride, a.mask_axis_stride, a.mask_inner_stride},
       a.scale == 0.0f ? 1.0f : a.scale,
       logarithm};
  const bool rows = is_rows(s);
  if (!config::kSoftmaxStrided && !rows) return FOVEA_ERR_LEFT_OUT;
  call->kernels = &softmax_kernels(traits->target);
  call->rows = call->kernels->rows && rows;
  return check_softmax_arrays(s);
}

}  // namespace fovea

namespace {

fovea_status softmax(const fovea_softmax_args* args, bool logarithm) {
  if (!args) return FOVEA_ERR_NULL;
  fovea::SoftmaxCall call;
  FOVEA_RETURN_IF_ERROR(fovea::resolve_softmax(*args, logarithm, &call));
  fovea::run_softmax(call);
  return FOVEA_OK;
}

}  // namespace

extern "C" fovea_status fovea_softmax(const fovea_softmax_args* args) { return softmax(args, false); }

extern "C" fovea_status fovea_log_softmax(const fovea_softmax_args* args) { return softmax(args, true); }
