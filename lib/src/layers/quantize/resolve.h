// SPDX-License-Identifier: Apache-2.0
#ifndef FOVEA_SRC_QUANTIZE_RESOLVE_H_
#define FOVEA_SRC_QUANTIZE_RESOLVE_H_

#include "fovea/fovea.h"

namespace fovea {

fovea_status check_observe(const fovea_quantize_range* range, const float* x, size_t count);
fovea_status check_choose(const fovea_quantize_range* range, float fraction, const float* scale, const int32_t* zero);
fovea_status check_conversion(const void* in, size_t in_unit, const void* out, size_t out_unit, size_t count,
                              float scale, int32_t zero);

}  // namespace fovea

#endif  // FOVEA_SRC_QUANTIZE_RESOLVE_H_
