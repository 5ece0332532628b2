// SPDX-License-Identifier: Apache-2.0
#ifndef FOVEA_SRC_NORM_RESOLVE_H_
#define FOVEA_SRC_NORM_RESOLVE_H_

#include "fovea/fovea.h"
#include "layers/norm/call.h"

namespace fovea {

// Whether a number is an activation, and this build has it.
fovea_status check_activation(fovea_activation_kind kind);

// Perform every check, and make *call ready to run.
fovea_status resolve_activation(const fovea_activation_args& args, ActivationCall* call);
fovea_status resolve_norm(const fovea_norm_args& args, NormCall* call);

}  // namespace fovea

#endif  // FOVEA_SRC_NORM_RESOLVE_H_
