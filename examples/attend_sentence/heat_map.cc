// SPDX-License-Identifier: Apache-2.0
#include "examples/attend_sentence/heat_map.h"

#include <algorithm>
#include <cmath>
#include <cstdio>

namespace attend_sentence {
namespace {

using fovea::platform::Console;

// Background colours of the 256-colour terminal, dark to bright.
constexpr int kRamp[] = {233, 17, 53, 54, 90, 126, 162, 161, 197, 203, 209, 215, 221, 222, 229, 231};
constexpr const char* kUnicodeShades[] = {" \u00b7", "\u2591\u2591", "\u2592\u2592", "\u2593\u2593", "\u2588\u2588"};
constexpr const char* kPlainShades[] = {" .", "--", "++", "##", "@@"};
constexpr int kRampSteps = static_cast<int>(sizeof kRamp / sizeof kRamp[0]);
constexpr int kShades = 5;
constexpr size_t kLabelColumns = 11, kGapColumns = 4;

// Shades are by the square root of the weight, so that small weights differ visibly, too.
int step(float weight, int steps) {
  return std::clamp(static_cast<int>(std::sqrt(weight) * static_cast<float>(steps)), 0, steps - 1);
}

// One weight, two columns wide.
void print_cell(const Console& console, float weight) {
  if (console.colours) {
    std::printf("\033[48;5;%dm  ", kRamp[step(weight, kRampSteps)]);
  } else {
    std::printf("%s", (console.unicode ? kUnicodeShades : kPlainShades)[step(weight, kShades)]);
  }
}

void end_colour(const Console& console) {
  if (console.colours) std::printf("\033[0m");
}

void print_legend(const Console& console) {
  std::printf("%*sweight  0 ", static_cast<int>(kLabelColumns), "");
  const int steps = console.colours ? kRampSteps : kShades;
  for (int i = 0; i < steps; ++i) {
    const float width = 1.0f / static_cast<float>(steps), low = width * static_cast<float>(i);
    if (i && !console.colours) std::printf(" %.2f ", static_cast<double>(low * low));
    if (i == steps / 2 && console.colours) {
      end_colour(console);
      std::printf(" 0.25 ");
    }
    const float middle = low + width / 2;
    print_cell(console, middle * middle);
  }
  end_colour(console);
  std::printf(" 1\n");
}

}  // namespace

void print_heat_maps(const Console& console, const HeatMap* maps, size_t count, const char* const* words,
                     size_t tokens) {
  const size_t map_columns = 2 * tokens;
  const size_t room = std::max<size_t>(console.columns, kLabelColumns + map_columns) - kLabelColumns + kGapColumns;
  const size_t maps_a_line = std::max<size_t>(room / (map_columns + kGapColumns), 1);
  const int label = static_cast<int>(kLabelColumns), map_width = static_cast<int>(map_columns);
  for (size_t first = 0; first < count; first += maps_a_line) {
    const size_t end = std::min(first + maps_a_line, count);
    const auto gap = [&](size_t m) { std::printf("%*s", m + 1 < end ? static_cast<int>(kGapColumns) : 0, ""); };

    std::printf("%*s", label, "");
    for (size_t m = first; m < end; ++m) {
      std::printf("%-*s", m + 1 < end ? map_width : 0, maps[m].title);
      gap(m);
    }
    std::printf("\n%*s", label, "");  // the first letter of each word; the rows name them in the same order
    for (size_t m = first; m < end; ++m) {
      for (size_t j = 0; j < tokens; ++j) std::printf(" %c", words[j][words[j][0] == '[']);
      gap(m);
    }
    std::printf("\n");
    for (size_t i = 0; i < tokens; ++i) {
      std::printf("%*s ", label - 1, words[i]);
      for (size_t m = first; m < end; ++m) {
        for (size_t j = 0; j < tokens; ++j) print_cell(console, maps[m].weights[i * tokens + j]);
        end_colour(console);
        gap(m);
      }
      std::printf("\n");
    }
    std::printf("\n");
  }
  print_legend(console);
}

}  // namespace attend_sentence
