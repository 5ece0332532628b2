// SPDX-License-Identifier: Apache-2.0
#include "ground/base/arithmetic.h"
#include "layers/conv1d/call.h"

#include "ground/base/strides.h"

namespace fovea {

void run_conv1d(Conv1dCall& call) {
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
