// SPDX-License-Identifier: Apache-2.0
//
// The functions of a machine that the benchmark needs in addition to platform.h. Each kind of machine has a folder that
// implements them.
#ifndef FOVEA_BENCH_MACHINE_H_
#define FOVEA_BENCH_MACHINE_H_

#include <cstddef>
#include <cstdint>

namespace fovea::bench {

// Bytes of the data cache of level 1, 2 or 3 that one core can use; 0 if there is none.
size_t cache_bytes(int level);

// The speed of the first processor by the system; 0 and "" if not known.
struct Speed {
  double mhz, most_mhz;  // current; highest
  char governor[24];     // Linux's policy: "performance", "ondemand", ...
};
Speed processor_speed();

// Nanoseconds for which this thread has run: time of other programs does not count.
uint64_t thread_cpu_ns();

// 64-byte aligned memory; null if there is not enough. On large pages if the system has them, so that page-table walks
// are not measured.
void* allocate(size_t bytes);
void release(void* memory);

// Whether stderr is a terminal, so that a user can see progress.
bool stderr_is_terminal();

}  // namespace fovea::bench

#endif  // FOVEA_BENCH_MACHINE_H_
