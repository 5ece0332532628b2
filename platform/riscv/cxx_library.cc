// SPDX-License-Identifier: Apache-2.0
//
// What bare/cxx_library.cc leaves over: std::string, of which there are only the headers, and atomic operations for a
// single thread, where the processor has none of its own (the extension A).
#include <cstdint>
#include <string>

template class std::basic_string<char>;

#if !defined(__riscv_atomic)
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
