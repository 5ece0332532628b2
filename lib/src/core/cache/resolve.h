// SPDX-License-Identifier: Apache-2.0
#ifndef FOVEA_SRC_CACHE_RESOLVE_H_
#define FOVEA_SRC_CACHE_RESOLVE_H_

#include "core/cache/call.h"
#include "fovea/fovea.h"
#include "ground/base/carver.h"

namespace fovea {

// Checks that fovea_kv_cache_init made this cache.
fovea_status check_cache(const fovea_kv_cache* cache);
// Whether an entry of this length has room for `count` more tokens.
fovea_status check_room(const MadeCache& cache, uint32_t entry, uint32_t length, uint32_t count);
// Lays a cache out in memory; memory that is null measures it.
fovea_status lay_out_cache(const fovea_kv_cache_desc& desc, void* memory, MadeCache* cache, CheckedSize* bytes);
// Performs every check, and makes *call ready to run.
fovea_status resolve_append(const MadeCache& cache, const fovea_kv_append_args& args, AppendCall* call);

}  // namespace fovea

#endif  // FOVEA_SRC_CACHE_RESOLVE_H_
