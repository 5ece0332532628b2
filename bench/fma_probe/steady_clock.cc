// SPDX-License-Identifier: Apache-2.0
#include <chrono>

#include "bench/fma_probe/fma_probe.h"

namespace fovea::bench {
namespace {

uint64_t steady_ns() {
  const auto since_start = std::chrono::steady_clock::now().time_since_epoch();
  return static_cast<uint64_t>(std::chrono::duration_cast<std::chrono::nanoseconds>(since_start).count());
}

}  // namespace

double fma_peak_gflops(fovea_target target) { return fma_peak_gflops(target, steady_ns); }

}  // namespace fovea::bench
