// SPDX-License-Identifier: Apache-2.0
//
// The checks of a shift of keys, before anything is written.
#include "ground/base/arithmetic.h"
#include "core/cache/call.h"
#include "core/cache/resolve.h"
#include "core/rope/resolve.h"
#include "fovea/fovea.h"
#include "ground/base/buffers.h"
#include "ground/targets/registry.h"

namespace fovea {
namespace {

// One key of one head in the workspace, which is turned by the difference: of tables, a row that is not negative.
fovea_status resolve_difference(const MadeCache& c, const fovea_kv_shift_args& a, RopeCall* call) {
  fovea_rope_args rope = turning_args(c, a);
  rope.heads = 1;
  rope.position_offset = a.difference;
  if (!rope.turns && a.difference < 0) {
    rope.inverse = !rope.inverse;
    rope.position_offset = int64_t(0 - uint64_t(a.difference));
  }
  return resolve_rope(rope, call);
}

fovea_status resolve_shift(const MadeCache& c, const fovea_kv_shift_args& a, ShiftCall* call) {
  FOVEA_RETURN_IF_ERROR(check_struct(a));
  const TargetTraits* traits;
  FOVEA_RETURN_IF_ERROR(find_target(a.target, &traits));
  FOVEA_RETURN_IF_ERROR(check_held(c, a.entry, a.first, a.tokens));
  if (!a.rope || !a.workspace) return FOVEA_ERR_NULL;
  FOVEA_RETURN_IF_ERROR(check_struct(*a.rope));
  if (!is_aligned(a.workspace, sizeof(float))) return FOVEA_ERR_ALIGNMENT;
  if (a.workspace_bytes / sizeof(float) < c.head_dim) return FOVEA_ERR_WORKSPACE;
  Buffers buffers;
  buffers.add_memory(c.memory, c.memory_bytes);
  buffers.add_memory(a.workspace, a.workspace_bytes);
  buffers.add_list(c.key_center, sizeof(float), size_t(c.kv_heads) * c.head_dim);
  FOVEA_RETURN_IF_ERROR(add_rope_tables(buffers, *a.rope, c.head_dim - first_turned(c)));
  call->target = traits->target;
  call->entry = a.entry, call->first = a.first, call->tokens = a.difference ? a.tokens : 0;
  call->workspace = static_cast<float*>(a.workspace), call->workspace_bytes = a.workspace_bytes;
  return resolve_difference(c, a, &call->turning);
}

}  // namespace
}  // namespace fovea

extern "C" fovea_status fovea_kv_shift(fovea_kv_cache* cache, const fovea_kv_shift_args* args) {
  FOVEA_RETURN_IF_ERROR(fovea::check_cache(cache));
  if (!args) return FOVEA_ERR_NULL;
  fovea::ShiftCall call;
  FOVEA_RETURN_IF_ERROR(fovea::resolve_shift(fovea::made(*cache), *args, &call));
  fovea::shift_keys(fovea::made(*cache), call);
  return FOVEA_OK;
}
