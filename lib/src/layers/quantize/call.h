// SPDX-License-Identifier: Apache-2.0
#ifndef FOVEA_SRC_QUANTIZE_CALL_H_
#define FOVEA_SRC_QUANTIZE_CALL_H_

#include "fovea/fovea.h"

namespace fovea {

void observe(fovea_quantize_range* range, const float* x, size_t count);
void choose(const fovea_quantize_range& range, float fraction, bool asymmetric, float* scale, int32_t* zero_point);
void to_codes(const float* x, size_t count, float scale, int32_t zero_point, int8_t* codes);
void from_codes(const int8_t* codes, size_t count, float scale, int32_t zero_point, float* x);

}  // namespace fovea

#endif  // FOVEA_SRC_QUANTIZE_CALL_H_
