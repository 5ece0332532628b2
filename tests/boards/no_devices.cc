// SPDX-License-Identifier: Apache-2.0
//
// In the place of a chip's own file: an emulator that has the chip's memory, but not its clocks and UART.
#include "platform/boards/board.h"

extern "C" constexpr char board_name[] = "no devices";
void board_begin() {}
