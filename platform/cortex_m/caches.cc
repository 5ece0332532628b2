// SPDX-License-Identifier: Apache-2.0
//
// Arm v7-M and v8-M: cache identification and maintenance registers.
#include "platform/cortex_m/caches.h"

#include "platform/cortex_m/registers.h"

namespace fovea::platform {
namespace {

constexpr uintptr_t kCcr = 0xe000ed14, kClidr = 0xe000ed78, kCcsidr = 0xe000ed80, kCsselr = 0xe000ed84;
constexpr uintptr_t kIciallu = 0xe000ef50, kDcisw = 0xe000ef60;
constexpr uint32_t kInstructions = 1, kData = 2;           // bits of the first level in CLIDR
constexpr uint32_t kDataOn = 1u << 16, kCodeOn = 1u << 17;  // in CCR

void synchronise() { __asm__ volatile("dsb\n isb" : : : "memory"); }

// After reset the content of the lines is not defined.
void invalidate_data() {
  system_register(kCsselr) = 0;  // data, first level
  synchronise();
  const uint32_t shape = system_register(kCcsidr);
  const uint32_t line_shift = (shape & 7) + 4, ways = shape >> 3 & 0x3ff, sets = shape >> 13 & 0x7fff;  // less 1
  const uint32_t way_shift = ways ? static_cast<uint32_t>(__builtin_clz(ways)) : 0;
  for (uint32_t set = 0; set <= sets; ++set) {
    for (uint32_t way = 0; way <= ways; ++way) system_register(kDcisw) = way << way_shift | set << line_shift;
  }
}

}  // namespace

void enable_caches() {
  const uint32_t level = system_register(kClidr) & 7;
  if ((level & kInstructions) && !(system_register(kCcr) & kCodeOn)) {
    system_register(kIciallu) = 0;
    synchronise();
    system_register(kCcr) |= kCodeOn;
  }
  if ((level & kData) && !(system_register(kCcr) & kDataOn)) {
    invalidate_data();
    synchronise();
    system_register(kCcr) |= kDataOn;
  }
  synchronise();
}

}  // namespace fovea::platform
