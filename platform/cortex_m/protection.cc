// SPDX-License-Identifier: Apache-2.0
//
// The memory protection unit. Armv7-M and Armv8-M Architecture Reference Manuals, "Protected Memory System
// Architecture". Memory outside of all regions is as without the unit.
#include "platform/cortex_m/protection.h"

#include "platform/bare/start.h"
#include "platform/cortex_m/registers.h"

namespace fovea::platform {
namespace {

constexpr uintptr_t kType = 0xe000ed90, kControl = 0xe000ed94, kNumber = 0xe000ed98, kBase = 0xe000ed9c,
                    kLimit = 0xe000eda0, kAttributes = 0xe000edc0;

constexpr uint32_t kMostRegions = 16;
uint32_t g_forbidden[kMostRegions];  // by region: the address, or 0

uint32_t regions() {
  const uint32_t count = system_register(kType) >> 8 & 0xff;
  return count < kMostRegions ? count : kMostRegions;
}

void set_region(uint32_t region, uint32_t base, uint32_t limit) {
  __asm__ volatile("dmb" : : : "memory");
  system_register(kNumber) = region;
  system_register(kLimit) = 0;  // off while its base changes
  system_register(kBase) = base;
  system_register(kLimit) = limit;
  system_register(kControl) = 5;  // on, over the default memory map
  __asm__ volatile("dsb\n isb" : : : "memory");
}
void clear_region(uint32_t region) { set_region(region, 0, 0); }

// The first region covers the stack's guard or the heap; each other region forbids an address range.
#if __ARM_ARCH < 8
constexpr uint32_t kKiB = 9u << 1 | 1, kNormal = 1u << 19 | 3u << 16, kNoCode = 1u << 28;
constexpr uint32_t kReadOnly = 6u << 24, kNoAccess = 0;

void set_region_0() { set_region(0, reinterpret_cast<uintptr_t>(stack_guard), kNoCode | kReadOnly | kNormal | kKiB); }
void set_forbidden(uint32_t region, uint32_t begin) { set_region(region, begin, kNoCode | kNoAccess | kNormal | kKiB); }
#else
// No region can forbid access to privileged code, but an access where two regions overlap faults.
constexpr uint32_t kReadWriteNoCode = 1u << 1 | 1, kOn = 1;
constexpr uint32_t kUnit = 32;  // regions begin and end at multiples of it

void set_region_0() {
  system_register(kAttributes) = 0xff;  // 0: normal memory, write-back
  const uint32_t begin = (reinterpret_cast<uintptr_t>(heap_begin) + kUnit - 1) / kUnit * kUnit;
  const uint32_t end = reinterpret_cast<uintptr_t>(heap_end) / kUnit * kUnit;
  set_region(0, begin | kReadWriteNoCode, (end - kUnit) | kOn);
}
void set_forbidden(uint32_t region, uint32_t begin) {
  set_region(region, begin | kReadWriteNoCode, (begin + kForbiddenBytes - kUnit) | kOn);
}
#endif

}  // namespace

bool forbid_memory(const void* begin) {
  if (regions() == 0) return false;
  set_region_0();
  for (uint32_t region = 1; region < regions(); ++region) {
    if (g_forbidden[region] != 0) continue;
    g_forbidden[region] = reinterpret_cast<uintptr_t>(begin);
    set_forbidden(region, g_forbidden[region]);
    return true;
  }
  return false;
}

void allow_memory(const void* begin) {
  for (uint32_t region = 1; region < regions(); ++region) {
    if (g_forbidden[region] != reinterpret_cast<uintptr_t>(begin)) continue;
    g_forbidden[region] = 0;
    clear_region(region);
  }
}

}  // namespace fovea::platform

// One read-only region, on processors without MSPLIM to limit the stack.
extern "C" void fovea_protect_guard() {
#if __ARM_ARCH < 8
  if (fovea::platform::regions() != 0) fovea::platform::set_region_0();
#endif
}
