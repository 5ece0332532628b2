// SPDX-License-Identifier: Apache-2.0
#include "esp_cpu.h"
#include "platform/boards/board.h"
#include "platform/platform.h"
#include "sdkconfig.h"

namespace fovea::platform {

// The counter has 32 bits: less than 2^32 cycles may pass between two readings.
uint64_t clock_ticks() {
  static uint64_t ticks;
  static uint32_t before;
  const uint32_t now = esp_cpu_get_cycle_count();
  ticks += now - before;
  before = now;
  return ticks;
}

uint64_t clock_ns() { return clock_ticks() * 1000 / CONFIG_ESP_DEFAULT_CPU_FREQ_MHZ; }
const char* clock_unit() { return "cycles"; }
const char* clock_source() { return "esp_cpu_get_cycle_count"; }
const char* processor_name() { return CONFIG_IDF_TARGET; }
uint64_t processor_features() { return 0; }

}  // namespace fovea::platform

extern "C" void app_main() { fovea_board_main(CONFIG_IDF_TARGET); }
