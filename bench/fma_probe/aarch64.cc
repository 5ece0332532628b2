// SPDX-License-Identifier: Apache-2.0
//
// Each chain is a = a / 2 + 1: it stays near 2, so nothing overflows or is subnormal. The chains begin with different
// numbers, or the compiler would merge them. At -O3 the inner loops are unrolled, and the arrays are in registers.
// 16 chains, because a core may have four pipes with a latency of four cycles.
#include <arm_neon.h>

#include "bench/fma_probe/fma_probe.h"
#include "bench/fma_probe/measure.h"

namespace fovea::bench {
namespace {

float chains_neon(uint64_t rounds, float seed) {
  const float32x4_t x = vdupq_n_f32(seed * 0.5f), y = vdupq_n_f32(seed);
  float32x4_t a[16];
  for (int i = 0; i < 16; ++i) a[i] = vdupq_n_f32(seed + static_cast<float>(i));
  for (; rounds; --rounds) {
    for (int i = 0; i < 16; ++i) a[i] = vfmaq_f32(y, a[i], x);
  }
  for (int i = 1; i < 16; ++i) a[0] = vaddq_f32(a[0], a[i]);
  return vgetq_lane_f32(a[0], 0);
}

}  // namespace

double fma_peak_gflops(fovea_target target, Clock clock_ns) {
  if (target != FOVEA_TARGET_NEON && target != FOVEA_TARGET_NEON_IN_ORDER) return 0.0;
  return median_gflops(chains_neon, 16 * 4 * 2, clock_ns);
}

}  // namespace fovea::bench
