// SPDX-License-Identifier: Apache-2.0
#include "ground/base/arithmetic.h"
#include "core/hadamard/call.h"

#include "fovea/fovea.h"
#include "ground/base/buffers.h"
#include "ground/base/status.h"
#include "ground/targets/registry.h"

namespace fovea {

fovea_status resolve_hadamard(const fovea_hadamard_args& a, HadamardCall* call) {
  FOVEA_RETURN_IF_ERROR(check_struct(a));
  const TargetTraits* traits;
  FOVEA_RETURN_IF_ERROR(find_target(a.target, &traits));
  const uint32_t most = uint32_t(hadamard_block(a.dim)), block = a.block ? a.block : most;
  if (a.dim == 0 || a.heads == 0 || (block & (block - 1)) != 0 || block > most) return FOVEA_ERR_DIM;
  call->rows = counts_of(a);
  if (call->rows.batch == 0) return FOVEA_OK;
  Buffers buffers;
  buffers.add_output(a.y, sizeof(float), call->rows, a.dim);
  FOVEA_RETURN_IF_ERROR(buffers.add_in_place(a.y, sizeof(float), a.x, sizeof(float), call->rows, a.dim));
  call->kernels = &hadamard_kernels(traits->target);
  call->y = &a.y, call->x = &a.x;
  call->row = hadamard_of(a.dim, block, a.seed, a.inverse != 0);
  return FOVEA_OK;
}

}  // namespace fovea

FOVEA_C_CALL_(fovea_hadamard, fovea_hadamard_args, resolve_hadamard, run_hadamard)
