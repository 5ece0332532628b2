// SPDX-License-Identifier: Apache-2.0
#include "targets/choice.h"

namespace fovea {

const SoftmaxKernels& softmax_kernels(fovea_target target) { FOVEA_RETURN_TABLE(target, kSoftmax); }

}  // namespace fovea
