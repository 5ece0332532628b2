// SPDX-License-Identifier: Apache-2.0
//
// Cortex-M: vector table, reset, faults. Register names and addresses: Armv7-M and Armv8-M Architecture Reference
// Manuals, "System Control Block".
#include "platform/bare/start.h"
#include "platform/cortex_m/caches.h"
#include "platform/cortex_m/registers.h"

using fovea::platform::enable_caches;
using fovea::platform::system_register;

namespace {

constexpr uintptr_t kVtor = 0xe000ed08, kCcr = 0xe000ed14, kShcsr = 0xe000ed24, kCfsr = 0xe000ed28, kHfsr = 0xe000ed2c,
                    kCpacr = 0xe000ed88;
constexpr uintptr_t kFpdscr = 0xe000ef3c;
constexpr bool kArmv6 = __ARM_ARCH < 7;  // Cortex-M0, M0+, M1: all faults are HardFaults, without a status register

// The bits of CFSR, with VECTTBL of HFSR in a bit that is 0 in CFSR.
uint32_t fault_detail() { return kArmv6 ? 0 : system_register(kCfsr) | (system_register(kHfsr) & 2); }

}  // namespace

extern "C" {

[[noreturn]] void fovea_reset();

// exception: its number. frame: the registers that the processor pushed (r0 to r3, r12, lr, pc, xpsr), or an address
// outside of the stack if they did not fit.
[[noreturn, gnu::used]] void fovea_exception(uint32_t exception, const uint32_t* frame) {
  const bool pushed = frame >= stack_limit && frame + 8 <= stack_top;  // false: the stack was full
  static const char* const kNames[] = {"NMI", "HardFault", "MemManage", "BusFault", "UsageFault", "SecureFault"};
  const char* name = exception >= 2 && exception <= 7 ? kNames[exception - 2] : "unexpected interrupt";
  if (!pushed) name = "stack overflow";
  fovea_fault(name, pushed ? frame[6] : 0, pushed ? frame[5] : 0, fault_detail());
}

// Gives the handler a stack: the rest of this one, or all of it if nothing is left. All of these instructions exist on
// Armv6-M, for which g++ needs `.syntax unified`.
[[gnu::naked]] static void fault() {
  __asm__ volatile(
      ".syntax unified\n"
      "mov r1, lr\n"
      "movs r0, #4\n"
      "tst r1, r0\n"
      "beq 1f\n"
      "mrs r1, psp\n"
      "b 2f\n"
      "1: mrs r1, msp\n"
      "2: mrs r0, ipsr\n"
#if defined(__ARM_ARCH_8M_MAIN__) || defined(__ARM_ARCH_8_1M_MAIN__)
      "movs r3, #0\n"
      "msr msplim, r3\n"
#endif
      "mov r3, r1\n"
      "ldr r2, =stack_limit + 1024\n"
      "cmp r1, r2\n"
      "bhs 3f\n"
      "ldr r3, =stack_top\n"
      "3: mov sp, r3\n"
      "ldr r2, =fovea_exception\n"
      "bx r2\n"
      ".ltorg\n");
}

using Handler = void (*)();

struct Vectors {
  const void* stack;
  Handler handlers[15];
};

[[gnu::used, gnu::section(".vectors")]] extern const Vectors fovea_vectors = {
    stack_top,
    {fovea_reset, fault, fault, fault, fault, fault, fault, nullptr, nullptr, nullptr, fault, fault, nullptr, fault,
     fault}};

void fovea_reset() {
#if defined(__ARM_ARCH_8M_MAIN__) || defined(__ARM_ARCH_8_1M_MAIN__)
  __asm__ volatile("msr msplim, %0" : : "r"(stack_limit));  // a push below it is a UsageFault
#endif
  system_register(kVtor) = reinterpret_cast<uintptr_t>(&fovea_vectors);
  if (kArmv6) {
    // Unaligned accesses fault; without this they do not on an emulator's Cortex-M3.
    system_register(kCcr) |= 1u << 3;
  } else {
    system_register(kShcsr) |= 7u << 16;    // MemManage, BusFault and UsageFault report as themselves
    system_register(kCpacr) |= 0xfu << 20;  // full access to coprocessors 10 and 11: floating point, and Helium
  }
  __asm__ volatile("dsb\n isb" : : : "memory");
#if defined(__ARM_FEATURE_MVE)
  // LTPSIZE = 4: no loop tail is predicated. That is the value after reset, but a boot loader may have left another.
  // Interrupt handlers start with the value in FPDSCR.
  const uint32_t no_tail = 4u << 16;
  system_register(kFpdscr) = (system_register(kFpdscr) & ~(7u << 16)) | no_tail;
  __asm__ volatile("vmsr fpscr, %0" : : "r"(no_tail));
#endif
  if (!kArmv6) enable_caches();
  fovea_start();
}
}
