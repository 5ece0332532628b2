// SPDX-License-Identifier: Apache-2.0
#ifndef FOVEA_EXAMPLES_ATTEND_SENTENCE_HEAT_MAP_H_
#define FOVEA_EXAMPLES_ATTEND_SENTENCE_HEAT_MAP_H_

#include <cstddef>

#include "platform/platform.h"

namespace attend_sentence {

struct HeatMap {
  const char* title;     // at most 2 * tokens characters
  const float* weights;  // [tokens][tokens], each 0 to 1: row = the word that asks, column = the word that is looked at
};

// Prints the maps side by side, as many as the console is wide, and what the shades mean.
void print_heat_maps(const fovea::platform::Console& console, const HeatMap* maps, size_t count,
                     const char* const* words, size_t tokens);

}  // namespace attend_sentence

#endif  // FOVEA_EXAMPLES_ATTEND_SENTENCE_HEAT_MAP_H_
