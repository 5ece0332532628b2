// SPDX-License-Identifier: Apache-2.0
#ifndef FOVEA_SRC_ROTATE_RESOLVE_H_
#define FOVEA_SRC_ROTATE_RESOLVE_H_

#include "core/rotate/call.h"
#include "fovea/fovea.h"

namespace fovea {

// Performs every check, and makes *call ready to run.
fovea_status resolve_rotate(const fovea_rotate_args& args, RotateCall* call);

}  // namespace fovea

#endif  // FOVEA_SRC_ROTATE_RESOLVE_H_
