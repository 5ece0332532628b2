// SPDX-License-Identifier: Apache-2.0
//
// Any machine: plain C++, vectorised by the compiler or not.
#include "bench/probes/kernels.h"

namespace fovea::bench {

uint64_t read_all(const void* data, size_t bytes) {
  const uint64_t* words = static_cast<const uint64_t*>(data);
  uint64_t a[16] = {};
  for (size_t i = 0; i < bytes / sizeof(uint64_t); i += 16) {
    for (size_t j = 0; j < 16; ++j) a[j] |= words[i + j];
  }
  for (size_t j = 1; j < 16; ++j) a[0] |= a[j];
  return a[0];
}

ExpLoop exp_loop(fovea_target) { return nullptr; }

IntegerLoop integer_loop(fovea_target) { return {}; }

}  // namespace fovea::bench
