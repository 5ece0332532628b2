// SPDX-License-Identifier: Apache-2.0
//
// The function of the kernels of rotations.
#ifndef FOVEA_SRC_HADAMARD_KERNELS_H_
#define FOVEA_SRC_HADAMARD_KERNELS_H_

#include <stddef.h>
#include <stdint.h>

#include "ground/targets/choice.h"

namespace fovea {

// When elements get signs.
enum HadamardSigns : uint8_t { kNoSigns, kSignsFirst, kSignsLast };

// A row, in blocks of a power of two that divides dim.
struct HadamardRow {
  const float* x;
  float* y;  // may be x
  size_t dim, block;
  float scale;    // 1 / sqrt(block)
  uint64_t seed;  // of the signs
  HadamardSigns signs;
};

struct HadamardKernels {
  void (*hadamard)(const HadamardRow&);
};

FOVEA_TABLES(HadamardKernels, kHadamard, hadamard_kernels)

}  // namespace fovea

#endif  // FOVEA_SRC_HADAMARD_KERNELS_H_
