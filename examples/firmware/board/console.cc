// SPDX-License-Identifier: Apache-2.0
//
// Semihosting: the debugger, or the emulator, prints the text and ends the program. Arm, "Semihosting for AArch32 and
// AArch64". A board without a debugger writes to a UART here, and cannot exit.
#include "board.h"

namespace {

constexpr uintptr_t kWriteText = 0x04, kExitExtended = 0x20, kApplicationExit = 0x20026;

void semihosting(uintptr_t operation, const void* argument) {
#if defined(__aarch64__)
  register uintptr_t r0 __asm__("x0") = operation;
  register const void* r1 __asm__("x1") = argument;
  __asm__ volatile("hlt #0xf000" : "+r"(r0) : "r"(r1) : "memory");
#else
  register uintptr_t r0 __asm__("r0") = operation;
  register const void* r1 __asm__("r1") = argument;
#if __ARM_ARCH_PROFILE == 'M'
  __asm__ volatile("bkpt #0xab" : "+r"(r0) : "r"(r1) : "memory");
#elif defined(__thumb__)
  __asm__ volatile("svc #0xab" : "+r"(r0) : "r"(r1) : "memory", "lr");
#else
  __asm__ volatile("svc #0x123456" : "+r"(r0) : "r"(r1) : "memory", "lr");
#endif
#endif
}

}  // namespace

namespace board {

void print(const char* text) { semihosting(kWriteText, text); }

void exit(int status) {
  const uintptr_t reason[] = {kApplicationExit, static_cast<uintptr_t>(status)};
  for (;;) semihosting(kExitExtended, reason);
}

}  // namespace board
