// SPDX-License-Identifier: Apache-2.0
#ifndef FOVEA_PLATFORM_BOARDS_BOARD_H_
#define FOVEA_PLATFORM_BOARDS_BOARD_H_

#ifdef __cplusplus
extern "C" {
#endif

// main.cc: everything that is measured. Returns 0, or 1 if a result is wrong. The name goes into the results.
int fovea_board_main(const char* board);

// A board without an SDK supplies these two. board_begin sets clocks, wait states and the UART; board_write waits until the UART
// takes a character.
extern const char board_name[];
void board_begin(void);
void board_write(char c);

#ifdef __cplusplus
}
#endif

#endif  // FOVEA_PLATFORM_BOARDS_BOARD_H_
