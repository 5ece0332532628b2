// SPDX-License-Identifier: Apache-2.0
#include "ground/base/arithmetic.h"
#include "core/rope/call.h"
#include "core/rope/resolve.h"
#include "fovea/fovea.h"
#include "ground/base/status.h"

extern "C" fovea_status fovea_rope_f32(const fovea_rope_args* args) {
  if (!args) return FOVEA_ERR_NULL;
  fovea::RopeCall call;
  FOVEA_RETURN_IF_ERROR(fovea::resolve_rope(*args, &call));
  fovea::run_rope(call);
  return FOVEA_OK;
}
