// SPDX-License-Identifier: Apache-2.0
//
// What bare/cxx_library.cc leaves over: of libstdc++ there are the headers alone, and of atomic operations, where the
// processor has none of its own (the extension A), what a single thread needs.
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
