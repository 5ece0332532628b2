// SPDX-License-Identifier: Apache-2.0
#ifndef FOVEA_SRC_DELTA_RESOLVE_H_
#define FOVEA_SRC_DELTA_RESOLVE_H_

#include "fovea/fovea.h"
#include "layers/delta/call.h"

namespace fovea {

// Follows no pointer but the executor's. The target may be another machine's.
fovea_status plan_delta(const fovea_delta_args& args, DeltaPlan* plan);

// Performs every check, and makes *call ready to run.
fovea_status resolve_delta(fovea_delta_state* state, const fovea_delta_args& args, void* workspace,
                           size_t workspace_bytes, DeltaCall* call);

// The header of a new state for these counts.
fovea_status plan_delta_matrices(const fovea_delta_args& args, DeltaMatricesCall* call);

fovea_status resolve_delta_matrices(const fovea_delta_args& args, const fovea_in* before, const fovea_out* after,
                                    void* workspace, size_t workspace_bytes, DeltaMatricesCall* call);

fovea_status make_delta_header(uint32_t batch, uint32_t v_heads, uint32_t key_dim, uint32_t value_dim,
                               uint32_t decay_dim, fovea_delta_state* header);
fovea_status check_new_delta_state(const void* memory, size_t bytes, const fovea_delta_state& header);
fovea_status check_delta_state(const fovea_delta_state* state);

// The entries that `entry` names: one, or all. The matrices may be null.
struct DeltaEntries {
  uint32_t first, count;
};
fovea_status check_delta_set(const fovea_delta_state* state, uint32_t entry, const fovea_in* matrices,
                             DeltaEntries* entries);
fovea_status resolve_delta_get(const fovea_delta_state* state, fovea_target target, uint32_t entry,
                               const fovea_out* matrices, DeltaEntries* entries, const DeltaKernels** kernels);
fovea_status check_delta_roll_back(const fovea_delta_state* state, uint32_t entry, uint32_t tokens,
                                   DeltaEntries* entries);

fovea_status check_delta_export(const fovea_delta_state* state, const void* image, size_t image_bytes);
fovea_status check_delta_import(const fovea_delta_state* state, size_t state_bytes, const void* image,
                                size_t image_bytes);

}  // namespace fovea

#endif  // FOVEA_SRC_DELTA_RESOLVE_H_
