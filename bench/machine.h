// SPDX-License-Identifier: Apache-2.0
//
// What the benchmark asks of a machine beyond platform.h; a folder for each kind of machine implements it.
#ifndef FOVEA_BENCH_MACHINE_H_
#define FOVEA_BENCH_MACHINE_H_

#include <cstddef>
#include <cstdint>

namespace fovea::bench {

// Bytes of the data cache of level 1, 2 or 3 that one core can use; 0 where there is none.
size_t cache_bytes(int level);

// What the system says of the speed of the first processor. 0 and "" where it says nothing.
struct Speed {
  double mhz, most_mhz;  // now; at most
  char governor[24];     // who decides it: "performance", "ondemand", ...
};
Speed processor_speed();

// Nanoseconds that this thread has had the processor: does not count while another program has it.
uint64_t thread_cpu_ns();

// 64-byte aligned memory; null where there is none. On large pages where the system gives them, so that what is
// measured is the memory and not the page tables.
void* allocate(size_t bytes);
void release(void* memory);

// Whether somebody watches: stderr is a terminal.
bool stderr_is_terminal();

}  // namespace fovea::bench

#endif  // FOVEA_BENCH_MACHINE_H_
