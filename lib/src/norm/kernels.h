// SPDX-License-Identifier: Apache-2.0
//
// The functions of the kernels of normalisation and activation.
#ifndef FOVEA_SRC_NORM_KERNELS_H_
#define FOVEA_SRC_NORM_KERNELS_H_

#include <stddef.h>

#include "targets/choice.h"

namespace fovea {

// y = activation(x) * factor. y may be x or factor.
struct ActivationRow {
  const float* x;
  const float* factor;  // null = 1
  float* y;
  size_t dim;
  float alpha;   // never 0
  bool sigmoid;  // else SiLU
};

// y = x / sqrt(sum of x^2 / divisor + epsilon) * (weight + weight_offset). y may be x.
struct NormRow {
  const float* x;
  const float* weight;  // null = 1
  float* y;
  size_t dim;
  float divisor, epsilon, weight_offset;
};

struct NormKernels {
  void (*activate)(const ActivationRow&);
  void (*normalise)(const NormRow&);
};

FOVEA_TABLES(NormKernels, kNorm, norm_kernels)

}  // namespace fovea

#endif  // FOVEA_SRC_NORM_KERNELS_H_
