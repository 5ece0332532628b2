// SPDX-License-Identifier: Apache-2.0
#include "ground/targets/list.h"
#include "platform/platform.h"

namespace fovea::platform {

fovea_target target_with_kernels(uint32_t index, uint64_t features) {
  if (FOVEA_WITH_IN_ORDER && (features & FOVEA_FEATURE_NEON_IN_ORDER)) {  // fovea_target_at does not list it
    if (index-- == 0) return FOVEA_TARGET_NEON_IN_ORDER;
  }
  for (uint32_t i = 0; i < fovea_target_count(); ++i) {
    const fovea_target target = fovea_target_at(i);
    if (kernels_of(target) == target && index-- == 0) return target;
  }
  return FOVEA_TARGET_BEST;
}

}  // namespace fovea::platform
