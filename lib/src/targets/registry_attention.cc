// SPDX-License-Identifier: Apache-2.0
#include "targets/choice.h"

namespace fovea {

const AttentionKernels& attention_kernels(fovea_target target) { FOVEA_RETURN_TABLE(target, kAttention); }

}  // namespace fovea
