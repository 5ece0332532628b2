// SPDX-License-Identifier: Apache-2.0
#include "ground/base/arithmetic.h"
#include "ground/base/carver.h"

namespace fovea {

#if FOVEA_PREFER_SIZE
void* Carver::take(size_t columns, size_t rows, size_t element_bytes) {
  return take_array(columns, rows, element_bytes);
}
#endif

CheckedSize Carver::slow_bytes() const {
  CheckedSize bytes = slow_used_;
  return bytes.aligned();
}

}  // namespace fovea
