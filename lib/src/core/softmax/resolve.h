// SPDX-License-Identifier: Apache-2.0
#ifndef FOVEA_SRC_SOFTMAX_RESOLVE_H_
#define FOVEA_SRC_SOFTMAX_RESOLVE_H_

#include "core/softmax/call.h"
#include "fovea/fovea.h"

namespace fovea {

// Performs every check, and makes *call ready to run.
fovea_status resolve_softmax(const fovea_softmax_args& args, bool logarithm, SoftmaxCall* call);

}  // namespace fovea

#endif  // FOVEA_SRC_SOFTMAX_RESOLVE_H_
