// SPDX-License-Identifier: Apache-2.0
#ifndef FOVEA_SRC_SOFTMAX_RESOLVE_H_
#define FOVEA_SRC_SOFTMAX_RESOLVE_H_

#include "fovea/fovea.h"

namespace fovea {

fovea_status check_softmax_args(const fovea_softmax_args& args, bool logarithm);

}  // namespace fovea

#endif  // FOVEA_SRC_SOFTMAX_RESOLVE_H_
