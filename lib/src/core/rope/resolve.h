// SPDX-License-Identifier: Apache-2.0
#ifndef FOVEA_SRC_ROPE_RESOLVE_H_
#define FOVEA_SRC_ROPE_RESOLVE_H_

#include "core/rope/call.h"
#include "fovea/fovea.h"
#include "ground/base/buffers.h"

namespace fovea {

// Performs every check, and makes *call ready to run.
fovea_status resolve_rope(const fovea_rope_args& args, RopeCall* call);
// Adds the turns or tables for rows of `dim` elements to the inputs of a call.
fovea_status add_rope_tables(Buffers& buffers, const fovea_rope_args& args, size_t dim);

}  // namespace fovea

#endif  // FOVEA_SRC_ROPE_RESOLVE_H_
