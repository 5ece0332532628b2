// SPDX-License-Identifier: Apache-2.0
//
// All that main.cc asks of the machine.
#ifndef FOVEA_EXAMPLES_FIRMWARE_BOARD_BOARD_H_
#define FOVEA_EXAMPLES_FIRMWARE_BOARD_BOARD_H_

#include <stddef.h>
#include <stdint.h>

namespace board {

// console.cc: text for people, and the end of the program.
void print(const char* text);
[[noreturn]] void exit(int status);

// cortex_m.cc, cortex_a.cc: what work() takes. A cycle of QEMU is an instruction if it is run with -icount shift=0.
struct Cost {
  uint32_t count;
  const char* unit;  // "cycles", ...
};
Cost measure(void (*work)());

// start.cc: the most bytes that the stack has held, and how the linker script has laid out memory.
size_t stack_bytes_used();
struct Memory {
  size_t flash_bytes, data_bytes, bss_bytes, stack_bytes;
};
Memory memory();

}  // namespace board

// start.cc, for the processor's vectors. board_start is called with a stack: fills data and bss, calls main, and exits
// with its status. board_fault says so and exits with 70.
extern "C" {
[[noreturn]] void board_start();
[[noreturn]] void board_fault();
}

#endif  // FOVEA_EXAMPLES_FIRMWARE_BOARD_BOARD_H_
