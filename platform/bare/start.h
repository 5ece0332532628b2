// SPDX-License-Identifier: Apache-2.0
#ifndef FOVEA_PLATFORM_BARE_START_H_
#define FOVEA_PLATFORM_BARE_START_H_

#include <cstdint>

extern "C" {

// Addresses that sections.ld defines.
extern uint32_t stack_guard[], stack_limit[], stack_top[];
extern uint32_t data_image[], data_begin[], data_end[], bss_begin[], bss_end[];
extern char heap_begin[], heap_end[];

// Called by a processor's reset code with the stack pointer set and its vector unit switched on: copies initialised
// data, clears bss, runs constructors and main, and ends with main's status.
[[noreturn]] void fovea_start();

// Makes writes to [stack_guard, stack_limit) fault, where the processor can do so.
void fovea_protect_guard();

// False if the stack grew into the guard.
bool fovea_stack_held();

// Called by a processor's fault handlers: prints what happened, and ends with the status kFaultStatus.
[[noreturn]] void fovea_fault(const char* what, uintptr_t instruction, uintptr_t caller, uintptr_t detail);

// The program may set it to say what it is doing: the report of a fault ends with this text.
extern const char* fovea_fault_note;
}

constexpr int kFaultStatus = 70;
constexpr uint32_t kStackPaint = 0x5ac0ffee;  // fills stack that was never used

#endif  // FOVEA_PLATFORM_BARE_START_H_
