// SPDX-License-Identifier: Apache-2.0
#ifndef FOVEA_SRC_NORM_RESOLVE_H_
#define FOVEA_SRC_NORM_RESOLVE_H_

#include "fovea/fovea.h"

namespace fovea {

fovea_status check_activation_args(const fovea_activation_args& args);
fovea_status check_norm_args(const fovea_norm_args& args);

}  // namespace fovea

#endif  // FOVEA_SRC_NORM_RESOLVE_H_
