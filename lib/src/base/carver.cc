// SPDX-License-Identifier: Apache-2.0
#include "base/carver.h"

namespace fovea {

void* Carver::take(size_t columns, size_t rows, size_t element_bytes) {
  CheckedSize bytes{columns};
  bytes.times(rows).times(element_bytes);
  if (kMayHaveSlowPart && bytes.value <= fast_left_ && !bytes.overflow) {
    void* const array = reinterpret_cast<void*>(fast_);
    bytes.aligned();  // still fits: fast_left_ is a multiple of the alignment
    fast_ += bytes.value;
    fast_left_ -= bytes.value;
    return array;
  }
  slow_used_.aligned().plus(bytes);
  return reinterpret_cast<void*>(slow_ + slow_used_.value - bytes.value);
}

CheckedSize Carver::slow_bytes() const {
  CheckedSize bytes = slow_used_;
  return bytes.aligned();
}

}  // namespace fovea
