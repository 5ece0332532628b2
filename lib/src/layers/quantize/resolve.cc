// SPDX-License-Identifier: Apache-2.0
#include "ground/base/arithmetic.h"
#include "layers/quantize/call.h"

#include "fovea/fovea.h"
#include "ground/base/buffers.h"
#include "ground/base/numbers.h"
#include "ground/base/status.h"

namespace fovea {

fovea_status check_observe(const fovea_quantize_range* range, const float* x, size_t count) {
  if (!range || (!x && count != 0)) return FOVEA_ERR_NULL;
  FOVEA_RETURN_IF_ERROR(check_struct(*range));
  for (size_t i = 0; i < count; ++i) {
    if (!is_finite(x[i])) return FOVEA_ERR_NUMBER;
  }
  return FOVEA_OK;
}

fovea_status check_choose(const fovea_quantize_range* range, float fraction, const float* scale,
                          const int32_t* zero_point) {
  if (!range || !scale || !zero_point) return FOVEA_ERR_NULL;
  FOVEA_RETURN_IF_ERROR(check_struct(*range));
  return fraction > 0.0f && fraction <= 1.0f ? FOVEA_OK : FOVEA_ERR_NUMBER;
}

fovea_status check_conversion(const void* in, size_t in_unit, void* out, size_t out_unit, size_t count, float scale,
                              int32_t zero_point) {
  if (!(scale >= kLeastNormal) || !is_finite(scale) || !is_i8_code(zero_point)) return FOVEA_ERR_NUMBER;
  Buffers buffers;
  buffers.add_output(out, out_unit, count);
  return buffers.add_input({in, 0, 0, 0}, in_unit, RowCounts::one(), count);
}

}  // namespace fovea

extern "C" fovea_status fovea_quantize_observe(fovea_quantize_range* range, const float* x, size_t count) {
  if (fovea::kHasChecks) FOVEA_RETURN_IF_ERROR(fovea::check_observe(range, x, count));
  fovea::observe(range, x, count);
  return FOVEA_OK;
}

extern "C" fovea_status fovea_quantize_choose(const fovea_quantize_range* range, float fraction, uint32_t asymmetric,
                                              float* scale, int32_t* zero_point) {
  if (fovea::kHasChecks) FOVEA_RETURN_IF_ERROR(fovea::check_choose(range, fraction, scale, zero_point));
  fovea::choose(*range, fraction, asymmetric != 0, scale, zero_point);
  return FOVEA_OK;
}

extern "C" fovea_status fovea_quantize_to_i8(const float* x, size_t count, float scale, int32_t zero_point,
                                             int8_t* codes) {
  FOVEA_RETURN_IF_ERROR(fovea::check_conversion(x, sizeof *x, codes, sizeof *codes, count, scale, zero_point));
  fovea::to_codes(x, count, scale, zero_point, codes);
  return FOVEA_OK;
}

extern "C" fovea_status fovea_quantize_from_i8(const int8_t* codes, size_t count, float scale, int32_t zero_point,
                                               float* x) {
  FOVEA_RETURN_IF_ERROR(fovea::check_conversion(codes, sizeof *codes, x, sizeof *x, count, scale, zero_point));
  fovea::from_codes(codes, count, scale, zero_point, x);
  return FOVEA_OK;
}
