// SPDX-License-Identifier: Apache-2.0
#ifndef FOVEA_SRC_BASE_MAGIC_H_
#define FOVEA_SRC_BASE_MAGIC_H_

#include <stdint.h>

namespace fovea {

// A word of each object that functions of this configuration have made. The number of layouts grows with each change of
// an object's fields, and of the tables whose places a plan holds: kernels and dot words.
constexpr uint32_t kLayouts = 1;
#if defined(FOVEA_USE)
#define FOVEA_TEXT_OF_(name) #name
#define FOVEA_TEXT_(name) FOVEA_TEXT_OF_(name)
constexpr const char* kConfiguration = FOVEA_TEXT_(FOVEA_USE);
#else
constexpr const char* kConfiguration = "";
#endif
constexpr uint32_t hashed(uint32_t hash, const char* text) {  // FNV-1a
  for (; *text; ++text) hash = (hash ^ uint32_t(*text)) * 0x01000193u;
  return hash;
}
constexpr uint32_t magic_of(const char* kind) { return hashed(hashed(0x811c9dc5u + kLayouts, kind), kConfiguration); }

}  // namespace fovea

#endif  // FOVEA_SRC_BASE_MAGIC_H_
