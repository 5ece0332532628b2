// SPDX-License-Identifier: Apache-2.0
#include "targets/registry.h"

namespace fovea {
namespace {

// Best first. Vectors a tile: the register blocks of the pages in simd/.
constexpr TargetTraits kTargets[] = {
    {FOVEA_TARGET_AVX512, "avx512", 16, 3, 8}, {FOVEA_TARGET_AVX2, "avx2", 8, 3, 4},
    {FOVEA_TARGET_SSE4, "sse4", 4, 3, 2},      {FOVEA_TARGET_NEON, "neon", 4, 3, 2},
    {FOVEA_TARGET_HELIUM, "helium", 4, 3, 2},  {FOVEA_TARGET_WASM, "wasm", 4, 3, 2},
    {FOVEA_TARGET_SCALAR, "scalar", 1, 4, 0},
};

#if FOVEA_WITH_XSIMD
constexpr bool kXsimdAlone = !FOVEA_WITH_HIGHWAY;
constexpr TargetTraits traits_of_xsimd() {
  TargetTraits traits = kTargets[0];
  for (const TargetTraits& t : kTargets) {
    if (t.target == FOVEA_XSIMD_SERVES) traits = t;
  }
  traits.target = FOVEA_TARGET_XSIMD;
  traits.name = "xsimd";
  return traits;
}
constexpr TargetTraits kXsimd = traits_of_xsimd();
#endif

// Whether a build for several processors may use a target on this one. A build for one processor has been told.
bool processor_runs(fovea_target target) {
#if defined(__x86_64__) || defined(__i386__)
  switch (target) {
#if !defined(__AVX512F__)
    case FOVEA_TARGET_AVX512:
      return __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
             __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl") &&
             __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma");
#endif
#if !defined(__AVX2__)
    case FOVEA_TARGET_AVX2: return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma");
#endif
#if !defined(__SSE4_2__)
    case FOVEA_TARGET_SSE4: return __builtin_cpu_supports("sse4.2");
#endif
    default: return true;
  }
#else
  (void)target;
  return true;
#endif
}

}  // namespace

const TargetTraits* target_traits(fovea_target target) {
#if FOVEA_WITH_XSIMD
  if (target == FOVEA_TARGET_XSIMD) return &kXsimd;
#endif
  for (const TargetTraits& traits : kTargets) {
    if (traits.target == target) return &traits;
  }
  return nullptr;
}

const TargetTraits* target_traits_at(uint32_t index) {
  constexpr uint32_t count = sizeof(kTargets) / sizeof(kTargets[0]);
  if (index < count) return &kTargets[index];
#if FOVEA_WITH_XSIMD
  if (index == count && !kXsimdAlone) return &kXsimd;
#endif
  return nullptr;
}

const char* target_backend(fovea_target target) {
  [[maybe_unused]] constexpr const char* kVectors = FOVEA_WITH_HIGHWAY ? "highway" : "xsimd";
  switch (target) {
#if FOVEA_COMPILED_SSE4
    case FOVEA_TARGET_SSE4: return kVectors;
#endif
#if FOVEA_COMPILED_AVX2
    case FOVEA_TARGET_AVX2: return kVectors;
#endif
#if FOVEA_COMPILED_AVX512
    case FOVEA_TARGET_AVX512: return kVectors;
#endif
#if FOVEA_COMPILED_NEON
    case FOVEA_TARGET_NEON: return kVectors;
#endif
#if FOVEA_COMPILED_WASM
    case FOVEA_TARGET_WASM: return kVectors;
#endif
#if FOVEA_WITH_HELIUM
    case FOVEA_TARGET_HELIUM: return "helium";
#endif
#if FOVEA_WITH_SCALAR
    case FOVEA_TARGET_SCALAR: return "scalar";
#endif
    default: break;
  }
#if FOVEA_WITH_XSIMD
  if (target == FOVEA_TARGET_XSIMD) return "xsimd";
#endif
  return nullptr;
}

bool target_available(fovea_target target) {
  if (!target_backend(target)) return false;
#if FOVEA_WITH_XSIMD
  if (target == FOVEA_TARGET_XSIMD) return processor_runs(FOVEA_XSIMD_SERVES);
#endif
  return processor_runs(target);
}

const TargetTraits* resolve_target(fovea_target target) {
#if FOVEA_WITH_XSIMD
  if (target == FOVEA_TARGET_XSIMD && kXsimdAlone) target = FOVEA_XSIMD_SERVES;
#endif
  if (target != FOVEA_TARGET_BEST) return target_available(target) ? target_traits(target) : nullptr;
  const TargetTraits* traits = nullptr;
  for (uint32_t i = 0; (traits = target_traits_at(i)) != nullptr; ++i) {
    if (target_available(traits->target)) break;
  }
  return traits;
}

}  // namespace fovea
