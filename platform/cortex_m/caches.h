// SPDX-License-Identifier: Apache-2.0
#ifndef FOVEA_PLATFORM_CORTEX_M_CACHES_H_
#define FOVEA_PLATFORM_CORTEX_M_CACHES_H_

namespace fovea::platform {

// Switches on the caches of a Cortex-M7, M55 or M85, which are off after reset. Does nothing if there are none.
void enable_caches();

}  // namespace fovea::platform

#endif  // FOVEA_PLATFORM_CORTEX_M_CACHES_H_
