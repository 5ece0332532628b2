// SPDX-License-Identifier: Apache-2.0
#ifndef FOVEA_SRC_ROPE_CALL_H_
#define FOVEA_SRC_ROPE_CALL_H_

#include "core/rope/kernels.h"
#include "fovea/fovea.h"
#include "fovea/fovea_config.h"

namespace fovea {

// A checked call.
struct RopeCall {
  const RopeKernels* kernels;
  uint32_t batch, heads, tokens;
  uint32_t dim, rotary_dim;
  bool interleaved;
  uint32_t inverse;  // nonzero: by the negative angle
  fovea_out out;
  fovea_in in;
  const uint64_t* turns;  // of angles; null = cos and sin. Read by turns_of
  const float *cos, *sin;
  ptrdiff_t table_stride;
  // A token's position is position_offset + positions[entry] + its number in the entry, or position_offset +
  // position_ids[entry][token]. positions may be null, too.
  const int64_t *positions, *position_ids;
  ptrdiff_t position_ids_stride;
  int64_t position_offset;
};

// Always null in builds without turns.
inline const uint64_t* turns_of(const RopeCall& call) { return config::kRopeTurns ? call.turns : nullptr; }

// The position of a token. False if it overflows.
bool rope_position(const RopeCall& call, uint32_t entry, uint32_t token, int64_t* position);

void run_rope(const RopeCall& call);

}  // namespace fovea

#endif  // FOVEA_SRC_ROPE_CALL_H_
