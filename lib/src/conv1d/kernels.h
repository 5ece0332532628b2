// SPDX-License-Identifier: Apache-2.0
//
// The functions of the kernels of short convolutions.
#ifndef FOVEA_SRC_CONV1D_KERNELS_H_
#define FOVEA_SRC_CONV1D_KERNELS_H_

#include <stddef.h>

#include "fovea/fovea.h"
#include "targets/choice.h"

namespace fovea {

// One entry: x and y [tokens][channels] with the strides of the arguments, state [width - 1][channels] or null.
struct Conv1dEntry {
  const fovea_conv1d_args* args;
  const float* x;
  float* y;
  float* state;
};

struct Conv1dKernels {
  void (*channels_last)(const Conv1dEntry&);   // channel strides of 1
  void (*channels_first)(const Conv1dEntry&);  // token strides of 1
};

FOVEA_TABLES(Conv1dKernels, kConv1d, conv1d_kernels)

}  // namespace fovea

#endif  // FOVEA_SRC_CONV1D_KERNELS_H_
