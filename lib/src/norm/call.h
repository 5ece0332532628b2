// SPDX-License-Identifier: Apache-2.0
#ifndef FOVEA_SRC_NORM_CALL_H_
#define FOVEA_SRC_NORM_CALL_H_

#include "fovea/fovea.h"
#include "norm/kernels.h"

namespace fovea {

void run_activation(const fovea_activation_args& args, const NormKernels& kernels);
void run_norm(const fovea_norm_args& args, const NormKernels& kernels);

}  // namespace fovea

#endif  // FOVEA_SRC_NORM_CALL_H_
