// SPDX-License-Identifier: Apache-2.0
#include "bench/measure.h"

#include <algorithm>
#include <cmath>

namespace fovea::bench {
namespace {

constexpr size_t kMostBatches = 2000;
constexpr uint64_t kFewestBatches = 7;
constexpr double kBatchNs = 200e3;  // thousands of ticks of the clock, and shorter than a time slice of another program

double median(double* values, size_t count) {
  double* middle = values + count / 2;
  std::nth_element(values, middle, values + count);
  return *middle;
}

void sweep(const Method& method) {
  volatile unsigned char* bytes = static_cast<volatile unsigned char*>(method.sweep);
  for (size_t i = 0; i < method.sweep_bytes; i += 64) bytes[i] = static_cast<unsigned char>(bytes[i] + 1);
}

}  // namespace

Times measure(Timed& timed, const Method& method) {
  static double samples[kMostBatches];
  const auto time_ns = [&](uint64_t calls) {
    if (method.sweep) sweep(method);
    const uint64_t begin = method.clock_ns();
    for (uint64_t i = 0; i < calls; ++i) timed.call();
    return std::max(static_cast<double>(method.clock_ns() - begin) - method.overhead_ns, 0.1);
  };

  // Warm-up: until a batch is long enough, at least twice.
  uint64_t calls = 1;
  double took = time_ns(1);
  if (!method.sweep) {
    took = time_ns(1);
    while (took < kBatchNs) took = time_ns(calls *= 2);
  }
  const double goal_ns = method.min_seconds * 1e9;
  const double enough_ns = goal_ns / kMostBatches;
  if (!method.sweep && took < enough_ns) {
    const double more = std::ceil(enough_ns / took);
    calls *= static_cast<uint64_t>(more);
    took *= more;
  }

  uint64_t batches = 0;
  double total_ns = 0;
  while (batches < kMostBatches && (batches < kFewestBatches || total_ns < goal_ns)) {
    timed.redraw(static_cast<uint32_t>(batches));
    if (!method.sweep && calls > 1) timed.call();
    const double ns = time_ns(calls);
    samples[batches++] = ns / static_cast<double>(calls);
    total_ns += ns;
  }

  Times times = {0, 0, 0, batches, calls};
  times.ns_median = median(samples, batches);
  times.ns_min = *std::min_element(samples, samples + batches);
  for (size_t i = 0; i < batches; ++i) samples[i] = std::fabs(samples[i] - times.ns_median);
  times.ns_mad = median(samples, batches);
  return times;
}

}  // namespace fovea::bench
