// SPDX-License-Identifier: Apache-2.0
#include "base/arithmetic.h"
#include "conv1d/call.h"

#include "base/strides.h"

namespace fovea {

void run_conv1d(const fovea_conv1d_args& a, const Conv1dKernels& kernels) {
  if (a.tokens == 0) return;
  // With one channel, or one token, the stride of that dimension may be anything: lanes run along the other dimension.
  const bool last = channels_last(a) && !(a.channels == 1 && channels_first(a));
  for (uint32_t b = 0; b < a.batch; ++b) {
    const Conv1dEntry entry = {&a, advanced(a.x, stride_bytes(a.x_batch_stride, sizeof(float), ptrdiff_t(b))),
                               advanced(a.y, stride_bytes(a.y_batch_stride, sizeof(float), ptrdiff_t(b))),
                               a.state ? a.state + size_t(b) * (a.width - 1) * a.channels : nullptr};
    (last ? kernels.channels_last : kernels.channels_first)(entry);
  }
}

}  // namespace fovea
