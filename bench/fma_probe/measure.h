// SPDX-License-Identifier: Apache-2.0
//
// Times a loop of multiply-adds; shared by the probes of all machines. Depends on the standard library alone.
#ifndef FOVEA_BENCH_FMA_PROBE_MEASURE_H_
#define FOVEA_BENCH_FMA_PROBE_MEASURE_H_

#include <algorithm>
#include <chrono>
#include <cstdint>

namespace fovea::bench {

// loop(rounds, seed) does rounds * flops_a_round operations. It starts its chains from seed and returns something that
// depends on all of them, so that the compiler can neither do the work beforehand nor drop it.
inline double median_gflops(float (*loop)(uint64_t rounds, float seed), double flops_a_round) {
  constexpr int kRuns = 9;
  constexpr double kRunSeconds = 3e-3;
  volatile float seed = 1.0f, result = 0.0f;
  const auto seconds = [&](uint64_t rounds) {
    const auto begin = std::chrono::steady_clock::now();
    result = loop(rounds, seed);
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  };
  uint64_t rounds = 1024;
  for (double took = seconds(rounds); took < kRunSeconds; took = seconds(rounds)) rounds *= 2;  // the warm-up, too
  double runs[kRuns];
  for (double& run : runs) run = seconds(rounds);
  std::nth_element(runs, runs + kRuns / 2, runs + kRuns);
  (void)result;
  return flops_a_round * static_cast<double>(rounds) / runs[kRuns / 2] * 1e-9;
}

}  // namespace fovea::bench

#endif  // FOVEA_BENCH_FMA_PROBE_MEASURE_H_
