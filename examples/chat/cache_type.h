// SPDX-License-Identifier: Apache-2.0
//
// The types of a decoder's cache, by the names that programs take.
#ifndef FOVEA_EXAMPLES_CHAT_CACHE_TYPE_H_
#define FOVEA_EXAMPLES_CHAT_CACHE_TYPE_H_

#include <string>

#include "fovea/fovea.h"

namespace chat {

struct CacheType {
  fovea_dtype dtype = FOVEA_I8;  // of keys and values; must be of integers with FOVEA_COMPUTE_I8
  fovea_hadamard_rows hadamard = FOVEA_HADAMARD_NONE;
  bool centered = false;  // keys without the mean of those of the first run. Scores then depend on how long that run is

  bool is_float() const { return dtype == FOVEA_F32 || dtype == FOVEA_F16; }
};

// "i4", "i4-rotated" for rotated keys and values, "i4-centered" for such values and centred keys. False if there is no
// such type.
inline bool read_cache_type(const char* text, CacheType* type) {
  constexpr struct {
    const char* name;
    fovea_dtype dtype;
  } kTypes[] = {{"f32", FOVEA_F32}, {"f16", FOVEA_F16},   {"i8", FOVEA_I8},
                {"i4", FOVEA_I4},   {"q8_0", FOVEA_Q8_0}, {"q4_0", FOVEA_Q4_0}};
  const std::string given = text;
  for (const auto& known : kTypes) {
    const std::string name = known.name;
    const bool centered = given == name + "-centered";
    if (given != name && given != name + "-rotated" && !centered) continue;
    *type = {known.dtype, given == name ? FOVEA_HADAMARD_NONE : FOVEA_HADAMARD_BOTH, centered};
    return true;
  }
  return false;
}

}  // namespace chat

#endif  // FOVEA_EXAMPLES_CHAT_CACHE_TYPE_H_
