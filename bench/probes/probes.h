// SPDX-License-Identifier: Apache-2.0
//
// Measures the limits of this machine, with which results are compared.
#ifndef FOVEA_BENCH_PROBES_PROBES_H_
#define FOVEA_BENCH_PROBES_PROBES_H_

#include <cstddef>

#include "bench/fma_probe/fma_probe.h"

namespace fovea::bench {

enum Level { kL1, kL2, kL3, kDram, kLevels };
const char* name(Level level);  // "l1", ...

// The fastest level that a working set fits in.
Level level_of(size_t working_set_bytes);

// 10^9 bytes a second that one thread reads from a buffer in this level. memory: at least read_probe_bytes(), 64-byte
// aligned. 0 = the machine has no such level. With an executor: the bytes of all its workers, each with its part of the
// buffer; for caches of a single core, the bytes of one thread times the workers.
double read_gbps(Level level, void* memory, Clock clock_ns, const fovea_executor* executor = nullptr);
size_t read_probe_bytes();

// 10^9 exponentials a second with the target's vectors; input and output are in the first cache. 0 = no probe for the
// target.
double exp_geps(fovea_target target, Clock clock_ns);

// 10^9 operations a second of the target's instructions for products of 8-bit integers, measured like the multiply-add
// peak. 0 = it has no such instructions.
double integer_gops(fovea_target target, Clock clock_ns);

// The median difference of two readings of the clock, one right after the other.
double timer_overhead_ns(Clock clock_ns);

// The target whose other probes apply: the one that a target extends; for FOVEA_TARGET_XSIMD the one with the same
// number of lanes.
fovea_target probe_target(fovea_target target, unsigned lanes);

}  // namespace fovea::bench

#endif  // FOVEA_BENCH_PROBES_PROBES_H_
