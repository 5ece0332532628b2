// SPDX-License-Identifier: Apache-2.0
#include "platform/platform.h"

#if defined(__aarch64__) && defined(__linux__)
#include <asm/hwcap.h>
#include <sys/auxv.h>
#include <unistd.h>

#include <cstdio>
#ifndef HWCAP_CPUID
#define HWCAP_CPUID (1 << 11)  // Linux 4.11
#endif
#ifndef HWCAP2_I8MM
#define HWCAP2_I8MM (1 << 13)  // Linux 5.10
#endif
#endif

namespace fovea::platform {
#if defined(__aarch64__) && defined(__linux__)
namespace {

// Whether the value of MIDR_EL1 is one of Arm's cores for which these kernels are faster. Cortex-A510 and A520 run
// instructions in order, too, but take longer with them: bench/README.md.
bool runs_in_order(unsigned long long midr) {
  if ((midr >> 24 & 0xff) != 0x41) return false;
  switch (midr >> 4 & 0xfff) {
    case 0xd02:  // Cortex-A34
    case 0xd03:  // Cortex-A53
    case 0xd04:  // Cortex-A35
    case 0xd05:  // Cortex-A55
      return true;
    default: return false;
  }
}

// Whether all processors run instructions in order. If some do not, those should do the work, and a thread may move to
// them at any time. Linux gives MIDR_EL1 of each processor; if it does not, the current processor's is used.
bool all_run_in_order() {
  bool any = false;
  const long count = sysconf(_SC_NPROCESSORS_CONF);
  for (long i = 0; i < count; ++i) {
    char name[96];
    std::snprintf(name, sizeof name, "/sys/devices/system/cpu/cpu%ld/regs/identification/midr_el1", i);
    std::FILE* const file = std::fopen(name, "r");
    if (!file) continue;  // a processor that is switched off has no such file
    unsigned long long midr = 0;
    any = true;
    const bool known = std::fscanf(file, "%llx", &midr) == 1;
    std::fclose(file);
    if (!known || !runs_in_order(midr)) return false;
  }
  if (any || !(getauxval(AT_HWCAP) & HWCAP_CPUID)) return any;
  unsigned long midr;
  asm("mrs %0, midr_el1" : "=r"(midr));  // Linux emulates this
  return runs_in_order(midr);
}

uint64_t ask() {
  uint64_t features = 0;
  if (getauxval(AT_HWCAP) & HWCAP_ASIMDDP) features |= FOVEA_FEATURE_NEON_DOTPROD;
  if (getauxval(AT_HWCAP2) & HWCAP2_I8MM) features |= FOVEA_FEATURE_NEON_I8MM;
  if (getauxval(AT_HWCAP) & HWCAP_ASIMDHP) features |= FOVEA_FEATURE_NEON_FP16;
  if (all_run_in_order()) features |= FOVEA_FEATURE_NEON_IN_ORDER;
  return features;
}

}  // namespace

uint64_t processor_features() {
  static const uint64_t features = ask();
  return features;
}
#else
uint64_t processor_features() { return 0; }
#endif

}  // namespace fovea::platform
