// SPDX-License-Identifier: Apache-2.0
#ifndef FOVEA_SRC_CONV1D_RESOLVE_H_
#define FOVEA_SRC_CONV1D_RESOLVE_H_

#include "fovea/fovea.h"
#include "layers/conv1d/call.h"

namespace fovea {

// Performs every check, and makes *call ready to run.
fovea_status resolve_conv1d(const fovea_conv1d_args& args, Conv1dCall* call);

}  // namespace fovea

#endif  // FOVEA_SRC_CONV1D_RESOLVE_H_
