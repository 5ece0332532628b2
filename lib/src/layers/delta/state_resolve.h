// SPDX-License-Identifier: Apache-2.0
#ifndef FOVEA_SRC_DELTA_STATE_RESOLVE_H_
#define FOVEA_SRC_DELTA_STATE_RESOLVE_H_

#include "fovea/fovea.h"
#include "layers/delta/call.h"

namespace fovea {

fovea_status check_delta_dims(uint32_t key_dim, uint32_t value_dim, uint32_t v_heads, uint32_t decay_dim);
// The header of a new state for these counts.
fovea_status make_delta_header(uint32_t batch, uint32_t v_heads, uint32_t key_dim, uint32_t value_dim,
                               uint32_t decay_dim, fovea_delta_state* header);
fovea_status check_delta_state(const fovea_delta_state* state);
// Checks the entries of a state that one call uses.
fovea_status check_delta_entries(const fovea_delta_state& state, uint32_t first, uint32_t count);

}  // namespace fovea

#endif  // FOVEA_SRC_DELTA_STATE_RESOLVE_H_
