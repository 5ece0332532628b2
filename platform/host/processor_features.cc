// SPDX-License-Identifier: Apache-2.0
#include "platform/platform.h"

#if defined(__aarch64__) && defined(__linux__)
#include <asm/hwcap.h>
#include <sys/auxv.h>
#ifndef HWCAP2_I8MM
#define HWCAP2_I8MM (1 << 13)  // Linux 5.10
#endif
#endif

namespace fovea::platform {

uint64_t processor_features() {
  uint64_t features = 0;
#if defined(__aarch64__) && defined(__linux__)
  if (getauxval(AT_HWCAP) & HWCAP_ASIMDDP) features |= FOVEA_FEATURE_NEON_DOTPROD;
  if (getauxval(AT_HWCAP2) & HWCAP2_I8MM) features |= FOVEA_FEATURE_NEON_I8MM;
#endif
  return features;
}

}  // namespace fovea::platform
