// SPDX-License-Identifier: Apache-2.0
//
// The processor's cycle counter (mcycle: the RISC-V Instruction Set Manual, volume II, "Hardware Performance Monitor"),
// and semihosting's clock.
#include "platform/bare/counter.h"
#include "platform/bare/semihosting.h"
#include "platform/platform.h"

namespace fovea::platform {

#define FOVEA_CSR(text) ".option push\n .option arch, +zicsr\n" text "\n .option pop"

uint64_t counter() {
  uintptr_t low;
#if __riscv_xlen == 32
  uintptr_t high, again;
  do {
    __asm__ volatile(FOVEA_CSR("csrr %0, mcycleh\n csrr %1, mcycle\n csrr %2, mcycleh")
                     : "=r"(high), "=r"(low), "=r"(again));
  } while (high != again);
  return static_cast<uint64_t>(high) << 32 | low;
#else
  __asm__ volatile(FOVEA_CSR("csrr %0, mcycle") : "=r"(low));
  return low;
#endif
}

uint64_t clock_ns() { return semihosting::clock_ns(); }

const char* counter_unit() { return "cycles"; }

const char* counter_source() { return "mcycle"; }

}  // namespace fovea::platform
