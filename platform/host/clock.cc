// SPDX-License-Identifier: Apache-2.0
#include <chrono>

#include "platform/platform.h"

namespace fovea::platform {

uint64_t clock_ns() {
  const auto since_start = std::chrono::steady_clock::now().time_since_epoch();
  return static_cast<uint64_t>(std::chrono::duration_cast<std::chrono::nanoseconds>(since_start).count());
}

uint64_t clock_ticks() { return clock_ns(); }

const char* clock_unit() { return "ns"; }

const char* clock_source() { return "std::chrono::steady_clock"; }

// The system does not say how deep a stack has been.
void stack_paint() {}
size_t stack_used_bytes() { return 0; }
size_t stack_in_use_bytes() { return 0; }

}  // namespace fovea::platform
