// SPDX-License-Identifier: Apache-2.0
#ifndef FOVEA_SRC_HADAMARD_CALL_H_
#define FOVEA_SRC_HADAMARD_CALL_H_

#include "core/hadamard/kernels.h"
#include "fovea/fovea.h"
#include "ground/base/strides.h"

namespace fovea {

// A checked rotation. Arrays are described in the caller's arguments.
struct HadamardCall {
  const HadamardKernels* kernels;
  RowCounts rows;  // if there are none, nothing else is set
  const fovea_out* y;
  const fovea_in* x;
  HadamardRow row;  // all but x and y
};

// The block for rows of `dim` elements, where the caller names none: the largest power of two that divides it.
inline size_t hadamard_block(size_t dim) { return dim & (0 - dim); }
// A rotation of rows of `dim` elements, all but x and y, by the caller's seed.
HadamardRow hadamard_of(size_t dim, size_t block, uint64_t seed, bool inverse);

void run_hadamard(HadamardCall& call);

}  // namespace fovea

#endif  // FOVEA_SRC_HADAMARD_CALL_H_
