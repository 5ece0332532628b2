// SPDX-License-Identifier: Apache-2.0
//
// The cycle counter of the debug unit (DWT CYCCNT) if the processor has one that counts; else SysTick, on the clock
// that the chip's maker chose. QEMU has no DWT.
#include "platform/bare/counter.h"
#include "platform/bare/semihosting.h"
#include "platform/cortex_m/registers.h"
#include "platform/platform.h"

namespace fovea::platform {
namespace {

constexpr uintptr_t kDemcr = 0xe000edfc, kDwtCtrl = 0xe0001000, kDwtCyccnt = 0xe0001004,
                    kDwtLar = 0xe0001fb0;
constexpr uintptr_t kSystCsr = 0xe000e010, kSystRvr = 0xe000e014, kSystCvr = 0xe000e018;
constexpr uint32_t kSystMask = 0xffffff;  // it has 24 bits and counts down

bool start_cycle_counter() {
  if (__ARM_ARCH < 7) return false;                          // Armv6-M: the unit counts nothing
  system_register(kDemcr) |= 1u << 24;                       // TRCENA
  system_register(kDwtLar) = 0xc5acce55;                     // some Cortex-M7 lock the unit's registers
  if (system_register(kDwtCtrl) & (1u << 25)) return false;  // NOCYCCNT
  system_register(kDwtCtrl) |= 1;                            // CYCCNTENA
  const uint32_t before = system_register(kDwtCyccnt);
  for (int i = 0; i < 16; ++i) __asm__ volatile("nop");
  return system_register(kDwtCyccnt) != before;
}

bool start_systick() {
  system_register(kSystRvr) = kSystMask;
  system_register(kSystCvr) = 0;
  system_register(kSystCsr) = 5;  // run on the processor's clock, without an interrupt
  return false;
}

bool has_cycles() {
  static const bool cycles = start_cycle_counter() || start_systick();
  return cycles;
}

}  // namespace

// Both counters wrap, after 2^32 cycles and 2^24 ticks: less must pass between two readings.
uint64_t counter() {
  static uint64_t ticks;
  static uint32_t before;
  const bool cycles = has_cycles();
  const uint32_t now = cycles ? system_register(kDwtCyccnt) : kSystMask - system_register(kSystCvr);
  ticks += cycles ? now - before : (now - before) & kSystMask;
  before = now;
  return ticks;
}

// How fast the processor runs is not known.
uint64_t clock_ns() { return semihosting::clock_ns(); }

const char* counter_unit() { return has_cycles() ? "cycles" : "ticks of SysTick"; }

const char* counter_source() { return has_cycles() ? "DWT CYCCNT" : "SysTick"; }

}  // namespace fovea::platform
