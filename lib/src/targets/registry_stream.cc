// SPDX-License-Identifier: Apache-2.0
#include "targets/choice.h"

namespace fovea {

const StreamKernels& stream_kernels(fovea_target target) { FOVEA_RETURN_TABLE(target, kStream); }

}  // namespace fovea
