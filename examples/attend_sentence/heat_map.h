// SPDX-License-Identifier: Apache-2.0
#ifndef FOVEA_EXAMPLES_ATTEND_SENTENCE_HEAT_MAP_H_
#define FOVEA_EXAMPLES_ATTEND_SENTENCE_HEAT_MAP_H_

#include <cstddef>

#include "platform/platform.h"

namespace attend_sentence {

struct HeatMap {
  const char* title;     // at most 2 * tokens characters
  const float* weights;  // [tokens][tokens], each 0 to 1: row = the query's word, column = the key's word
};

// Prints the maps, as many next to one another as fit in the console, and a legend of the shades.
void print_heat_maps(const fovea::platform::Console& console, const HeatMap* maps, size_t count,
                     const char* const* words, size_t tokens);

}  // namespace attend_sentence

#endif  // FOVEA_EXAMPLES_ATTEND_SENTENCE_HEAT_MAP_H_
