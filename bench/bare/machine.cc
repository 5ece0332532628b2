// SPDX-License-Identifier: Apache-2.0
//
// A machine without an operating system: the sizes of its caches are not known, and no other program runs.
#include "bench/machine.h"

#include <cstdlib>

#include "platform/platform.h"

namespace fovea::bench {

size_t cache_bytes(int) { return 0; }

Speed processor_speed() { return {}; }

uint64_t thread_cpu_ns() { return platform::clock_ns(); }

void* allocate(size_t bytes) {
  void* const block = std::malloc(bytes + 64 + sizeof(void*));
  if (!block) return nullptr;
  const uintptr_t aligned = (reinterpret_cast<uintptr_t>(block) + sizeof(void*) + 63) & ~uintptr_t{63};
  void** const memory = reinterpret_cast<void**>(aligned);
  memory[-1] = block;
  return memory;
}

void release(void* memory) {
  if (memory) std::free(static_cast<void**>(memory)[-1]);
}

bool stderr_is_terminal() { return false; }

}  // namespace fovea::bench
