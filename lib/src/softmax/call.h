// SPDX-License-Identifier: Apache-2.0
#ifndef FOVEA_SRC_SOFTMAX_CALL_H_
#define FOVEA_SRC_SOFTMAX_CALL_H_

#include "fovea/fovea.h"
#include "softmax/kernels.h"

namespace fovea {

// Whether each softmax is along one contiguous row of memory.
bool is_rows(const fovea_softmax_args& args);

void run_softmax(const fovea_softmax_args& args, bool logarithm, const SoftmaxKernels& kernels);

}  // namespace fovea

#endif  // FOVEA_SRC_SOFTMAX_CALL_H_
