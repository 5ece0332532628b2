// SPDX-License-Identifier: Apache-2.0
//
// The processor's cycle counter (PMCCNTR), and the system counter (CNTVCT), which measures time; a Cortex-R5 lacks the
// latter. Arm Architecture Reference Manuals, "The Performance Monitors Extension" and "The Generic Timer".
#include "platform/bare/counter.h"
#include "platform/bare/semihosting.h"
#include "platform/platform.h"

namespace fovea::platform {
namespace {

constexpr bool kIsArmv7R = __ARM_ARCH_PROFILE == 'R' && __ARM_ARCH < 8;

#if defined(__aarch64__)
void start_cycles() {
  __asm__ volatile("msr pmcr_el0, %0" : : "r"(uint64_t{1 | 1 << 6}));           // E: run; LC: 64 bits
  __asm__ volatile("msr pmccfiltr_el0, %0" : : "r"(uint64_t{0}));               // at every exception level
  __asm__ volatile("msr pmcntenset_el0, %0\n isb" : : "r"(uint64_t{1} << 31));  // the cycle counter
}

uint64_t cycles() {
  uint64_t count;
  __asm__ volatile("isb\n mrs %0, pmccntr_el0" : "=r"(count));
  return count;
}

uint64_t system_counter() {
  uint64_t count;
  __asm__ volatile("isb\n mrs %0, cntvct_el0" : "=r"(count));
  return count;
}

uint64_t system_counter_hertz() {
  uint64_t hertz;
  __asm__ volatile("mrs %0, cntfrq_el0" : "=r"(hertz));
  return hertz;
}
#else
void start_cycles() {
  __asm__ volatile("mcr p15, 0, %0, c9, c12, 0" : : "r"(1));               // PMCR.E
  __asm__ volatile("mcr p15, 0, %0, c9, c12, 1\n isb" : : "r"(1u << 31));  // PMCNTENSET: the cycle counter
}

// PMCCNTR has 32 bits: it must be read again before it wraps.
uint64_t cycles() {
  static uint64_t count;
  static uint32_t before;
  uint32_t now;
  __asm__ volatile("isb\n mrc p15, 0, %0, c9, c13, 0" : "=r"(now));
  count += static_cast<uint32_t>(now - before);
  before = now;
  return count;
}

uint64_t system_counter() {
  uint64_t count;
  __asm__ volatile("isb\n mrrc p15, 1, %Q0, %R0, c14" : "=r"(count));
  return count;
}

uint64_t system_counter_hertz() {
  uint32_t hertz;
  __asm__ volatile("mrc p15, 0, %0, c14, c0, 0" : "=r"(hertz));
  return hertz;
}
#endif

}  // namespace

uint64_t counter() {
  static bool running;
  if (!running) start_cycles();
  running = true;
  return cycles();
}

uint64_t clock_ns() {
  if (kIsArmv7R) return semihosting::clock_ns();
  const uint64_t hertz = system_counter_hertz(), count = system_counter();
  return count / hertz * 1000000000u + count % hertz * 1000000000u / hertz;
}

const char* counter_unit() { return "cycles"; }

const char* counter_source() { return "PMCCNTR"; }

}  // namespace fovea::platform
