// SPDX-License-Identifier: Apache-2.0
#ifndef FOVEA_SRC_RUN_CACHE_H_
#define FOVEA_SRC_RUN_CACHE_H_

#include "fovea/fovea.h"

namespace fovea {

// How the new keys [first, first + count) of entry args.entry + b are turned: into the workspace, as
// [kv_heads][count][head_dim].
fovea_rope_args turning_args(const fovea_kv_cache& cache, const fovea_kv_append_args& args, uint32_t b, uint32_t first,
                             uint32_t count);

// After every check.
void append_to_cache(fovea_kv_cache& cache, const fovea_kv_append_args& args);

}  // namespace fovea

#endif  // FOVEA_SRC_RUN_CACHE_H_
