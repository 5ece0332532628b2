// SPDX-License-Identifier: Apache-2.0
#ifndef FOVEA_SRC_CONV1D_CALL_H_
#define FOVEA_SRC_CONV1D_CALL_H_

#include <stdint.h>

#include "ground/base/strides.h"
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

inline void run_conv1d(Conv1dCall& call) {
  Convolution& c = call.convolution;
  for (; call.batch > 0; --call.batch) {
    if (call.channels_last) {
      call.kernels->channels_last(c);
    } else {
      call.kernels->channels_first(c);
    }
    c.x = advanced(c.x, stride_bytes(call.x_batch_stride, sizeof(float)));
    c.y = advanced(c.y, stride_bytes(call.y_batch_stride, sizeof(float)));
    if (c.state) c.state += (c.width - 1) * c.channels;
  }
}

}  // namespace fovea

#endif  // FOVEA_SRC_CONV1D_CALL_H_
