// SPDX-License-Identifier: Apache-2.0
#include "base/arithmetic.h"
#include "rotate/resolve.h"

#include "base/buffers.h"
#include "base/status.h"
#include "targets/registry.h"

namespace fovea {
namespace {

// Spreads the bits of a seed (the end of SplitMix64). 0 stays 0, and no other seed becomes 0.
uint64_t mixed(uint64_t seed) {
  seed = (seed ^ (seed >> 30)) * 0xbf58476d1ce4e5b9u;
  seed = (seed ^ (seed >> 27)) * 0x94d049bb133111ebu;
  return seed ^ (seed >> 31);
}

}  // namespace

fovea_status resolve_rotate(const fovea_rotate_args& a, RotateCall* call) {
  if (a.struct_bytes != sizeof a) return FOVEA_ERR_STRUCT;
  const TargetTraits* traits;
  FOVEA_RETURN_IF_ERROR(find_target(a.target, &traits));
  const uint32_t most = a.dim & (0 - a.dim), block = a.block ? a.block : most;
  if (a.dim == 0 || (block & (block - 1)) != 0 || block > most) return FOVEA_ERR_DIM;
  call->batch = 0;
  if (a.batch == 0 || a.heads == 0 || a.tokens == 0) return FOVEA_OK;
  Buffers buffers;
  FOVEA_RETURN_IF_ERROR(buffers.add_output(a.y, sizeof(float), a.batch, a.heads, a.tokens, a.dim));
  FOVEA_RETURN_IF_ERROR(
      buffers.add_in_place(a.y, sizeof(float), a.x, sizeof(float), a.batch, a.heads, a.tokens, a.dim));
  call->kernels = &rotate_kernels(traits->target);
  call->batch = a.batch, call->heads = a.heads, call->tokens = a.tokens;
  call->y = &a.y, call->x = &a.x;
  call->row = {nullptr, nullptr, a.dim, block, rotate_scale(block), mixed(a.seed), a.inverse != 0};
  return FOVEA_OK;
}

}  // namespace fovea
