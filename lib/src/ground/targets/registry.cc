// SPDX-License-Identifier: Apache-2.0
#include "ground/base/arithmetic.h"
#include "ground/targets/registry.h"

namespace fovea {
namespace {

#if !FOVEA_WITH_RVV
// The features that the compiler's flags say the processor has.
constexpr unsigned told_features() {
  unsigned features = kNothing;
  if (FOVEA_OFFERS_SSE4) features |= kSse4;
  if (FOVEA_OFFERS_AVX2) features |= kAvx2;
  if (FOVEA_OFFERS_AVX512) features |= kAvx512;
#if defined(__AVXVNNI__)
  features |= kAvxVnni;
#endif
#if defined(__AVX512VNNI__)
  features |= kAvx512Vnni;
#endif
#if defined(__aarch64__) && defined(__ARM_FEATURE_DOTPROD)
  features |= kNeonDotprod;
#endif
#if defined(__aarch64__) && defined(__ARM_FEATURE_FP16_VECTOR_ARITHMETIC)
  features |= kNeonFp16;
#endif
#if defined(__aarch64__) && defined(__ARM_FEATURE_MATMUL_INT8)
  features |= kNeonI8mm;
#endif
  return features;
}
#endif

#if FOVEA_OFFERS_X86
unsigned asked_features() {
  unsigned features = 0;
  if (__builtin_cpu_supports("sse4.2")) features |= kSse4;
  if (!__builtin_cpu_supports("avx2") || !__builtin_cpu_supports("fma")) return features;
  features |= kAvx2;
// clang before 19 lacks the name, and CPUID traps in virtual machines; the memory sanitizer must not see asm.
#if (!defined(__clang__) || __clang_major__ >= 19) && !defined(FOVEA_WITHOUT_AVX_VNNI)
  if (__builtin_cpu_supports("avxvnni")) features |= kAvxVnni;
#endif
  if (!__builtin_cpu_supports("avx512f") || !__builtin_cpu_supports("avx512bw") ||
      !__builtin_cpu_supports("avx512dq") || !__builtin_cpu_supports("avx512vl")) {
    return features;
  }
  features |= kAvx512;
  if (__builtin_cpu_supports("avx512vnni")) features |= kAvx512Vnni;
  return features;
}
#endif

#if FOVEA_WITH_RVV
#if defined(__linux__)
extern "C" unsigned long getauxval(unsigned long);  // not weak: an archive of the C library would not give it then
#endif
// Whether the processor has vectors, and of the length that the kernels are compiled for: of another length they would
// read and write other bytes. Linux says in AT_HWCAP which of the letters of the instruction set it has. Without a system
// the flags must be right.
bool has_vectors_of_this_length() {
#if defined(__linux__)
  constexpr unsigned long kHardwareCapabilities = 16, kLetterV = 1ul << ('V' - 'A');
  if ((getauxval(kHardwareCapabilities) & kLetterV) == 0) return false;
#endif
  unsigned long bytes;
  // Volatile, so that it stays after the question above.
  asm volatile(".option push\n\t.option arch, +zicsr\n\tcsrr %0, 0xc22\n\t.option pop" : "=r"(bytes));  // vlenb
  return bytes == __riscv_v_fixed_vlen / 8;
}
#endif

unsigned processor_features([[maybe_unused]] uint64_t named) {
#if FOVEA_OFFERS_X86
  return told_features() | asked_features();
#elif FOVEA_WITH_RVV
  return has_vectors_of_this_length() ? kRvv : kNothing;
#elif defined(__aarch64__)
  return (told_features() | (named & FOVEA_FEATURE_NEON_DOTPROD ? kNeonDotprod : kNothing) |
          (named & FOVEA_FEATURE_NEON_I8MM ? kNeonI8mm : kNothing) |
          (named & FOVEA_FEATURE_NEON_FP16 ? kNeonFp16 : kNothing) |
          (named & FOVEA_FEATURE_NEON_IN_ORDER ? kNeonInOrder : kNothing)) &
         ~kNotServed;
#else
  return told_features();
#endif
}

// Whether a target is compiled in, and runs on a processor with these features.
bool runs(const TargetTraits& traits, unsigned features) { return (traits.needs & ~features) == 0; }

}  // namespace

#define FOVEA_TRAITS_(table, id, name, kernels, backend, target_namespace, lanes, vectors, dot, needs) \
  {FOVEA_TARGET_##id,                                                                                  \
   FOVEA_TARGET_##kernels,                                                                             \
   lanes,                                                                                              \
   vectors,                                                                                            \
   dot,                                                                                                \
   uint8_t((needs) | (FOVEA_COMPILED_##kernels && ((needs) & kNotServed) == 0 ? kNothing : kMissing))},
constexpr TargetTraits kTargets[] = {FOVEA_TARGETS(FOVEA_TRAITS_, )};
#undef FOVEA_TRAITS_

namespace {

// The rows of the targets that are compiled in, of which a board has one: so its programs do not link the others.
constexpr int count_compiled() {
  int count = 0;
  for (const TargetTraits& traits : kTargets) count += traits.compiled();
  return count;
}
struct CompiledTargets {
  TargetTraits rows[count_compiled()];
};
constexpr CompiledTargets compiled_targets() {
  CompiledTargets found = {};
  int count = 0;
  for (const TargetTraits& traits : kTargets) {
    if (traits.compiled()) found.rows[count++] = traits;
  }
  return found;
}
constexpr CompiledTargets kCompiled = compiled_targets();

}  // namespace

const TargetTraits* target_row(fovea_target target) {
  for (const TargetTraits& traits : kTargets) {
    if (traits.target == target) return &traits;
  }
  return nullptr;
}

bool is_available(const TargetTraits& traits, uint64_t named) { return runs(traits, processor_features(named)); }

bool has_halves(const TargetTraits& traits, uint64_t named) {
  if (FOVEA_WITH_FP16_BY_FLAGS) return may_have_halves(traits);
  return traits.target == FOVEA_TARGET_HELIUM ||
         (may_have_halves(traits) && (processor_features(named) & kNeonFp16) != 0);
}

const TargetTraits* resolve_target(fovea_target target, uint64_t named) {
  const unsigned features = processor_features(named);
  const bool of_xsimd = kXsimdAlone && target == FOVEA_TARGET_XSIMD;
  for (const TargetTraits& traits : kCompiled.rows) {
    const bool wanted =
        of_xsimd ? traits.kernels == traits.target : target == FOVEA_TARGET_BEST || target == traits.target;
    if (wanted && runs(traits, features)) return &traits;
  }
  return nullptr;
}

fovea_status find_target(fovea_target target, const TargetTraits** traits) {
  *traits = resolve_target(target);
  if (*traits) return FOVEA_OK;
  return is_target(target) ? FOVEA_ERR_TARGET : FOVEA_ERR_ENUM;
}

}  // namespace fovea
