// SPDX-License-Identifier: Apache-2.0
#include "base/arithmetic.h"
#include "base/status.h"
#include "fovea/fovea.h"
#include "norm/call.h"
#include "norm/resolve.h"
#include "targets/registry.h"

extern "C" fovea_status fovea_activation_f32(const fovea_activation_args* args) {
  if (!args) return FOVEA_ERR_NULL;
  FOVEA_RETURN_IF_ERROR(fovea::check_activation_args(*args));
  fovea::run_activation(*args, fovea::norm_kernels(fovea::resolve_target(args->target)->target));
  return FOVEA_OK;
}

extern "C" fovea_status fovea_norm_f32(const fovea_norm_args* args) {
  if (!args) return FOVEA_ERR_NULL;
  FOVEA_RETURN_IF_ERROR(fovea::check_norm_args(*args));
  fovea::run_norm(*args, fovea::norm_kernels(fovea::resolve_target(args->target)->target));
  return FOVEA_OK;
}
