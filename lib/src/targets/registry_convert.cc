// SPDX-License-Identifier: Apache-2.0
#include "targets/choice.h"

namespace fovea {

const ConvertKernels& convert_kernels(fovea_target target) { FOVEA_RETURN_TABLE(target, kConvert); }

}  // namespace fovea
