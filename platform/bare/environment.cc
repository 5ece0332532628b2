// SPDX-License-Identifier: Apache-2.0
//
// No environment variables. The processor's name is found by the number in its identification register.
#include <cstdio>

#include "platform/platform.h"

namespace fovea::platform {
namespace {

// The main identification register: MIDR (A) and CPUID (M) of the Arm architecture reference manuals, or RISC-V's
// marchid, for which anyone may register a number.
uint32_t identification() {
#if defined(__riscv)
  uintptr_t number;
  __asm__(".option push\n .option arch, +zicsr\n csrr %0, marchid\n .option pop" : "=r"(number));
  return static_cast<uint32_t>(number);
#elif defined(__aarch64__)
  uint64_t number;
  __asm__("mrs %0, midr_el1" : "=r"(number));
  return static_cast<uint32_t>(number);
#elif __ARM_ARCH_PROFILE == 'M'
  return *reinterpret_cast<volatile uint32_t*>(0xe000ed00);
#else
  uint32_t number;
  __asm__("mrc p15, 0, %0, c0, c0, 0" : "=r"(number));
  return number;
#endif
}

struct Part {
  uint32_t number;
  const char* name;
};
constexpr Part kArmParts[] = {
    {0xc07, "Cortex-A7"},  {0xc0f, "Cortex-A15"}, {0xc24, "Cortex-M4"},  {0xc27, "Cortex-M7"},
    {0xc60, "Cortex-M0+"}, {0xc23, "Cortex-M3"},  {0xd03, "Cortex-A53"}, {0xd05, "Cortex-A55"},
    {0xd08, "Cortex-A72"}, {0xd0b, "Cortex-A76"}, {0xd21, "Cortex-M33"}, {0xd22, "Cortex-M55"},
    {0xd23, "Cortex-M85"}, {0xd24, "Cortex-M52"}, {0xc15, "Cortex-R5"},  {0xd13, "Cortex-R52"},
};

}  // namespace

fovea_target target_from_environment() { return FOVEA_TARGET_BEST; }
uint64_t processor_features() { return 0; }

const char* processor_name() {
  const uint32_t id = identification();
  if (id >> 24 == 0x41) {  // implementer: Arm
    for (const Part& part : kArmParts) {
      if (part.number == (id >> 4 & 0xfff)) return part.name;
    }
  }
  static char text[32];
  std::snprintf(text, sizeof text, "processor 0x%08lx", static_cast<unsigned long>(id));
  return text;
}

}  // namespace fovea::platform
