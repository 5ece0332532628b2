// SPDX-License-Identifier: Apache-2.0
//
// main of a board without an SDK; and with a UART for a console, what a debug probe would do otherwise: the text that the C library
// prints goes to board_write, and the end is a loop.
#include "platform/bare/semihosting.h"
#include "platform/boards/board.h"

int main() {
  board_begin();
  return fovea_board_main(board_name);
}

#if defined(FOVEA_BOARD_CONSOLE)
namespace {

void write(const char* text, size_t bytes) {
  for (size_t i = 0; i < bytes; ++i) {
    if (text[i] == '\n') board_write('\r');
    board_write(text[i]);
  }
}

}  // namespace

intptr_t fovea::semihosting::call(Operation operation, const void* argument) {
  const uintptr_t* const block = static_cast<const uintptr_t*>(argument);
  switch (operation) {
    case kOpen: return 1;  // the handle of all streams
    case kWriteText: {
      const char* const text = static_cast<const char*>(argument);
      size_t bytes = 0;
      while (text[bytes]) ++bytes;
      write(text, bytes);
      return 0;
    }
    case kWrite: write(reinterpret_cast<const char*>(block[1]), block[2]); return 0;
    case kExitExtended:
      for (;;) __asm__ volatile("wfi");
    case kClock:
    case kGetCommandLine:  // there is none: the caller's buffer remains empty
      return 0;
  }
  return -1;
}
#endif
