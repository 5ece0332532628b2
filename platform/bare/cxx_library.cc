// SPDX-License-Identifier: Apache-2.0
//
// The functions of a C++ library that programs need, without exceptions. The toolchains for bare 64-bit Arm and RISC-V
// have only its headers.
#include <cstddef>
#include <cstdlib>
#include <new>

void* operator new(size_t bytes) {
  void* memory = std::malloc(bytes);
  if (!memory) std::abort();
  return memory;
}
void* operator new[](size_t bytes) { return operator new(bytes); }
void operator delete(void* memory) noexcept { std::free(memory); }
void operator delete[](void* memory) noexcept { std::free(memory); }
void operator delete(void* memory, size_t) noexcept { std::free(memory); }
void operator delete[](void* memory, size_t) noexcept { std::free(memory); }

// The library's templates call these where they would throw.
namespace std {
[[noreturn]] void __throw_bad_alloc() { abort(); }
[[noreturn]] void __throw_bad_array_new_length() { abort(); }
[[noreturn]] void __throw_bad_function_call() { abort(); }
[[noreturn]] void __throw_length_error(const char*) { abort(); }
[[noreturn]] void __throw_logic_error(const char*) { abort(); }
[[noreturn]] void __throw_out_of_range_fmt(const char*, ...) { abort(); }
}  // namespace std

extern "C" {
[[noreturn]] void __cxa_pure_virtual() { std::abort(); }
int __cxa_atexit(void (*)(void*), void*, void*) { return 0; }  // objects live until the machine stops
}
