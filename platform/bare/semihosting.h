// SPDX-License-Identifier: Apache-2.0
//
// Semihosting: a program without an operating system asks the debugger, or the emulator, to print text and to end it.
// Arm, "Semihosting for AArch32 and AArch64", release 2.0; RISC-V has the same operations.
#ifndef FOVEA_PLATFORM_BARE_SEMIHOSTING_H_
#define FOVEA_PLATFORM_BARE_SEMIHOSTING_H_

#include <cstddef>
#include <cstdint>

namespace fovea::semihosting {

enum Operation : uintptr_t {
  kOpen = 0x01,
  kWriteText = 0x04,
  kWrite = 0x05,
  kClock = 0x10,
  kGetCommandLine = 0x15,
  kExitExtended = 0x20,
};

// The argument of most operations is the address of a block of words.
#if defined(FOVEA_BOARD_CONSOLE)
intptr_t call(Operation operation, const void* argument);  // without a debugger: platform/boards/begin.cc
#else
inline intptr_t call(Operation operation, const void* argument) {
#if defined(__aarch64__)
  register uintptr_t result __asm__("x0") = operation;
  register const void* block __asm__("x1") = argument;
  __asm__ volatile("hlt #0xf000" : "+r"(result) : "r"(block) : "memory");
#elif defined(__riscv)
  // Three instructions of 32 bits, which may not cross a page: RISC-V Semihosting 1.0.
  register uintptr_t result __asm__("a0") = operation;
  register const void* block __asm__("a1") = argument;
  __asm__ volatile(
      ".option push\n .balign 16\n .option norvc\n"
      "slli x0, x0, 0x1f\n ebreak\n srai x0, x0, 7\n .option pop"
      : "+r"(result)
      : "r"(block)
      : "memory");
#else
  register uintptr_t result __asm__("r0") = operation;
  register const void* block __asm__("r1") = argument;
#if __ARM_ARCH_PROFILE == 'M'
  __asm__ volatile("bkpt #0xab" : "+r"(result) : "r"(block) : "memory");
#elif defined(__thumb__)
  __asm__ volatile("svc #0xab" : "+r"(result) : "r"(block) : "memory", "lr");
#else
  __asm__ volatile("svc #0x123456" : "+r"(result) : "r"(block) : "memory", "lr");
#endif
#endif
  return static_cast<intptr_t>(result);
}
#endif

// The debugger's or emulator's clock, in steps of 10 ms.
inline uint64_t clock_ns() { return static_cast<uint64_t>(call(kClock, nullptr)) * 10000000u; }

// Does not use the program's state, so a fault handler may call it.
inline void write_text(const char* text) { call(kWriteText, text); }

[[noreturn]] inline void exit(int status) {
  constexpr uintptr_t kApplicationExit = 0x20026;
  const uintptr_t block[2] = {kApplicationExit, static_cast<uintptr_t>(status)};
  for (;;) call(kExitExtended, block);
}

}  // namespace fovea::semihosting

#endif  // FOVEA_PLATFORM_BARE_SEMIHOSTING_H_
