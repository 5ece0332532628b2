// SPDX-License-Identifier: Apache-2.0
#ifndef FOVEA_SRC_NORM_CALL_H_
#define FOVEA_SRC_NORM_CALL_H_

#include <stdint.h>

#include "fovea/fovea.h"
#include "ground/base/strides.h"
#include "ground/formats/kernels.h"
#include "layers/norm/kernels.h"

namespace fovea {

// Checked calls. The arrays are described in the caller's arguments. If there are no rows, batch is 0, and nothing else is set.
struct ActivationCall {
  const ActivationKernels* kernels;
  const PlainKernels* plain;
  RowCounts rows;
  uint32_t dim;
  fovea_activation_kind kind;
  float alpha;
  fovea_dtype x_dtype, y_dtype;  // the factor's is x_dtype
  const fovea_out* y;
  const fovea_in *x, *factor;  // data of factor null = 1
};

struct NormCall {
  const NormKernels* kernels;
  const ActivationKernels* activation;
  const PlainKernels* plain;
  RowCounts rows;
  uint32_t dim;
  bool centered;  // by the mean
  float divisor, epsilon, weight_offset;
  fovea_dtype x_dtype, y_dtype, residual_dtype;  // the gate's is x_dtype, that of sum residual_dtype
  const fovea_out *y, *sum;                      // data of sum null = none
  const fovea_in *x, *residual, *gate;           // data of residual or gate null = none
  fovea_norm_gate gate_order;
  fovea_activation_kind gate_activation;
  const float *weight, *bias;  // null = 1, 0
  ptrdiff_t weight_head_stride;
};

// Whether a number is an activation, and this build has it.
fovea_status check_activation(fovea_activation_kind kind);

void run_activation(const ActivationCall& call);
void run_norm(const NormCall& call);

}  // namespace fovea

#endif  // FOVEA_SRC_NORM_CALL_H_
