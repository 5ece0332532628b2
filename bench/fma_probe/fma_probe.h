// SPDX-License-Identifier: Apache-2.0
//
// Measures the peak of one core's multiply-adds, with which speeds are compared: independent chains of multiply-adds in
// registers, enough of them to hide the latency, without memory.
#ifndef FOVEA_BENCH_FMA_PROBE_FMA_PROBE_H_
#define FOVEA_BENCH_FMA_PROBE_FMA_PROBE_H_

#include <cstdint>

#include "fovea/fovea.h"

namespace fovea::bench {

// Nanoseconds since any fixed moment.
using Clock = uint64_t (*)();

// 10^9 floating-point operations a second of this core with the target's vectors; a multiply-add counts as 2. If the
// target has no fused multiply-add (sse4, scalar on plain x86) it is a multiply, then an add. The median of many short
// runs, about 15 ms together. Requires that the processor can run the target. 0 = not known: no probe for this target
// on this kind of machine.
double fma_peak_gflops(fovea_target target, Clock clock_ns);
double fma_peak_gflops(fovea_target target);  // by std::chrono::steady_clock

}  // namespace fovea::bench

#endif  // FOVEA_BENCH_FMA_PROBE_FMA_PROBE_H_
