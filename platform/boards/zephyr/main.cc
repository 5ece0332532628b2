// SPDX-License-Identifier: Apache-2.0
#include <cstdio>

#include "platform/boards/board.h"

#if !defined(CONFIG_BOARD)
#define CONFIG_BOARD "zephyr"
#endif

// The self-test's write: all of it goes to the standard output.
extern "C" int fovea_board_put(int, const void* text, size_t bytes) {
  return static_cast<int>(std::fwrite(text, 1, bytes, stdout));
}

int main() { return fovea_board_main(CONFIG_BOARD); }
