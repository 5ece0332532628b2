// SPDX-License-Identifier: Apache-2.0
//
// Whether a target's multiply-adds round once.
#ifndef FOVEA_SRC_TARGETS_FUSES_H_
#define FOVEA_SRC_TARGETS_FUSES_H_

#include "ground/simd/macros.h"
#include "ground/targets/list.h"

namespace fovea {

// Of a target that this build has.
inline bool fuses(fovea_target target) {
#if defined(__aarch64__) || defined(__ARM_FEATURE_FMA)
  constexpr bool kNeonFuses = true;
#else
  constexpr bool kNeonFuses = false;
#endif
  switch (kernels_of(target)) {
    case FOVEA_TARGET_SCALAR: return FOVEA_SIMD_FUSES;
    case FOVEA_TARGET_NEON: return kNeonFuses;
    case FOVEA_TARGET_XSIMD: return FOVEA_XSIMD_LANES > 4;
    case FOVEA_TARGET_SSE4:
    case FOVEA_TARGET_WASM: return false;
    default: return true;
  }
}

}  // namespace fovea

#endif  // FOVEA_SRC_TARGETS_FUSES_H_
