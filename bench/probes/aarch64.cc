// SPDX-License-Identifier: Apache-2.0
#include <arm_neon.h>

#include "bench/probes/kernels.h"

namespace fovea::bench {
namespace {

void exp_neon(float* out, const float* in, size_t count) {
  for (size_t i = 0; i < count; i += 16) {
    for (size_t j = i; j < i + 16; j += 4) {
      const float32x4_t x = vmaxq_f32(vld1q_f32(in + j), vdupq_n_f32(kExpFloor));
      const float32x4_t n = vrndnq_f32(vmulq_n_f32(x, kLog2E));
      float32x4_t r = vfmsq_f32(x, n, vdupq_n_f32(kLn2High));
      r = vfmsq_f32(r, n, vdupq_n_f32(kLn2Low));
      float32x4_t y = vdupq_n_f32(kExpTerms[6]);
      for (int k = 5; k >= 0; --k) y = vfmaq_f32(vdupq_n_f32(kExpTerms[k]), y, r);
      const int32x4_t power = vshlq_n_s32(vcvtq_s32_f32(n), 23);
      vst1q_f32(out + j, vreinterpretq_f32_s32(vaddq_s32(vreinterpretq_s32_f32(y), power)));
    }
  }
}

#define FOVEA_INTEGER_LOOP(name, dot, feature)                                                 \
  __attribute__((target("arch=armv8.2-a+" feature))) float name(uint64_t rounds, float seed) { \
    const int8x16_t x = vdupq_n_s8(static_cast<int8_t>(seed));                                 \
    int32x4_t a[16];                                                                           \
    for (int i = 0; i < 16; ++i) a[i] = vdupq_n_s32(i);                                        \
    for (; rounds; --rounds) {                                                                 \
      for (int i = 0; i < 16; ++i) a[i] = dot(a[i], x, x);                                     \
    }                                                                                          \
    for (int i = 1; i < 16; ++i) a[0] = vaddq_s32(a[0], a[i]);                                 \
    return static_cast<float>(vgetq_lane_s32(a[0], 0));                                        \
  }
FOVEA_INTEGER_LOOP(chains_sdot, vdotq_s32, "dotprod")
FOVEA_INTEGER_LOOP(chains_smmla, vmmlaq_s32, "i8mm")
#undef FOVEA_INTEGER_LOOP

}  // namespace

uint64_t read_all(const void* data, size_t bytes) {
  const uint64_t* p = static_cast<const uint64_t*>(data);
  uint64x2_t a[8];
  for (int j = 0; j < 8; ++j) a[j] = vdupq_n_u64(0);
  for (const uint64_t* end = p + bytes / sizeof *p; p != end; p += 32) {
    for (int j = 0; j < 16; ++j) {
      a[j % 8] = vorrq_u64(a[j % 8], vld1q_u64(p + 2 * j));
      __asm__ volatile("" : "+w"(a[j % 8]));  // fixes the order of the loads
    }
  }
  for (int j = 1; j < 8; ++j) a[0] = vorrq_u64(a[0], a[j]);
  return vgetq_lane_u64(a[0], 0) | vgetq_lane_u64(a[0], 1);
}

IntegerLoop integer_loop(fovea_target target) {
  switch (target) {
    case FOVEA_TARGET_NEON_DOTPROD:
    case FOVEA_TARGET_NEON_IN_ORDER_DOTPROD: return {chains_sdot, 16 * 16 * 2};
    case FOVEA_TARGET_NEON_I8MM:
    case FOVEA_TARGET_NEON_IN_ORDER_I8MM: return {chains_smmla, 16 * 32 * 2};
    default: return {};
  }
}

ExpLoop exp_loop(fovea_target target) { return target == FOVEA_TARGET_NEON ? exp_neon : nullptr; }

}  // namespace fovea::bench
