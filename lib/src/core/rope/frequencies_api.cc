// SPDX-License-Identifier: Apache-2.0
//
// A separate file, so that programs with their own tables do not link it.
#include "ground/base/arithmetic.h"
#include "core/rope/call.h"
#include "core/rope/resolve.h"
#include "fovea/fovea.h"

extern "C" fovea_status fovea_rope_frequencies(uint64_t* turns, double base, double position_scale,
                                               uint32_t rotary_dim) {
  const fovea_status status = fovea::check_rope_frequencies(turns, base, position_scale, rotary_dim);
  if (status == FOVEA_OK) fovea::rope_frequencies(turns, base, position_scale, rotary_dim);
  return status;
}
