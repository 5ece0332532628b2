// SPDX-License-Identifier: Apache-2.0
#ifndef FOVEA_SRC_CACHE_RESOLVE_H_
#define FOVEA_SRC_CACHE_RESOLVE_H_

#include "core/cache/call.h"
#include "fovea/fovea.h"
#include "ground/base/buffers.h"
#include "ground/base/carver.h"

namespace fovea {

// Checks that fovea_kv_cache_init made this cache.
fovea_status check_made(const fovea_kv_cache* cache);
inline fovea_status check_cache(const fovea_kv_cache* cache) { return kHasChecks ? check_made(cache) : FOVEA_OK; }
// Lays a cache out in memory; memory that is null measures it.
fovea_status lay_out_cache(const fovea_kv_cache_desc& desc, void* memory, MadeCache* cache, CheckedSize* bytes);
// Whether an entry has room for this length. In a ring, resolves *first_token: 0 becomes the token that it stands for, and no
// token is below the pinned ones.
fovea_status check_length(const MadeCache& cache, uint32_t entry, uint32_t length, uint32_t* first_token);
// Whether an entry has all of these tokens.
fovea_status check_held(const MadeCache& cache, uint32_t entry, uint32_t first, uint32_t tokens);
// The arguments that turn one key of each head in the workspace, of an append or a shift.
template <class Args>
[[gnu::always_inline]] inline fovea_rope_args turning_args(const MadeCache& c, const Args& a) {
  fovea_rope_args rope = known_part(*a.rope);
  float* const keys = static_cast<float*>(a.workspace) + first_turned(c);
  rope.target = a.target;
  rope.batch = 1;
  rope.heads = c.kv_heads;
  rope.tokens = 1;
  rope.dim = c.head_dim - first_turned(c);
  rope.y = {keys, 0, ptrdiff_t(c.head_dim), ptrdiff_t(c.head_dim)};
  rope.x = {keys, 0, rope.y.head_stride, rope.y.token_stride};
  rope.first_positions = rope.position_ids = nullptr;
  return rope;
}

// Performs every check, and makes *call ready to run.
fovea_status resolve_append(const MadeCache& cache, const fovea_kv_append_args& args, AppendCall* call);

}  // namespace fovea

#endif  // FOVEA_SRC_CACHE_RESOLVE_H_
