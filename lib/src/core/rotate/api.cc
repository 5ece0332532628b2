// SPDX-License-Identifier: Apache-2.0
#include "ground/base/arithmetic.h"
#include "core/rotate/call.h"
#include "core/rotate/resolve.h"
#include "fovea/fovea.h"
#include "ground/base/status.h"

extern "C" fovea_status fovea_rotate_f32(const fovea_rotate_args* args) {
  if (!args) return FOVEA_ERR_NULL;
  fovea::RotateCall call;
  FOVEA_RETURN_IF_ERROR(fovea::resolve_rotate(*args, &call));
  fovea::run_rotate(&call);
  return FOVEA_OK;
}
