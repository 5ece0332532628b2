// SPDX-License-Identifier: Apache-2.0
#include "ground/base/arithmetic.h"
#include "layers/quantize/resolve.h"

#include "ground/base/buffers.h"
#include "ground/base/codes.h"
#include "ground/base/finite.h"
#include "ground/base/status.h"
#include "layers/quantize/call.h"

namespace fovea {
namespace {

bool is_scale(float scale) { return scale >= kLeastScale && is_finite(scale); }

}  // namespace

fovea_status check_observe(const fovea_quantize_range* range, const float* x, size_t count) {
  if (!range || (!x && count != 0)) return FOVEA_ERR_NULL;
  if (range->struct_bytes != sizeof *range) return FOVEA_ERR_STRUCT;
  for (size_t i = 0; i < count; ++i) {
    if (!is_finite(x[i])) return FOVEA_ERR_NUMBER;
  }
  return FOVEA_OK;
}

fovea_status check_choose(const fovea_quantize_range* range, float fraction, const float* scale, const int32_t* zero) {
  if (!range || !scale || !zero) return FOVEA_ERR_NULL;
  if (range->struct_bytes != sizeof *range) return FOVEA_ERR_STRUCT;
  return fraction > 0.0f && fraction <= 1.0f ? FOVEA_OK : FOVEA_ERR_NUMBER;
}

fovea_status check_conversion(const void* in, size_t in_unit, const void* out, size_t out_unit, size_t count,
                              float scale, int32_t zero) {
  if (!is_scale(scale) || !is_i8_code(zero)) return FOVEA_ERR_NUMBER;
  Buffers buffers;
  buffers.add_output(fovea_out{const_cast<void*>(out), 0, 0, 0}, out_unit, 1, 1, 1, count);
  return buffers.add_input({in, 0, 0, 0}, in_unit, 1, 1, 1, count);
}

}  // namespace fovea
