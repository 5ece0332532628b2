// SPDX-License-Identifier: Apache-2.0
//
// The counter of stubs: ticks of the emulated Cortex-M4F's SysTick, which counts down, with 24 bits.
#pragma once

#include <stdint.h>

static inline uint32_t stub_ticks(void) {
  static uint32_t ticks, before;
  volatile uint32_t* const systick = (volatile uint32_t*)0xe000e010u;  // control, first value, value
  if (!(systick[0] & 1)) systick[1] = 0xffffff, systick[2] = 0, systick[0] = 5;
  const uint32_t now = 0xffffff - systick[2];
  ticks += (now - before) & 0xffffff;
  before = now;
  return ticks;
}
