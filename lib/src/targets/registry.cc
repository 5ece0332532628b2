// SPDX-License-Identifier: Apache-2.0
#include "targets/registry.h"

namespace fovea {
namespace {

// What the compiler was told that each processor has which is to run this build.
constexpr unsigned kTold =
    (FOVEA_OFFERS_SSE4 ? kSse4 : 0) | (FOVEA_OFFERS_AVX2 ? kAvx2 : 0) | (FOVEA_OFFERS_AVX512 ? kAvx512 : 0);

// The features of this processor.
unsigned processor_features() {
  unsigned features = kTold;
#if FOVEA_OFFERS_X86
  const bool fma = __builtin_cpu_supports("fma"), avx2 = __builtin_cpu_supports("avx2");
  if (__builtin_cpu_supports("sse4.2")) features |= kSse4;
  if (avx2 && fma) features |= kAvx2;
  if (avx2 && fma && __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
      __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl")) {
    features |= kAvx512;
  }
#endif
  return features;
}

}  // namespace

#define FOVEA_TRAITS_(table, id, name, kernels, backend, target_namespace, ...) \
  {name, FOVEA_COMPILED_##kernels ? backend : nullptr, FOVEA_TARGET_##id, FOVEA_TARGET_##kernels, __VA_ARGS__},
const TargetTraits kTargets[] = {FOVEA_TARGETS(FOVEA_TRAITS_, )};
#undef FOVEA_TRAITS_

const TargetTraits* target_row(fovea_target target) {
  for (const TargetTraits& traits : kTargets) {
    if (traits.target == target) return &traits;
  }
  return nullptr;
}

bool is_available(const TargetTraits& traits) { return traits.backend && (traits.needs & ~processor_features()) == 0; }

const TargetTraits* resolve_target(fovea_target target) {
  const bool of_xsimd = kXsimdAlone && target == FOVEA_TARGET_XSIMD;
  for (const TargetTraits& traits : kTargets) {
    const bool wanted = of_xsimd ? traits.kernels == traits.target : target == FOVEA_TARGET_BEST || target == traits.target;
    if (wanted && is_available(traits)) return &traits;
  }
  return nullptr;
}

}  // namespace fovea
