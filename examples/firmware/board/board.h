// SPDX-License-Identifier: Apache-2.0
//
// The functions of the machine that main.cc uses.
#ifndef FOVEA_EXAMPLES_FIRMWARE_BOARD_BOARD_H_
#define FOVEA_EXAMPLES_FIRMWARE_BOARD_BOARD_H_

#include <stddef.h>
#include <stdint.h>

namespace board {

// console.cc: prints text, and ends the program.
void print(const char* text);
[[noreturn]] void exit(int status);

// cortex_m.cc, cortex_a.cc: the time of work(). With -icount shift=0 a cycle of QEMU is an instruction.
struct Cost {
  uint32_t count;
  const char* unit;  // "cycles", ...
};
Cost measure(void (*work)());

// start.cc: the most bytes of stack in use so far, and the sizes of the linker script's sections.
size_t stack_bytes_used();
struct Memory {
  size_t flash_bytes, data_bytes, bss_bytes, stack_bytes;
};
Memory memory();

}  // namespace board

// start.cc, for the processor's vectors. board_start requires a stack: it copies data, clears bss, calls main, and
// exits with main's status. board_fault prints a message and exits with 70.
extern "C" {
[[noreturn]] void board_start();
[[noreturn]] void board_fault();
}

#endif  // FOVEA_EXAMPLES_FIRMWARE_BOARD_BOARD_H_
