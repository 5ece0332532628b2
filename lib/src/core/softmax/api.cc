// SPDX-License-Identifier: Apache-2.0
#include "ground/base/arithmetic.h"
#include "core/softmax/call.h"
#include "core/softmax/resolve.h"
#include "fovea/fovea.h"
#include "ground/base/status.h"

namespace {

fovea_status softmax(const fovea_softmax_args* args, bool logarithm) {
  if (!args) return FOVEA_ERR_NULL;
  fovea::SoftmaxCall call;
  FOVEA_RETURN_IF_ERROR(fovea::resolve_softmax(*args, logarithm, &call));
  fovea::run_softmax(call);
  return FOVEA_OK;
}

}  // namespace

extern "C" fovea_status fovea_softmax_f32(const fovea_softmax_args* args) { return softmax(args, false); }

extern "C" fovea_status fovea_log_softmax_f32(const fovea_softmax_args* args) { return softmax(args, true); }
