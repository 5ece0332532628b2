// SPDX-License-Identifier: Apache-2.0
//
// The stack of a call where an SDK owns the stack, and says neither where it begins nor where it ends: paints the bytes below the
// caller's frame, and later looks how far they were overwritten. Interrupts use the same stack in some systems, so the depth that
// is found is at least the call's.
#include <cstddef>
#include <cstdint>

#include "platform/platform.h"

// Bytes that are painted: less than the stack has, more than a call needs.
#if !defined(FOVEA_BOARD_STACK_BYTES)
#define FOVEA_BOARD_STACK_BYTES 4096
#endif

namespace fovea::platform {
namespace {

constexpr size_t kWords = FOVEA_BOARD_STACK_BYTES / sizeof(uint32_t), kOwnWords = 64;
constexpr uint32_t kPaint = 0x5ac0ffee;
volatile uint32_t* g_top;  // of the paint

}  // namespace

[[gnu::noinline]] void stack_paint() {
  g_top = static_cast<uint32_t*>(__builtin_frame_address(0)) - kOwnWords;
  for (size_t i = 1; i <= kWords; ++i) *(g_top - i) = kPaint;
}

// Counted from the caller's frame, as stack_in_use_bytes: their difference is the depth.
size_t stack_used_bytes() {
  if (!g_top) return 0;
  size_t depth = kWords;
  while (depth > 0 && *(g_top - depth) == kPaint) --depth;
  return (depth + kOwnWords) * sizeof(uint32_t);
}

size_t stack_in_use_bytes() { return 0; }

}  // namespace fovea::platform
