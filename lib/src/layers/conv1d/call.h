// SPDX-License-Identifier: Apache-2.0
#ifndef FOVEA_SRC_CONV1D_CALL_H_
#define FOVEA_SRC_CONV1D_CALL_H_

#include <stdint.h>

#include "layers/conv1d/kernels.h"

namespace fovea {

// A checked call. convolution is that of the first entry; run_conv1d moves it from an entry to the next.
struct Conv1dCall {
  const Conv1dKernels* kernels;
  bool channels_last;  // else channels_first: which dimension vectors run along
  uint32_t batch;
  ptrdiff_t x_batch_stride, y_batch_stride;
  Convolution convolution;
};

void run_conv1d(Conv1dCall& call);

}  // namespace fovea

#endif  // FOVEA_SRC_CONV1D_CALL_H_
