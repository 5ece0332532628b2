// SPDX-License-Identifier: Apache-2.0
//
// Clock, wait states and UART of three chips, as they are on ST's Nucleo boards, whose probe passes the UART on by USB, with
// 115,200 baud. Registers: ST's reference manuals RM0383 (F411), RM0410 (F767), RM0433 (H743). The oscillator is the chip's own, so
// no board's crystal matters. Each wait ends after a while: with a clock that did not start, the program is slower and still right.
#include "platform/boards/board.h"
#include "platform/cortex_m/registers.h"

using fovea::platform::system_register;

extern "C" constexpr char board_name[] = CHIP_NAME;

namespace {

void set(uintptr_t address, uint32_t clear, uint32_t bits) {
  system_register(address) = (system_register(address) & ~clear) | bits;
}

// False if the bits were not all set in time.
bool wait(uintptr_t address, uint32_t bits) {
  for (int i = 0; i < 100000; ++i) {
    if ((system_register(address) & bits) == bits) return true;
  }
  return false;
}

constexpr uint32_t kPllOn = 1u << 24, kPllReady = 1u << 25;  // of RCC_CR

#if defined(CHIP_stm32h743)
constexpr uintptr_t kFlash = 0x52002000, kGpio = 0x58020c00, kRcc = 0x58024400, kPwr = 0x58024800, kUart = 0x40004800;
constexpr uintptr_t kGpioOn = kRcc + 0xe0, kUartOn = kRcc + 0xe8;
constexpr uint32_t kGpioBit = 1u << 3, kUartBit = 1u << 18;  // GPIOD, USART3: pin PD8
constexpr unsigned kPin = 8;

// 400 MHz from the oscillator of 64 MHz; 200 MHz for buses of memory, 100 MHz for others.
uint32_t start_clock() {
  set(kPwr + 0x0c, 7, 1u << 1);                          // CR3: the chip's regulator, which can be chosen once
  wait(kPwr + 0x04, 1u << 13);                           // CSR1, ACTVOSRDY
  set(kPwr + 0x18, 0, 3u << 14);                         // D3CR: the highest voltage that needs no overdrive, VOS1
  wait(kPwr + 0x18, 1u << 13);                           // VOSRDY
  set(kFlash, 0x3f, 2 | 2u << 4);                        // two wait states, for 185 to 210 MHz
  set(kRcc + 0x28, 0x3f3, 32u << 4);                     // PLLCKSELR: 64 MHz / 32
  set(kRcc + 0x2c, 0xf | 7u << 16, 1u << 2 | 1u << 16);  // PLLCFGR: input of 2 to 4 MHz, wide range, output P
  system_register(kRcc + 0x30) = (400 - 1) | (2 - 1) << 9 | (2 - 1) << 16 | (2 - 1) << 24;  // PLL1DIVR: * 400 / 2
  set(kRcc, 0, kPllOn);
  set(kRcc + 0x54, 7, 3);  // D2CCIP2R: USARTs take the oscillator
  if (!wait(kRcc, kPllReady)) return 64;
  system_register(kRcc + 0x18) = 8 | 4u << 4;        // D1CFGR: AHB / 2, APB3 / 2
  system_register(kRcc + 0x1c) = 4u << 4 | 4u << 8;  // D2CFGR: APB1 / 2, APB2 / 2
  system_register(kRcc + 0x20) = 4u << 4;            // D3CFGR: APB4 / 2
  set(kRcc + 0x10, 7, 3);                            // CFGR: run on PLL1
  return 64;
}
#else
constexpr uintptr_t kFlash = 0x40023c00, kRcc = 0x40023800, kPwr = 0x40007000, kGpioOn = kRcc + 0x30,
                    kUartOn = kRcc + 0x40;
#if defined(CHIP_stm32f411)
constexpr uintptr_t kGpio = 0x40020000, kUart = 0x40004400;
constexpr uint32_t kGpioBit = 1u << 0, kUartBit = 1u << 17;  // GPIOA, USART2: pin PA2
constexpr unsigned kPin = 2;
constexpr uint32_t kFlashBits = 3 | 7u << 8;  // wait states for 100 MHz; prefetch, caches of instructions and data
constexpr uint32_t kMhz = 100, kApb1Code = 4, kApb1Divisor = 2, kApb2Code = 0, kScale = 3;
#else
constexpr uintptr_t kGpio = 0x40020c00, kUart = 0x40004800;
constexpr uint32_t kGpioBit = 1u << 3, kUartBit = 1u << 18;  // GPIOD, USART3: pin PD8
constexpr unsigned kPin = 8;
constexpr uint32_t kFlashBits = 5 | 3u << 8;  // wait states for 168 MHz; prefetch and the accelerator
constexpr uint32_t kMhz = 168, kApb1Code = 5, kApb1Divisor = 4, kApb2Code = 4, kScale = 3;
#endif
// From the oscillator of 16 MHz. Returns the UART's clock, in MHz.
uint32_t start_clock() {
  set(kUartOn, 0, 1u << 28);          // APB1ENR: PWR has a clock
  set(kPwr, 3u << 14, kScale << 14);  // the highest voltage
  set(kFlash, 0xf, kFlashBits);
  system_register(kRcc + 0x04) = 8 | kMhz << 6 | 0u << 16 | 8u << 24 | 2u << 28;  // PLLCFGR: 16 MHz / 8 * kMhz / 2
  set(kRcc, 0, kPllOn);
  if (!wait(kRcc, kPllReady)) return 16;
  set(kRcc + 0x08, 7u << 13 | 7u << 10 | 3, kApb2Code << 13 | kApb1Code << 10 | 2);  // CFGR: divisors; run on the PLL
  return kMhz / kApb1Divisor;
}
#endif

void start_uart(uint32_t mhz) {
  set(kGpioOn, 0, kGpioBit);
  set(kUartOn, 0, kUartBit);
  set(kGpio, 3u << (2 * kPin), 2u << (2 * kPin));                                 // MODER: a peripheral has the pin
  set(kGpio + 0x20 + kPin / 8 * 4, 15u << (kPin % 8 * 4), 7u << (kPin % 8 * 4));  // AFR: 7, the UART
  const uint32_t divisor = (mhz * 1000000 + 57600) / 115200;
#if defined(CHIP_stm32f411)
  system_register(kUart + 0x08) = divisor;             // BRR
  system_register(kUart + 0x0c) = 1u << 13 | 1u << 3;  // CR1: UE, TE
#else
  system_register(kUart + 0x0c) = divisor;            // BRR
  system_register(kUart + 0x00) = 1u << 3 | 1u << 0;  // CR1: TE, UE
#endif
}

}  // namespace

void board_begin() {
  const uint32_t uart_mhz = start_clock();
  start_uart(uart_mhz);
}

void board_write(char c) {
#if defined(CHIP_stm32f411)
  wait(kUart, 1u << 7);  // SR, TXE
  system_register(kUart + 0x04) = static_cast<unsigned char>(c);
#else
  wait(kUart + 0x1c, 1u << 7);  // ISR, TXE
  system_register(kUart + 0x28) = static_cast<unsigned char>(c);
#endif
}
