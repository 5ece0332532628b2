// SPDX-License-Identifier: Apache-2.0
//
// Includes FOVEA_KERNELS_FILE again, in FOVEA_KERNELS_NAMESPACE within the namespace of the backend's target. Highway
// has several targets, and includes this file once for each. FOVEA_IN_TARGET is then defined.
#include "ground/simd/macros.h"
#include "ground/targets/compiled.h"

#include "ground/targets/backend.inl"

#if !FOVEA_FOR_HIGHWAY || (HWY_TARGET != HWY_SCALAR && HWY_TARGET != HWY_EMU128)  // Highway's baseline is no target
#if FOVEA_FOR_HIGHWAY
HWY_BEFORE_NAMESPACE();
#endif
namespace fovea {
namespace FOVEA_TARGET_NAMESPACE {
namespace FOVEA_KERNELS_NAMESPACE {
#define FOVEA_IN_TARGET
#include FOVEA_KERNELS_FILE
#undef FOVEA_IN_TARGET
}  // namespace FOVEA_KERNELS_NAMESPACE
}  // namespace FOVEA_TARGET_NAMESPACE
}  // namespace fovea
#if FOVEA_FOR_HIGHWAY
HWY_AFTER_NAMESPACE();
#endif
#endif

#include "ground/targets/next_target.h"
#undef FOVEA_BACKEND_HEADER
#undef FOVEA_COMMON_NAMESPACE
#undef FOVEA_STANDS_IN
#undef FOVEA_TARGET_NAMESPACE
