// SPDX-License-Identifier: Apache-2.0
#include <cstdio>

#include "pico/stdlib.h"
#include "platform/boards/board.h"
#include "platform/platform.h"

#if !defined(FOVEA_BOARD_COUNTS_CYCLES)
namespace fovea::platform {

uint64_t clock_ticks() { return time_us_64() * 1000; }
uint64_t clock_ns() { return clock_ticks(); }
const char* clock_unit() { return "ns"; }
const char* clock_source() { return "time_us_64"; }
const char* processor_name() { return PICO_BOARD; }
uint64_t processor_features() { return 0; }

}  // namespace fovea::platform
#endif

int main() {
  stdio_init_all();
  // Again and again, so that a terminal that is opened late on USB sees all of it.
  for (;;) {
    fovea_board_main(PICO_BOARD);
    sleep_ms(5000);
  }
}
