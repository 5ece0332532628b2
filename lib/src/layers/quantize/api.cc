// SPDX-License-Identifier: Apache-2.0
#include "ground/base/arithmetic.h"
#include "fovea/fovea.h"
#include "ground/base/status.h"
#include "layers/quantize/call.h"
#include "layers/quantize/resolve.h"

extern "C" fovea_status fovea_quantize_observe(fovea_quantize_range* range, const float* x, size_t count) {
  FOVEA_RETURN_IF_ERROR(fovea::check_observe(range, x, count));
  fovea::observe(range, x, count);
  return FOVEA_OK;
}

extern "C" fovea_status fovea_quantize_choose(const fovea_quantize_range* range, float fraction, uint32_t asymmetric,
                                              float* scale, int32_t* zero) {
  FOVEA_RETURN_IF_ERROR(fovea::check_choose(range, fraction, scale, zero));
  fovea::choose_scale(*range, fraction, asymmetric != 0, scale, zero);
  return FOVEA_OK;
}

extern "C" fovea_status fovea_quantize_to_i8(const float* x, size_t count, float scale, int32_t zero, int8_t* codes) {
  FOVEA_RETURN_IF_ERROR(fovea::check_conversion(x, sizeof *x, codes, sizeof *codes, count, scale, zero));
  fovea::to_codes(x, count, scale, zero, codes);
  return FOVEA_OK;
}

extern "C" fovea_status fovea_quantize_from_i8(const int8_t* codes, size_t count, float scale, int32_t zero, float* x) {
  FOVEA_RETURN_IF_ERROR(fovea::check_conversion(codes, sizeof *codes, x, sizeof *x, count, scale, zero));
  fovea::from_codes(codes, count, scale, zero, x);
  return FOVEA_OK;
}
