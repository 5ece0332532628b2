// SPDX-License-Identifier: Apache-2.0
#include "fovea/fovea.h"
#include "targets/registry.h"

using fovea::TargetTraits;

namespace {

bool equal(const char* a, const char* b) {
  while (*a && *a == *b) ++a, ++b;
  return *a == *b;
}

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
  const TargetTraits* traits = fovea::target_row(target);
  return traits ? traits->name : nullptr;
}

extern "C" fovea_target fovea_target_from_name(const char* name) {
  if (!name) return FOVEA_TARGET_IS_32_BITS;
  if (equal(name, "") || equal(name, "best")) return FOVEA_TARGET_BEST;
  for (const TargetTraits& traits : fovea::kTargets) {
    if (equal(name, traits.name)) return traits.target;
  }
  return FOVEA_TARGET_IS_32_BITS;
}

extern "C" const char* fovea_target_backend(fovea_target target) {
  const TargetTraits* traits = target == FOVEA_TARGET_BEST ? fovea::resolve_target(target) : fovea::target_row(target);
  return traits ? traits->backend : nullptr;
}
