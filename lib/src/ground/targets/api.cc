// SPDX-License-Identifier: Apache-2.0
#include "ground/base/arithmetic.h"
#include "fovea/fovea.h"
#include "ground/targets/registry.h"

using fovea::TargetTraits;

namespace {

// In the order of the list. Separate from the traits, so that programs which name no target do not link them.
struct TargetText {
  const char* name;
  const char* backend;
};
#define FOVEA_TEXT_(nothing, id, name, kernels, backend, ...) {name, FOVEA_COMPILED_##kernels ? backend : nullptr},
using fovea::kSimd;
constexpr TargetText kTexts[] = {FOVEA_TARGETS(FOVEA_TEXT_, )};
#undef FOVEA_TEXT_

const TargetText* text_of(const TargetTraits* traits) { return traits ? &kTexts[traits - fovea::kTargets] : nullptr; }

using fovea::equal;

}  // namespace

extern "C" uint32_t fovea_target_count(void) {
  uint32_t count = 0;
  while (fovea_target_at(count) != FOVEA_TARGET_BEST) ++count;
  return count;
}

extern "C" fovea_target fovea_target_at(uint32_t index) {
  for (const TargetTraits& traits : fovea::kTargets) {
    if (is_available(traits) && !is_alias(traits) && index-- == 0) return traits.target;
  }
  return FOVEA_TARGET_BEST;
}

extern "C" const char* fovea_target_name(fovea_target target) {
  if (target == FOVEA_TARGET_BEST) return "best";
  const TargetText* text = text_of(fovea::target_row(target));
  return text ? text->name : nullptr;
}

extern "C" fovea_target fovea_target_from_name(const char* name) {
  if (!name) return fovea_target(FOVEA_NO_TARGET);
  if (equal(name, "") || equal(name, "best")) return FOVEA_TARGET_BEST;
  for (const TargetTraits& traits : fovea::kTargets) {
    if (equal(name, text_of(&traits)->name)) return traits.target;
  }
  return fovea_target(FOVEA_NO_TARGET);
}

extern "C" const char* fovea_target_backend(fovea_target target) {
  if (target == FOVEA_TARGET_BEST) {
    if (const TargetTraits* best = fovea::resolve_target(target)) target = best->target;
  }
  const TargetText* text = text_of(fovea::target_row(target));
  return text ? text->backend : nullptr;
}
