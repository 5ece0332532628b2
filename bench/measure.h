// SPDX-License-Identifier: Apache-2.0
//
// Measures the time of a call: batches of calls, their median, and the median distance from it.
#ifndef FOVEA_BENCH_MEASURE_H_
#define FOVEA_BENCH_MEASURE_H_

#include <cstddef>
#include <cstdint>

#include "bench/fma_probe/fma_probe.h"

namespace fovea::bench {

// A call to be timed.
class Timed {
 public:
  virtual void call() = 0;
  // Gives some of the inputs new random values; round counts from 0. Not timed.
  virtual void redraw(uint32_t round) = 0;

 protected:
  ~Timed() = default;
};

struct Method {
  Clock clock_ns;
  double overhead_ns;  // of reading the clock: subtracted from each batch
  double min_seconds;  // of timed calls, for each case
  void* sweep;  // with --cold: memory larger than the caches, which is read and written before each call; else null
  size_t sweep_bytes;
};

struct Times {
  double ns_median, ns_mad, ns_min;  // of one call, over the batches
  uint64_t batches, calls_a_batch;
};

// Each batch follows a redraw of inputs and, unless the caches are to be cold, a call that is not timed.
Times measure(Timed& timed, const Method& method);

}  // namespace fovea::bench

#endif  // FOVEA_BENCH_MEASURE_H_
