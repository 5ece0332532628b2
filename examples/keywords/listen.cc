// SPDX-License-Identifier: Apache-2.0
//
// Reads sound from the standard input, 16-bit samples of one channel, 16000 a second, and prints each keyword when it
// is heard:
//
//     arecord -q -t raw -f S16_LE -r 16000 | keywords_listen
//
// Each line has the time in milliseconds since the beginning, and the word.
#include <cstdio>

#include "keywords.h"
#include "platform/platform.h"

namespace {
Keywords keywords;
}

int main() {
  keywords_begin(&keywords, FOVEA_TARGET_BEST, fovea::platform::processor_features());
  int16_t samples[kHop];
  uint32_t word;
  for (unsigned frames = 1; std::fread(samples, sizeof *samples, kHop, stdin) == kHop; ++frames) {
    const fovea_status status = keywords_hear(&keywords, samples, &word);
    if (status != FOVEA_OK) {
      std::fprintf(stderr, "keywords_listen: %s\n", fovea_status_string(status));
      return 1;
    }
    if (word == kNone) continue;
    std::printf("%u %s\n", frames * (1000 * kHop / kSampleRate), kKeywords[word]);
    std::fflush(stdout);
  }
}
