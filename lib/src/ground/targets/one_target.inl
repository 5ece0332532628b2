// SPDX-License-Identifier: Apache-2.0
//
// Includes FOVEA_KERNELS_FILE again, in FOVEA_KERNELS_NAMESPACE, for kernels of which a build has one: within the
// namespace of the target whose words for integers they use, or of no target. It is FOVEA_ONE_TARGET of ground/targets/list.h.
#if FOVEA_FOR_HELIUM || FOVEA_FOR_SCALAR
#include "ground/targets/each_target.inl"
#elif !FOVEA_WITH_SCALAR
#define FOVEA_IN_TARGET
namespace fovea {
namespace FOVEA_ONE_TARGET {
namespace FOVEA_KERNELS_NAMESPACE {
#include FOVEA_KERNELS_FILE
}  // namespace FOVEA_KERNELS_NAMESPACE
}  // namespace FOVEA_ONE_TARGET
}  // namespace fovea
#include "ground/targets/next_target.h"
#undef FOVEA_IN_TARGET
#endif
