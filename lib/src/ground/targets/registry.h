// SPDX-License-Identifier: Apache-2.0
//
// Which targets are compiled in, which of them this processor runs, and what they are called.
#ifndef FOVEA_SRC_TARGETS_REGISTRY_H_
#define FOVEA_SRC_TARGETS_REGISTRY_H_

#include "fovea/fovea.h"
#include "fovea/fovea_config.h"
#include "ground/simd/macros.h"
#include "ground/targets/list.h"

namespace fovea {

// Whether two names are the same, without the C library.
inline bool equal(const char* a, const char* b) {
  while (*a && *a == *b) ++a, ++b;
  return *a == *b;
}

// A target in one byte.
struct TargetByte {
  constexpr TargetByte(fovea_target target = FOVEA_TARGET_BEST) : value(uint8_t(target)) {}
  constexpr operator fovea_target() const { return fovea_target(value); }
  uint8_t value;
};

// What is known about a target without its kernels, so that one machine can plan for another.
struct TargetTraits {
  TargetByte target, kernels;
  uint8_t lanes, tile_vectors;  // see list.h
  DotKind dot;
  uint8_t needs;  // bits of ProcessorFeature

  constexpr bool compiled() const { return (needs & kMissing) == 0; }
  // Up to this many rows a key head the few-rows kernel is faster; with one lane there is none.
  uint32_t few_rows() const { return lanes / 2u; }
};
static_assert(sizeof(TargetTraits) == 6, "no byte of padding");

// Whether any target of this build has a few-rows kernel.
#if FOVEA_WITH_HELIUM || FOVEA_WITH_HIGHWAY || FOVEA_WITH_NEON || FOVEA_WITH_RVV || FOVEA_WITH_XSIMD || \
    FOVEA_SIMD_LANES > 1
constexpr bool kFewRowsServed = config::kFewRows;
#else
constexpr bool kFewRowsServed = false;
#endif

// Whether rows of keys and values are brought in pieces: on a target of one lane, which uses few of them at once.
constexpr bool takes_pieces(uint32_t lanes) { return config::kStaged && lanes == 1; }
#if FOVEA_WITH_SCALAR && FOVEA_SIMD_LANES == 1
constexpr bool kPiecesServed = config::kStaged;
#else
constexpr bool kPiecesServed = false;
#endif

#define FOVEA_COUNT_(nothing, ...) +1
extern const TargetTraits kTargets[FOVEA_TARGETS(FOVEA_COUNT_, )];  // best first
#undef FOVEA_COUNT_

// Where xsimd is the only backend, its name is an alias of the target that it compiles.
constexpr bool kXsimdAlone = FOVEA_WITH_XSIMD && !FOVEA_WITH_HIGHWAY;
inline bool is_alias(const TargetTraits& traits) { return kXsimdAlone && traits.target == FOVEA_TARGET_XSIMD; }

// Whether a number is that of a target in any build, or FOVEA_TARGET_BEST.
#define FOVEA_CASE_(nothing, id, ...) case FOVEA_TARGET_##id:
inline bool is_target(fovea_target target) {
  switch (target) {
    case FOVEA_TARGET_BEST: FOVEA_TARGETS(FOVEA_CASE_, ) return true;
    default: return false;
  }
}
#undef FOVEA_CASE_
// Null for a number that is not a target in any build.
const TargetTraits* target_row(fovea_target target);
// Null also where this build cannot plan for the target.
inline const TargetTraits* target_traits(fovea_target target) {
  const TargetTraits* traits = target_row(target);
  return traits && traits->lanes ? traits : nullptr;
}

// Writes the workspace of a plan for a target, or for FOVEA_TARGET_BEST the most of any target that serves it.
template <class Plan, auto kMakePlan, class Desc>
fovea_status most_workspace(const Desc* desc, fovea_target target, size_t* bytes) {
  if (!desc || !bytes) return FOVEA_ERR_NULL;
  constexpr fovea_status kNoTarget = FOVEA_ERR_ENUM;
  fovea_status status = kNoTarget;
  size_t most = 0;
  for (const TargetTraits& traits : kTargets) {
    const bool has_own = traits.kernels == traits.target && !is_alias(traits);  // others need the same as one that has
    if (target == FOVEA_TARGET_BEST ? !has_own : traits.target != target) continue;
    Plan plan;
    const fovea_status of_one = kMakePlan(*desc, traits.target, &plan);
    if (status != FOVEA_OK) status = of_one;
    if (of_one == FOVEA_OK && plan.workspace_bytes > most) most = plan.workspace_bytes;
  }
  if (status == FOVEA_OK) *bytes = most;
  return status;
}

// All bits of processor_features that this version knows.
constexpr uint64_t kNamedFeatures =
    FOVEA_FEATURE_NEON_DOTPROD | FOVEA_FEATURE_NEON_I8MM | FOVEA_FEATURE_NEON_IN_ORDER | FOVEA_FEATURE_NEON_FP16;
// Whether a target is compiled in and this processor runs it. `named` are FOVEA_FEATURE_... that the caller knows of.
bool is_available(const TargetTraits& traits, uint64_t named = 0);
// Whether processors of the target may have arithmetic of halves, and whether this one does.
inline bool may_have_halves(const TargetTraits& traits) {
  constexpr fovea_target kByFlags = FOVEA_WITH_RVV ? FOVEA_TARGET_RVV256 : FOVEA_TARGET_AVX512;
  if (FOVEA_WITH_FP16_BY_FLAGS && traits.kernels == kByFlags) return true;
  return traits.target == FOVEA_TARGET_HELIUM || traits.kernels == FOVEA_TARGET_NEON;
}
bool has_halves(const TargetTraits& traits, uint64_t named);
// FOVEA_TARGET_BEST becomes the best available one; null if the target is not available. The row is no element of kTargets.
const TargetTraits* resolve_target(fovea_target target, uint64_t named = 0);
// Finds the target of a call that cannot name features. FOVEA_ERR_ENUM for a number that is no target, FOVEA_ERR_TARGET for
// one that is not available.
fovea_status find_target(fovea_target target, const TargetTraits** traits);

// Whether the multiply-adds of a target that this build has round once.
inline bool fuses(fovea_target target) {
#if defined(__aarch64__) || defined(__ARM_FEATURE_FMA)
  constexpr bool kNeonFuses = true;
#else
  constexpr bool kNeonFuses = false;
#endif
  switch (kernels_of(target)) {
    case FOVEA_TARGET_SCALAR: return FOVEA_SIMD_FUSES;
    case FOVEA_TARGET_NEON: return kNeonFuses;
    case FOVEA_TARGET_XSIMD: return FOVEA_XSIMD_LANES > 4;
    case FOVEA_TARGET_SSE4:
    case FOVEA_TARGET_WASM: return false;
    default: return true;
  }
}

}  // namespace fovea

#endif  // FOVEA_SRC_TARGETS_REGISTRY_H_
