// SPDX-License-Identifier: Apache-2.0
#ifndef FOVEA_SRC_SOFTMAX_CALL_H_
#define FOVEA_SRC_SOFTMAX_CALL_H_

#include "core/softmax/kernels.h"

namespace fovea {

// A checked call. Without any element only softmaxes.outer is set, to 0.
struct SoftmaxCall {
  const SoftmaxKernels* kernels;
  bool rows;  // the kernel of rows takes it
  Softmaxes softmaxes;
};

void run_softmax(const SoftmaxCall& call);

}  // namespace fovea

#endif  // FOVEA_SRC_SOFTMAX_CALL_H_
