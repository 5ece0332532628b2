// SPDX-License-Identifier: Apache-2.0
#include "base/arithmetic.h"
#include "base/status.h"
#include "conv1d/call.h"
#include "conv1d/resolve.h"
#include "fovea/fovea.h"
#include "targets/registry.h"

extern "C" fovea_status fovea_conv1d_f32(const fovea_conv1d_args* args) {
  if (!args) return FOVEA_ERR_NULL;
  FOVEA_RETURN_IF_ERROR(fovea::check_conv1d_args(*args));
  fovea::run_conv1d(*args, fovea::conv1d_kernels(fovea::resolve_target(args->target)->target));
  return FOVEA_OK;
}
