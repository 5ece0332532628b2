// SPDX-License-Identifier: Apache-2.0
#ifndef FOVEA_SRC_INTEGER_RESOLVE_H_
#define FOVEA_SRC_INTEGER_RESOLVE_H_

#include "fovea/fovea.h"

namespace fovea {

// Checks what decides the size of the workspace.
fovea_status check_integer_shape(const fovea_integer_attention_args& args);
fovea_status check_integer_attention(const fovea_integer_attention_args& args, const void* workspace,
                                     size_t workspace_bytes);

}  // namespace fovea

#endif  // FOVEA_SRC_INTEGER_RESOLVE_H_
