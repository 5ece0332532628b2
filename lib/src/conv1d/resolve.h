// SPDX-License-Identifier: Apache-2.0
#ifndef FOVEA_SRC_CONV1D_RESOLVE_H_
#define FOVEA_SRC_CONV1D_RESOLVE_H_

#include "fovea/fovea.h"

namespace fovea {

fovea_status check_conv1d_args(const fovea_conv1d_args& args);

}  // namespace fovea

#endif  // FOVEA_SRC_CONV1D_RESOLVE_H_
