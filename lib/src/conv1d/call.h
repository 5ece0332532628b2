// SPDX-License-Identifier: Apache-2.0
#ifndef FOVEA_SRC_CONV1D_CALL_H_
#define FOVEA_SRC_CONV1D_CALL_H_

#include "conv1d/kernels.h"
#include "fovea/fovea.h"

namespace fovea {

// Which of the two dimensions vectors run along.
inline bool channels_last(const fovea_conv1d_args& a) {
  return a.channels == 1 || (a.x_channel_stride == 1 && a.y_channel_stride == 1);
}
inline bool channels_first(const fovea_conv1d_args& a) {
  return a.tokens == 1 || (a.x_token_stride == 1 && a.y_token_stride == 1);
}

void run_conv1d(const fovea_conv1d_args& args, const Conv1dKernels& kernels);

}  // namespace fovea

#endif  // FOVEA_SRC_CONV1D_CALL_H_
