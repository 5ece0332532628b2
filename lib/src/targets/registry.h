// SPDX-License-Identifier: Apache-2.0
//
// Which targets are compiled in, which of them this processor runs, and what they are called.
#ifndef FOVEA_SRC_TARGETS_REGISTRY_H_
#define FOVEA_SRC_TARGETS_REGISTRY_H_

#include "fovea/fovea.h"
#include "fovea/fovea_config.h"
#include "targets/compiled.h"

namespace fovea {

// What is known of a target without its kernels, so that one machine can plan for another.
struct TargetTraits {
  fovea_target target;
  const char* name;
  uint32_t lanes;         // f32 elements in a vector
  uint32_t tile_vectors;  // most vectors of query rows in a tile
  uint32_t few_rows;      // up to this many rows a key head the few-rows kernel is faster; 0 = there is none
};

// Whether any target of this build has a few-rows kernel.
#if FOVEA_WITH_HELIUM || FOVEA_WITH_HIGHWAY || FOVEA_WITH_XSIMD
constexpr bool kFewRowsServed = config::kFewRows;
#else
constexpr bool kFewRowsServed = false;
#endif

// Whether rows of keys and values are brought in pieces: on a target of one lane, where few of them are in use at once.
constexpr bool takes_pieces(uint32_t lanes) { return config::kStaged && lanes == 1; }
#if FOVEA_WITH_SCALAR
constexpr bool kPiecesServed = config::kStaged;
#else
constexpr bool kPiecesServed = false;
#endif

// Null for a number that is no target.
const TargetTraits* target_traits(fovea_target target);
// Whether a number names a target, or the best one, in some build.
inline bool is_target(fovea_target target) {
  return target == FOVEA_TARGET_BEST || target == FOVEA_TARGET_XSIMD || target_traits(target) != nullptr;
}
// All targets, best first; null when index is out of range.
const TargetTraits* target_traits_at(uint32_t index);

// The number for a target, or for FOVEA_TARGET_BEST the largest for any.
template <class NumberFor>
size_t largest_for(fovea_target target, const NumberFor& number_for) {
  if (target != FOVEA_TARGET_BEST) return number_for(target);
  size_t largest = 0;
  const TargetTraits* traits;
  for (uint32_t i = 0; (traits = target_traits_at(i)) != nullptr; ++i) {
    const size_t number = number_for(traits->target);
    if (number > largest) largest = number;
  }
  return largest;
}

// "helium", "highway", "xsimd" or "scalar"; null where the target is not compiled in.
const char* target_backend(fovea_target target);
// Compiled in and runnable on this processor.
bool target_available(fovea_target target);
// FOVEA_TARGET_BEST becomes the best available one; null when the target is not available.
const TargetTraits* resolve_target(fovea_target target);

}  // namespace fovea

#endif  // FOVEA_SRC_TARGETS_REGISTRY_H_
