// SPDX-License-Identifier: Apache-2.0
//
// Times a loop of multiply-adds; shared by the probes of all machines. Depends on the standard library alone.
#ifndef FOVEA_BENCH_FMA_PROBE_MEASURE_H_
#define FOVEA_BENCH_FMA_PROBE_MEASURE_H_

#include <algorithm>
#include <cstdint>

#include "bench/fma_probe/fma_probe.h"

namespace fovea::bench {

// loop(rounds, seed) does rounds * flops_a_round operations. It starts its chains from seed and returns a number that
// depends on all of them, so that the compiler can neither precompute the work nor remove it.
// Many short runs: if other programs share the core, most runs end before one of them is scheduled.
inline double median_gflops(float (*loop)(uint64_t rounds, float seed), double flops_a_round, Clock clock_ns) {
  constexpr int kRuns = 41;
  constexpr double kRunNs = 250e3;
  volatile float seed = 1.0f, result = 0.0f;
  const auto time_ns = [&](uint64_t rounds) {
    const uint64_t begin = clock_ns();
    result = loop(rounds, seed);
    return static_cast<double>(clock_ns() - begin);
  };
  uint64_t rounds = 1024;
  for (double took = time_ns(rounds); took < kRunNs; took = time_ns(rounds)) rounds *= 2;  // this is also the warm-up
  double runs[kRuns];
  for (double& run : runs) run = time_ns(rounds);
  std::nth_element(runs, runs + kRuns / 2, runs + kRuns);
  (void)result;
  return flops_a_round * static_cast<double>(rounds) / runs[kRuns / 2];
}

}  // namespace fovea::bench

#endif  // FOVEA_BENCH_FMA_PROBE_MEASURE_H_
