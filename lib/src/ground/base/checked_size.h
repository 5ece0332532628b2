// SPDX-License-Identifier: Apache-2.0
#ifndef FOVEA_SRC_BASE_CHECKED_SIZE_H_
#define FOVEA_SRC_BASE_CHECKED_SIZE_H_

#include <stddef.h>
#include <stdint.h>

#include "fovea/fovea.h"

namespace fovea {

constexpr uint32_t divide_up(uint32_t x, uint32_t y) { return x / y + (x % y != 0); }

// A size that remembers whether any step towards it overflowed.
struct CheckedSize {
  size_t value = 0;
  bool overflow = false;

  CheckedSize& times(size_t x) {
    overflow |= __builtin_mul_overflow(value, x, &value);
    return *this;
  }
  CheckedSize& times(const CheckedSize& x) {
    overflow |= x.overflow;
    return times(x.value);
  }
  CheckedSize& plus(size_t x) {
    overflow |= __builtin_add_overflow(value, x, &value);
    return *this;
  }
  CheckedSize& plus(const CheckedSize& x) {
    overflow |= x.overflow;
    return plus(x.value);
  }
  // Rounds up to a multiple of the workspace's alignment.
  CheckedSize& aligned() {
    plus(FOVEA_WORKSPACE_ALIGNMENT - 1);
    value = value / FOVEA_WORKSPACE_ALIGNMENT * FOVEA_WORKSPACE_ALIGNMENT;
    return *this;
  }
};

}  // namespace fovea

#endif  // FOVEA_SRC_BASE_CHECKED_SIZE_H_
