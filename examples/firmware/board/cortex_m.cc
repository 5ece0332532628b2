// SPDX-License-Identifier: Apache-2.0
//
// Cortex-M: vectors, reset, cycles. Registers: Armv7-M and Armv8-M Architecture Reference Manuals.
#include "board.h"

extern "C" {
extern uint32_t stack_top[];
[[noreturn]] void reset();
}

namespace {

volatile uint32_t& system_register(uintptr_t address) { return *reinterpret_cast<volatile uint32_t*>(address); }

constexpr uintptr_t kCpacr = 0xe000ed88;
constexpr uintptr_t kDemcr = 0xe000edfc, kDwtCtrl = 0xe0001000, kDwtCyccnt = 0xe0001004;
constexpr uintptr_t kSystCsr = 0xe000e010, kSystRvr = 0xe000e014, kSystCvr = 0xe000e018;

using Handler = void (*)();
struct Vectors {
  const void* stack;
  Handler handlers[15];
};

[[gnu::used, gnu::section(".vectors")]] const Vectors g_vectors = {
    stack_top,
    {reset, board_fault, board_fault, board_fault, board_fault, board_fault, board_fault, nullptr, nullptr, nullptr,
     board_fault, board_fault, nullptr, board_fault, board_fault}};

bool start_cycle_counter() {
  if (__ARM_ARCH < 7) return false;                          // a Cortex-M0+ has no DWT counter
  system_register(kDemcr) |= 1u << 24;                       // TRCENA
  if (system_register(kDwtCtrl) & (1u << 25)) return false;  // NOCYCCNT
  system_register(kDwtCtrl) |= 1;                            // CYCCNTENA
  const uint32_t before = system_register(kDwtCyccnt);
  __asm__ volatile("nop\n nop\n nop\n nop");
  return system_register(kDwtCyccnt) != before;
}

// SysTick counts down, with 24 bits, on a clock that depends on the chip.
uint32_t systick_ticks(void (*work)()) {
  system_register(kSystRvr) = 0xffffff;
  system_register(kSystCvr) = 0;
  system_register(kSystCsr) = 5;  // run on the processor's clock, without an interrupt
  const uint32_t before = system_register(kSystCvr);
  work();
  return (before - system_register(kSystCvr)) & 0xffffff;
}

constexpr uint32_t kLoopInstructions = 1 << 20;

void loop() {
  uint32_t rounds = kLoopInstructions / 2;
  __asm__ volatile(".syntax unified\n 1: subs %0, %0, #1\n bne 1b" : "+l"(rounds) : : "cc");
}

}  // namespace

void reset() {
#if defined(__ARM_FP) || defined(__ARM_FEATURE_MVE)
  system_register(kCpacr) |= 0xfu << 20;  // full access to coprocessors 10 and 11: floating point, and Helium
  __asm__ volatile("dsb\n isb" : : : "memory");
#endif
  board_start();
}

namespace board {

Cost measure(void (*work)()) {
  if (start_cycle_counter()) {
    const uint32_t before = system_register(kDwtCyccnt);
    work();
    return {system_register(kDwtCyccnt) - before, "cycles"};
  }
  // QEMU has no such counter. With -icount each instruction takes the same time, so time counts instructions.
  const uint64_t ticks = systick_ticks(work);
  return {static_cast<uint32_t>(ticks * kLoopInstructions / systick_ticks(loop)), "instructions, by time"};
}

}  // namespace board
