// SPDX-License-Identifier: Apache-2.0
#include "ground/base/arithmetic.h"
#include "core/rotate/call.h"

#include "ground/base/strides.h"

namespace fovea {

namespace {

// 1 / sqrt(block).
float scale_of(size_t block) {
  float scale = 1.0f;
  for (; block >= 2; block /= 4) scale *= block == 2 ? 0.707106781f : 0.5f;
  return scale;
}

// Spreads the bits of a seed (the end of SplitMix64).
uint64_t mixed(uint64_t seed) {
  seed = (seed ^ (seed >> 30)) * 0xbf58476d1ce4e5b9u;
  seed = (seed ^ (seed >> 27)) * 0x94d049bb133111ebu;
  return seed ^ (seed >> 31);
}

}  // namespace

RotateRow rotation_of(size_t dim, size_t block, uint64_t seed, bool inverse) {
  RotateRow row;
  row.dim = dim, row.block = block, row.scale = scale_of(block), row.seed = mixed(seed);
  row.signs = seed == 0 ? kNoSigns : inverse ? kSignsLast : kSignsFirst;
  return row;
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
