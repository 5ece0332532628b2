// SPDX-License-Identifier: Apache-2.0
#include "board.h"

extern "C" {
// Addresses that sections.ld defines.
extern uint32_t code_begin[], code_end[], data_image[], data_begin[], data_end[], bss_begin[], bss_end[];
extern uint32_t stack_limit[], stack_top[];

int program() __asm__("main");  // C++ forbids to call it as main
}

namespace {

constexpr uint32_t kPaint = 0x5ac0ffee;  // fills stack that was never used

size_t bytes(const uint32_t* begin, const uint32_t* end) {
  return reinterpret_cast<uintptr_t>(end) - reinterpret_cast<uintptr_t>(begin);
}

}  // namespace

void board_start() {
  const uint32_t* const here = static_cast<uint32_t*>(__builtin_frame_address(0)) - 64;  // unused below
  for (uint32_t* p = stack_limit; p < here; ++p) *p = kPaint;
  for (uint32_t *from = data_image, *to = data_begin; to < data_end;) *to++ = *from++;
  for (uint32_t* p = bss_begin; p < bss_end; ++p) *p = 0;
  board::exit(program());
}

void board_fault() {
  board::print("fault\n");
  board::exit(70);
}

namespace board {

size_t stack_bytes_used() {
  const uint32_t* p = stack_limit;
  while (p < stack_top && *p == kPaint) ++p;
  return bytes(p, stack_top);
}

Memory memory() {
  return {bytes(code_begin, code_end) + bytes(data_begin, data_end), bytes(data_begin, data_end),
          bytes(bss_begin, bss_end), bytes(stack_limit, stack_top)};
}

}  // namespace board
