// SPDX-License-Identifier: Apache-2.0
//
// The function of the kernels of rotations.
#ifndef FOVEA_SRC_ROTATE_KERNELS_H_
#define FOVEA_SRC_ROTATE_KERNELS_H_

#include <stddef.h>
#include <stdint.h>

#include "ground/targets/choice.h"

namespace fovea {

// When elements get signs.
enum RotateSigns : uint8_t { kNoSigns, kSignsFirst, kSignsLast };

// A row, in blocks of a power of two that divides dim.
struct RotateRow {
  const float* x;
  float* y;  // may be x
  size_t dim, block;
  float scale;    // 1 / sqrt(block)
  uint64_t seed;  // of the signs
  RotateSigns signs;
};

struct RotateKernels {
  void (*rotate)(const RotateRow&);
};

FOVEA_TABLES(RotateKernels, kRotate, rotate_kernels)

}  // namespace fovea

#endif  // FOVEA_SRC_ROTATE_KERNELS_H_
