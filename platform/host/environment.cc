// SPDX-License-Identifier: Apache-2.0
#include <cstdio>
#include <cstdlib>
#include <cstring>

#if defined(__x86_64__) || defined(__i386__)
#include <cpuid.h>
#elif defined(__APPLE__)
#include <sys/sysctl.h>
#endif

#include "platform/platform.h"

namespace fovea::platform {
namespace {

bool runs_here(fovea_target target) {
  if (target == FOVEA_TARGET_BEST) return true;
  for (uint32_t i = 0; i < fovea_target_count(); ++i) {
    if (fovea_target_at(i) == target) return true;
  }
  return false;
}

// Fills name[bytes]; false if the machine does not give a name.
bool read_processor_name(char* name, size_t bytes) {
  name[0] = 0;
#if defined(__x86_64__) || defined(__i386__)
  unsigned brand[12] = {};  // 48 characters: leaves 0x80000002 to 4, AMD64 Architecture Programmer's Manual volume 3
  for (unsigned leaf = 0; leaf < 3; ++leaf) {
    unsigned* part = brand + 4 * leaf;
    if (!__get_cpuid(0x80000002u + leaf, &part[0], &part[1], &part[2], &part[3])) return false;
  }
  std::snprintf(name, bytes, "%.*s", static_cast<int>(sizeof brand), reinterpret_cast<const char*>(brand));
#elif defined(__APPLE__)
  if (sysctlbyname("machdep.cpu.brand_string", name, &bytes, nullptr, 0) != 0) return false;
#else
  std::FILE* file = std::fopen("/proc/device-tree/model", "r");  // Linux on boards: "Raspberry Pi 4 Model B Rev 1.4"
  if (!file) return false;
  name[std::fread(name, 1, bytes - 1, file)] = 0;
  std::fclose(file);
#endif
  char* begin = name + std::strspn(name, " ");
  std::memmove(name, begin, std::strlen(begin) + 1);
  for (size_t end = std::strlen(name); end && (name[end - 1] == ' ' || name[end - 1] == '\n'); --end) name[end - 1] = 0;
  return name[0] != 0;
}

}  // namespace

fovea_target target_from_environment() {
  const char* name = std::getenv("FOVEA_TARGET");
  if (!name || !*name) return FOVEA_TARGET_BEST;
  const fovea_target target = fovea_target_from_name(name);
  if (target != kNoTarget && runs_here(target)) return target;

  const char* reason = "is no target";
  if (target != kNoTarget) {
    reason = fovea_target_backend(target) ? "does not run on this processor" : "is not compiled in";
  }
  std::fprintf(stderr, "FOVEA_TARGET=%s %s. Here run:", name, reason);
  for (uint32_t i = 0; i < fovea_target_count(); ++i) {
    std::fprintf(stderr, " %s", fovea_target_name(fovea_target_at(i)));
  }
  std::fprintf(stderr, "\n");
  return kNoTarget;
}

const char* processor_name() {
  static char name[128];
  static const bool known = read_processor_name(name, sizeof name);
  return known ? name : "unknown processor";
}

}  // namespace fovea::platform
