// SPDX-License-Identifier: Apache-2.0
//
// Checked calls. The arrays are described in the caller's arguments. If there are no rows to write, nothing else is set.
#ifndef FOVEA_SRC_INTEGER_LAYERS_CALL_H_
#define FOVEA_SRC_INTEGER_LAYERS_CALL_H_

#include "fovea/fovea.h"
#include "ground/base/strides.h"
#include "layers/integer_layers/kernels.h"

namespace fovea {

struct IntegerNormCall {
  RowCounts rows;
  const fovea_out* y;
  const fovea_in* x;
  bool centred;          // the mean is taken away
  int32_t x_zero_point;  // 0 if it is not
  int32_t weight_multiplier, weight_shift;
  uint64_t epsilon;    // times 2^16 dim^2
  IntegerNormRow row;  // all but x, y, slope and offset
};
struct IntegerSumCall {
  RowCounts rows;
  const fovea_out* y;
  const fovea_in *a, *b;  // data of b null = none
  IntegerSumRow row;      // all but a, b and y
};
struct IntegerProductCall {
  RowCounts rows;
  const fovea_out* y;
  const fovea_in *a, *b;
  IntegerProductRow row;  // all but a, b and y
};
struct IntegerActivationCall {
  RowCounts rows;
  const fovea_out* y;
  const fovea_in* x;
  uint32_t dim;
  const int8_t* table;
};
struct IntegerHardSwishCall {
  RowCounts rows;
  const fovea_out* y;
  const fovea_in* x;
  IntegerHardSwishRow row;  // all but x and y
};
struct IntegerMeanCall {
  RowCounts rows;
  const fovea_out* y;
  const fovea_in* x;
  const uint32_t* lengths;  // null = tokens
  int32_t x_zero_point, multiplier, multiplier_shift;
  IntegerMeanRow row;  // stride, dim and y_zero_point
};

void run_integer_norm(IntegerNormCall& call);
void run_integer_sum(IntegerSumCall& call);
void run_integer_product(IntegerProductCall& call);
void run_integer_activation(const IntegerActivationCall& call);
void run_integer_hard_swish(IntegerHardSwishCall& call);
void run_integer_mean(IntegerMeanCall& call);

}  // namespace fovea

#endif  // FOVEA_SRC_INTEGER_LAYERS_CALL_H_
