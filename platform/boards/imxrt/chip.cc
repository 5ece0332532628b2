// SPDX-License-Identifier: Apache-2.0
//
// i.MX RT1060: the watchdog off, and LPUART1 on the pin GPIO_AD_B0_12, which NXP's evaluation
// board passes on by USB, with 115,200 baud. The processor keeps the clock that the ROM chose. i.MX RT1060 Processor Reference
// Manual: chapters RTWDOG, CCM, IOMUXC, LPUART.
#include "platform/boards/board.h"
#include "platform/cortex_m/registers.h"

using fovea::platform::system_register;

extern "C" constexpr char board_name[] = "imxrt1060";

namespace {

constexpr uintptr_t kWatchdog = 0x400bc000, kClocks = 0x400fc000, kPinOfUart = 0x401f80ec, kUart = 0x40184000;

void stop_watchdog() {
  if (!(system_register(kWatchdog) & 1u << 7)) return;  // CS, EN
  system_register(kWatchdog + 4) = 0xd928c520;          // CNT: unlocks
  system_register(kWatchdog + 8) = 0xffff;              // TOVAL
  system_register(kWatchdog) = (system_register(kWatchdog) & ~(1u << 7)) | 1u << 5;
}

void start_uart() {
  system_register(kClocks + 0x24) =
      (system_register(kClocks + 0x24) & ~0x3fu) | 1u << 6;  // CSCDR1: the oscillator of 24 MHz
  system_register(kClocks + 0x7c) |= 3u << 24;               // CCGR5: LPUART1 has a clock
  system_register(kPinOfUart) = 2;                           // ALT2: LPUART1_TX
  system_register(kUart + 0x10) = (16 - 1) << 24 | 13;       // BAUD: 24 MHz / 16 / 13
  system_register(kUart + 0x18) = 1u << 19;                  // CTRL: TE
}

}  // namespace

void board_begin() {
  stop_watchdog();
  start_uart();
}

void board_write(char c) {
  while (!(system_register(kUart + 0x14) & 1u << 23)) {  // STAT, TDRE
  }
  system_register(kUart + 0x1c) = static_cast<unsigned char>(c);
}
