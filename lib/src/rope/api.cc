// SPDX-License-Identifier: Apache-2.0
#include "base/arithmetic.h"
#include "fovea/fovea.h"
#include "rope/call.h"
#include "rope/resolve.h"
#include "targets/registry.h"

extern "C" fovea_status fovea_rope_f32(const fovea_rope_args* args) {
  if (!args) return FOVEA_ERR_NULL;
  const fovea_status status = fovea::check_rope_args(*args);
  if (status != FOVEA_OK) return status;
  const fovea_target target = fovea::resolve_target(args->target)->target;
  fovea::run_rope(*args, fovea::rope_kernels(target));
  return FOVEA_OK;
}
