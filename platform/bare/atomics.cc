// SPDX-License-Identifier: Apache-2.0
//
// Atomic operations of a program with one thread, for processors that have no atomic instructions: Armv6-M, and RISC-V
// without the extension A.
#include <cstdint>

#if __GCC_ATOMIC_INT_LOCK_FREE != 2
extern "C" uint32_t fovea_fetch_add(volatile uint32_t* at, uint32_t x, int) __asm__("__atomic_fetch_add_4");
extern "C" uint32_t fovea_exchange(volatile uint32_t* at, uint32_t x, int) __asm__("__atomic_exchange_4");

uint32_t fovea_fetch_add(volatile uint32_t* at, uint32_t x, int) {
  const uint32_t before = *at;
  *at = before + x;
  return before;
}

uint32_t fovea_exchange(volatile uint32_t* at, uint32_t x, int) {
  const uint32_t before = *at;
  *at = x;
  return before;
}
#endif
