// SPDX-License-Identifier: Apache-2.0
#include "base/arithmetic.h"
#include "rotate/call.h"

#include "base/strides.h"

namespace fovea {

float rotate_scale(size_t block) {
  float scale = 1.0f;
  for (; block >= 4; block /= 4) scale *= 0.5f;
  return block == 2 ? scale * 0.707106781f : scale;
}

void run_rotate(RotateCall* call) {
  RotateRow& row = call->row;
  for (uint32_t entry = 0; entry < call->batch; ++entry) {
    for (uint32_t head = 0; head < call->heads; ++head) {
      for (uint32_t token = 0; token < call->tokens; ++token) {
        const auto at = [&](const fovea_in& array) {
          return row_of(array, sizeof(float), ptrdiff_t(entry), ptrdiff_t(head), ptrdiff_t(token));
        };
        row.x = reinterpret_cast<const float*>(at(*call->x));
        row.y = const_cast<float*>(reinterpret_cast<const float*>(at(as_input(*call->y))));
        call->kernels->rotate(row);
      }
    }
  }
}

}  // namespace fovea
