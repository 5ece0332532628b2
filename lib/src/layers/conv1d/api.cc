// SPDX-License-Identifier: Apache-2.0
#include "ground/base/arithmetic.h"
#include "fovea/fovea.h"
#include "ground/base/status.h"
#include "layers/conv1d/call.h"
#include "layers/conv1d/resolve.h"

extern "C" fovea_status fovea_conv1d_f32(const fovea_conv1d_args* args) {
  if (!args) return FOVEA_ERR_NULL;
  fovea::Conv1dCall call;
  FOVEA_RETURN_IF_ERROR(fovea::resolve_conv1d(*args, &call));
  fovea::run_conv1d(&call);
  return FOVEA_OK;
}
