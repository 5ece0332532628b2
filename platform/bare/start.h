// SPDX-License-Identifier: Apache-2.0
#ifndef FOVEA_PLATFORM_BARE_START_H_
#define FOVEA_PLATFORM_BARE_START_H_

#include <cstdint>

extern "C" {

// Where sections.ld put things.
extern uint32_t stack_guard[], stack_limit[], stack_top[];
extern uint32_t data_image[], data_begin[], data_end[], bss_begin[], bss_end[];
extern char heap_begin[], heap_end[];

// Called by a processor's reset code with the stack pointer set and its vector unit switched on: fills the memory that
// the program expects filled, runs constructors and main, and ends with main's status.
[[noreturn]] void fovea_start();

// Makes writes to [stack_guard, stack_limit) fault; does nothing where the processor cannot do that.
void fovea_protect_guard();

// Whether the stack never grew into the guard.
bool fovea_stack_held();

// Called by a processor's fault handlers: prints what happened, and ends with the status kFaultStatus.
[[noreturn]] void fovea_fault(const char* what, uintptr_t instruction, uintptr_t caller, uintptr_t detail);

// What the program was doing, if it says so: the report of a fault ends with this text.
extern const char* fovea_fault_note;
}

constexpr int kFaultStatus = 70;
constexpr uint32_t kStackPaint = 0x5ac0ffee;  // fills stack that was never used

#endif  // FOVEA_PLATFORM_BARE_START_H_
