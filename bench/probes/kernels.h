// SPDX-License-Identifier: Apache-2.0
//
// The loops that the probes time, a file for each kind of machine. They do not use the library: they measure the
// machine.
#ifndef FOVEA_BENCH_PROBES_KERNELS_H_
#define FOVEA_BENCH_PROBES_KERNELS_H_

#include <cstddef>
#include <cstdint>

#include "fovea/fovea.h"

namespace fovea::bench {

constexpr size_t kReadGrain = 4096;  // bytes that a read loop takes at a time

// Reads data[bytes] once with the widest loads of this processor. bytes is a multiple of kReadGrain, data is 64-byte
// aligned. The result depends on every byte.
uint64_t read_all(const void* data, size_t bytes);

// out[i] = exp(in[i]) with the target's vectors, for in from -87 to 88 (smaller ones as -87), count a multiple of 64:
// a range reduction by a two-part ln 2 and a polynomial of degree 6, the precision that a softmax needs for f32. Null:
// no such loop for the target.
using ExpLoop = void (*)(float* out, const float* in, size_t count);
ExpLoop exp_loop(fovea_target target);

// Independent chains of the target's instructions for products of 8-bit integers, as in fma_probe.h.
struct IntegerLoop {
  float (*run)(uint64_t rounds, float seed);  // null: the target has no such instruction
  double operations_a_round;                  // a multiplication and an addition are two
};
IntegerLoop integer_loop(fovea_target target);

// The constants of the loops. ln 2 = kLn2High + kLn2Low, where n * kLn2High is exact for |n| < 2^9.
constexpr float kLog2E = 1.44269504f, kLn2High = 0.693359375f, kLn2Low = -2.12194440e-4f, kExpFloor = -87.0f;
// exp(r) for |r| <= ln(2) / 2, lowest power first: the Taylor series, with an error of at most 3e-8.
constexpr float kExpTerms[7] = {1.0f, 1.0f, 0.5f, 1.0f / 6, 1.0f / 24, 1.0f / 120, 1.0f / 720};

}  // namespace fovea::bench

#endif  // FOVEA_BENCH_PROBES_KERNELS_H_
