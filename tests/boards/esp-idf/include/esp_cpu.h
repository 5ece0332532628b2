// SPDX-License-Identifier: Apache-2.0
#ifndef FOVEA_TESTS_BOARDS_ESP_CPU_H_
#define FOVEA_TESTS_BOARDS_ESP_CPU_H_

#include "systick.h"

static inline uint32_t esp_cpu_get_cycle_count(void) { return stub_ticks(); }

#endif  // FOVEA_TESTS_BOARDS_ESP_CPU_H_
