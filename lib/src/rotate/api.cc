// SPDX-License-Identifier: Apache-2.0
#include "base/arithmetic.h"
#include "base/status.h"
#include "fovea/fovea.h"
#include "rotate/call.h"
#include "rotate/resolve.h"

extern "C" fovea_status fovea_rotate_f32(const fovea_rotate_args* args) {
  if (!args) return FOVEA_ERR_NULL;
  fovea::RotateCall call;
  FOVEA_RETURN_IF_ERROR(fovea::resolve_rotate(*args, &call));
  fovea::run_rotate(&call);
  return FOVEA_OK;
}
