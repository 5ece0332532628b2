// SPDX-License-Identifier: Apache-2.0
#include "base/arithmetic.h"
#include "fovea/fovea.h"
#include "softmax/call.h"
#include "softmax/resolve.h"
#include "targets/registry.h"

namespace {

fovea_status softmax(const fovea_softmax_args* args, bool logarithm) {
  if (!args) return FOVEA_ERR_NULL;
  const fovea_status status = fovea::check_softmax_args(*args, logarithm);
  if (status != FOVEA_OK) return status;
  const fovea_target target = fovea::resolve_target(args->target)->target;
  fovea::run_softmax(*args, logarithm, fovea::softmax_kernels(target));
  return FOVEA_OK;
}

}  // namespace

extern "C" fovea_status fovea_softmax_f32(const fovea_softmax_args* args) { return softmax(args, false); }

extern "C" fovea_status fovea_log_softmax_f32(const fovea_softmax_args* args) { return softmax(args, true); }
