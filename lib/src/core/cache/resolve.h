// SPDX-License-Identifier: Apache-2.0
//
// Caches of keys and values: their layout in memory, and the checks of every operation on them.
#ifndef FOVEA_SRC_CACHE_RESOLVE_H_
#define FOVEA_SRC_CACHE_RESOLVE_H_

#include "core/cache/call.h"
#include "fovea/fovea.h"
#include "ground/base/checked_size.h"
#include "ground/base/key_places.h"

namespace fovea {

// Lays the cache out in its memory; memory that is null measures it. Fails if the fields that describe the cache are
// not valid.
fovea_status lay_out_cache(fovea_kv_cache* cache, CheckedSize* bytes);

fovea_status check_new_cache(const fovea_kv_cache& cache, const void* memory, size_t memory_bytes);

// Checks that fovea_kv_cache_init made this cache.
fovea_status check_cache(const fovea_kv_cache* cache);
// Performs every check, and makes *call ready to run.
fovea_status resolve_append(const fovea_kv_cache& cache, const fovea_kv_append_args& args, AppendCall* call);
fovea_status check_truncate(const fovea_kv_cache& cache, uint32_t entry, uint32_t length);
// In a ring, resolves *first_token: 0 becomes the token that it stands for, and no token is below the pinned ones.
fovea_status check_length(const fovea_kv_cache& cache, uint32_t entry, uint32_t length, uint32_t* first_token);
fovea_status check_copy(const fovea_kv_cache& to, uint32_t to_entry, const fovea_kv_cache& from, uint32_t from_entry,
                        uint32_t tokens);
fovea_status check_compact(const fovea_kv_cache& cache, uint32_t entry, const uint32_t* kept, uint32_t count);

constexpr uint32_t kCacheMagic = 0x666b7600u + FOVEA_VERSION;

}  // namespace fovea

#endif  // FOVEA_SRC_CACHE_RESOLVE_H_
