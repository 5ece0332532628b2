// SPDX-License-Identifier: Apache-2.0
#include "ground/base/arithmetic.h"
#include "fovea/fovea.h"
#include "ground/base/status.h"
#include "layers/norm/call.h"
#include "layers/norm/resolve.h"

extern "C" fovea_status fovea_activation(const fovea_activation_args* args) {
  if (!args) return FOVEA_ERR_NULL;
  fovea::ActivationCall call;
  FOVEA_RETURN_IF_ERROR(fovea::resolve_activation(*args, &call));
  fovea::run_activation(call);
  return FOVEA_OK;
}

extern "C" fovea_status fovea_norm(const fovea_norm_args* args) {
  if (!args) return FOVEA_ERR_NULL;
  fovea::NormCall call;
  FOVEA_RETURN_IF_ERROR(fovea::resolve_norm(*args, &call));
  fovea::run_norm(call);
  return FOVEA_OK;
}
