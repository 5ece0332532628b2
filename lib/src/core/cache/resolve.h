// SPDX-License-Identifier: Apache-2.0
#ifndef FOVEA_SRC_CACHE_RESOLVE_H_
#define FOVEA_SRC_CACHE_RESOLVE_H_

#include "core/cache/call.h"
#include "fovea/fovea.h"

namespace fovea {

// Checks that fovea_kv_cache_init made this cache.
fovea_status check_cache(const fovea_kv_cache* cache);
// Performs every check, and makes *call ready to run.
fovea_status resolve_append(const MadeCache& cache, const fovea_kv_append_args& args, AppendCall* call);

}  // namespace fovea

#endif  // FOVEA_SRC_CACHE_RESOLVE_H_
