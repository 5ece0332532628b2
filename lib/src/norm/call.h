// SPDX-License-Identifier: Apache-2.0
#ifndef FOVEA_SRC_NORM_CALL_H_
#define FOVEA_SRC_NORM_CALL_H_

#include <stdint.h>

#include "fovea/fovea.h"
#include "norm/kernels.h"

namespace fovea {

// Counts of rows, [batch][heads][tokens]. If there is none, batch is 0, and the rest of a call is not set.
struct NormRows {
  uint32_t batch, heads, tokens;
};

// A checked activation. The arrays are described in the caller's arguments.
struct ActivationCall {
  const NormKernels* kernels;
  NormRows rows;
  uint32_t dim;
  float alpha;
  bool sigmoid;
  const fovea_out* y;
  const fovea_in *x, *factor;  // data of factor null = 1
};

// A checked normalisation.
struct NormCall {
  const NormKernels* kernels;
  NormRows rows;
  uint32_t dim;
  float divisor, epsilon, weight_offset;
  const fovea_out* y;
  const fovea_in *x, *gate;  // data of gate null = none
  fovea_norm_gate gate_order;
  fovea_activation gate_activation;
  const float* weight;  // null = 1
  ptrdiff_t weight_head_stride;
};

void run_activation(const ActivationCall& call);
void run_norm(const NormCall& call);

}  // namespace fovea

#endif  // FOVEA_SRC_NORM_CALL_H_
