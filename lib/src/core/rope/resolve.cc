// SPDX-License-Identifier: Apache-2.0
#include "ground/base/arithmetic.h"
#include "core/rope/resolve.h"

#include "core/rope/call.h"
#include "fovea/fovea.h"
#include "ground/base/buffers.h"
#include "ground/base/status.h"
#include "ground/targets/registry.h"

namespace fovea {
namespace {

fovea_status check_choices(const fovea_rope_args& a, RopeCall* call) {
  if (a.layout != FOVEA_ROPE_INTERLEAVED && a.layout != FOVEA_ROPE_HALF_SPLIT) return FOVEA_ERR_ENUM;
  const TargetTraits* traits;
  FOVEA_RETURN_IF_ERROR(find_target(a.target, &traits));
  call->kernels = &rope_kernels(traits->target);
  call->interleaved = a.layout == FOVEA_ROPE_INTERLEAVED;
  call->rotary_dim = a.rotary_dim ? a.rotary_dim : a.dim;
  if (!a.heads || !call->rotary_dim || call->rotary_dim % 2 != 0 || call->rotary_dim > a.dim) return FOVEA_ERR_DIM;
  if (a.first_positions && a.position_ids) return FOVEA_ERR_POSITIONS_TWICE;
  if (a.turns && (a.cos || a.sin)) return FOVEA_ERR_UNSUPPORTED;
  const bool served = call->interleaved ? config::kRopeInterleaved : config::kRopeHalfSplit;
  return served && (config::kRopeTurns || !a.turns) ? FOVEA_OK : FOVEA_ERR_LEFT_OUT;
}

fovea_status check_rope_buffers(const fovea_rope_args& a) {
  Buffers buffers;
  buffers.add_output(a.y, sizeof(float), counts_of(a), a.dim);
  FOVEA_RETURN_IF_ERROR(buffers.add_in_place(a.y, sizeof(float), a.x, sizeof(float), counts_of(a), a.dim));
  if (!a.turns && (!a.cos || !a.sin)) return FOVEA_ERR_NULL;
  add_rope_tables(buffers, a, a.dim);
  buffers.add_list(a.first_positions, sizeof(int64_t), a.batch);
  if (a.position_ids) {
    const fovea_in rows = {a.position_ids, 0, 0, a.position_ids_stride};
    buffers.add_input(rows, sizeof(int64_t), {1, 1, a.batch}, a.tokens);
  }
  return buffers.status();
}

// Checks the positions themselves. Their arrays have been checked.
fovea_status check_positions(const RopeCall& c, size_t table_positions) {
  // Positions that follow one another are valid if the first and the last one are.
  const uint32_t step = c.position_ids || c.tokens == 1 ? 1 : c.tokens - 1;
  for (uint32_t entry = 0; kHasChecks && entry < c.batch; ++entry) {
    for (size_t token = 0; token < c.tokens; token += step) {
      int64_t position;
      if (!rope_position(c, entry, uint32_t(token), &position)) return FOVEA_ERR_SIZE;
      if (!turns_of(c) && (position < 0 || uint64_t(position) >= table_positions)) return FOVEA_ERR_POSITION_RANGE;
    }
  }
  return FOVEA_OK;
}

}  // namespace

fovea_status resolve_rope(const fovea_rope_args& a, RopeCall* call) {
  FOVEA_RETURN_IF_ERROR(check_struct(a));
  FOVEA_RETURN_IF_ERROR(check_choices(a, call));
  call->batch = a.batch, call->heads = a.heads, call->tokens = a.tokens;
  if (counts_of(a).batch == 0) return FOVEA_OK;

  FOVEA_RETURN_IF_ERROR(check_rope_buffers(a));
  call->dim = a.dim;
  call->inverse = a.inverse;
  call->out = a.y, call->in = a.x;
  call->turns = a.turns, call->cos = a.cos, call->sin = a.sin, call->table_stride = a.table_stride;
  call->positions = a.first_positions, call->position_ids = a.position_ids;
  call->position_ids_stride = a.position_ids_stride;
  call->position_offset = a.position_offset;
  return check_positions(*call, a.table_positions);
}

fovea_status add_rope_tables(Buffers& buffers, const fovea_rope_args& a, size_t dim) {
  const size_t pairs = (a.rotary_dim ? a.rotary_dim : dim) / 2;
  buffers.add_list(a.turns, sizeof(uint64_t), pairs);
  const float* const tables[] = {a.cos, a.sin};
  for (const float* table : tables) {
    const fovea_in rows = {table, 0, 0, a.table_stride};
    if (table) buffers.add_input(rows, sizeof(float), {1, 1, a.table_positions}, pairs);
  }
  return buffers.status();
}

}  // namespace fovea

FOVEA_C_CALL_(fovea_rope, fovea_rope_args, resolve_rope, run_rope)
