// SPDX-License-Identifier: Apache-2.0
//
// Products of bytes that the kernels of several operators call, on targets where they are many functions.
#ifndef FOVEA_SRC_MATH_BYTE_KERNELS_H_
#define FOVEA_SRC_MATH_BYTE_KERNELS_H_

#include <stddef.h>
#include <stdint.h>

#include "ground/targets/dot_traits.h"

namespace fovea {

// sums[row][column] = codes of `wanted` columns, x [dim / 16][columns][16 codes], times `count` rows of dim codes, which
// are `stride` apart; += if goes_on.
#define FOVEA_DECLARE_BYTES_(nothing, id, name, kernels, backend, target_namespace, ...)                              \
  namespace target_namespace {                                                                                        \
  namespace byte_kernels {                                                                                            \
  void multiply_rows(const int8_t* x, size_t columns, const int8_t* row, ptrdiff_t stride, uint32_t count, size_t dim, \
                     bool goes_on, int32_t* sums, size_t wanted);                                                     \
  }                                                                                                                   \
  }
FOVEA_TARGETS(FOVEA_DECLARE_BYTES_, )
#undef FOVEA_DECLARE_BYTES_

}  // namespace fovea

#endif  // FOVEA_SRC_MATH_BYTE_KERNELS_H_
