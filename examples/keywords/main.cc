// SPDX-License-Identifier: Apache-2.0
//
// Keyword spotting on a microcontroller: hears twelve words in a recording, 20 ms at a time, as if it came from a
// microphone. Prints the words and a timeline, and fails unless it has heard what it should, with the same scores on
// each target of the machine.
//
// Exit code: 0; 1 when it hears something else or a call fails.
#include <cstdio>
#include <cstring>

#include "keywords.h"
#include "platform/platform.h"
#include "recording.h"

namespace {

namespace platform = fovea::platform;

constexpr unsigned kWords = 12;
constexpr char kExpected[] = "yes left stop music up right start open no light down close ";
constexpr uint32_t kDigest = 0xd0f63c57;  // of all scores

constexpr uint32_t kColumnFrames = 10;  // of a column of the timeline
constexpr uint32_t kColumns = (kRecordedFrames + kColumnFrames - 1) / kColumnFrames;
constexpr uint32_t kFrameMs = 1000 * kHop / kSampleRate;

// All memory of the program, except the stack.
struct Memory {
  Keywords keywords;
  int16_t samples[kHop];
  char timeline[kNone][kColumns + 1];
  char heard[sizeof kExpected + 128];
} memory;

// A sample from its byte, by G.711.
int16_t from_mu_law(uint8_t code) {
  const uint32_t bits = static_cast<uint8_t>(~code);
  const int32_t size = static_cast<int32_t>((((bits & 15) << 3) + 132) << ((bits >> 4) & 7)) - 132;
  return static_cast<int16_t>(bits & 128 ? -size : size);
}

// How much more likely a word is than none, in the timeline.
void draw(uint32_t frame) {
  static const char kShades[] = " .:+*#";
  const int8_t(&scores)[kClasses] = memory.keywords.model.scores;
  for (uint32_t i = 0; i < kNone; ++i) {
    char& cell = memory.timeline[i][frame / kColumnFrames];
    const int32_t more = (scores[i] - scores[kNone]) / 12;
    const char shade = kShades[more < 0 ? 0 : more > 5 ? 5 : more];
    if (cell == 0 || std::strchr(kShades, cell) < std::strchr(kShades, shade)) cell = shade;
  }
}

void print_timeline() {
  std::printf("\n%-6s", "");
  for (uint32_t frame = 0; frame < kRecordedFrames; frame += 5 * kColumnFrames) {
    std::printf("%-5u", static_cast<unsigned>(frame * kFrameMs / 1000));
  }
  std::printf("s\n");
  for (uint32_t i = 0; i < kNone; ++i) std::printf("%-6s%s|\n", kKeywords[i], memory.timeline[i]);
}

// Hears the recording, and prints what it hears.
int hear(fovea_target target, bool shows) {
  std::memset(&memory, 0, sizeof memory);
  keywords_begin(&memory.keywords, target, platform::processor_features());
  uint64_t ticks = 0, ns = 0;
  unsigned stack = 0;  // the most of a call, 0 if not known
  unsigned right = 0, wrong = 0;
  const char* next = kExpected;
  uint32_t digest = 2166136261u;
  for (uint32_t frame = 0; frame < kRecordedFrames; ++frame) {
    for (uint32_t i = 0; i < kHop; ++i) memory.samples[i] = from_mu_law(kRecording.mu_law[frame][i]);
    uint32_t word;
    if (frame == 0) platform::stack_paint();
    const uint64_t ns_before = platform::clock_ns(), ticks_before = platform::clock_ticks();
    const fovea_status status = keywords_hear(&memory.keywords, memory.samples, &word);
    ticks += platform::clock_ticks() - ticks_before;
    ns += platform::clock_ns() - ns_before;
    if (frame == 0) stack = static_cast<unsigned>(platform::stack_used_bytes() - platform::stack_in_use_bytes());
    if (status != FOVEA_OK) {
      std::printf("keywords: %s\n", fovea_status_string(status));
      return 1;
    }
    for (const int8_t score : memory.keywords.model.scores) {
      digest = (digest ^ static_cast<uint8_t>(score)) * 16777619u;  // FNV-1a
    }
    if (shows) draw(frame);
    if (word == kNone) continue;
    if (std::strlen(memory.heard) + std::strlen(kKeywords[word]) + 2 <= sizeof memory.heard) {
      std::strcat(std::strcat(memory.heard, kKeywords[word]), " ");
    }
    const char* const said = std::strstr(next, kKeywords[word]);
    if (said != nullptr) next = said + std::strlen(kKeywords[word]);
    ++(said != nullptr ? right : wrong);
    if (shows) {
      const unsigned ms = (frame + 1) * kFrameMs;
      std::printf("%3u.%02u  %-6s %s\n", ms / 1000, ms % 1000 / 10, kKeywords[word], said ? "right" : "WRONG");
    }
  }
  if (shows) print_timeline();
  std::printf("%u of %u words are right, %u wrong\n", right, kWords, wrong);
  std::printf("weights: %u bytes, constant; memory: %u bytes, static; ", static_cast<unsigned>(sizeof kWeights),
              static_cast<unsigned>(sizeof memory.keywords));
  if (stack != 0) std::printf("stack: %u bytes; ", stack);
  std::printf("target: %s\n%u frames, ", fovea_target_name(target), static_cast<unsigned>(kRecordedFrames));
  if (ns != 0 && std::strcmp(platform::clock_unit(), "instructions") != 0) {
    const auto us = static_cast<unsigned>(ns / 1000 / kRecordedFrames);
    std::printf("%u.%03u ms each", us / 1000, us % 1000);
  } else {
    std::printf("%u %s each", static_cast<unsigned>(ticks / kRecordedFrames), platform::clock_unit());
  }
  std::printf("; digest %08lx\n", static_cast<unsigned long>(digest));
  const bool known = std::strcmp(memory.heard, kExpected) == 0 && digest == kDigest;
  if (!known) {
    std::printf("keywords: WRONG on %s. Known is: %s, digest %08lx\n", fovea_target_name(target), kExpected,
                static_cast<unsigned long>(kDigest));
  }
  return known ? 0 : 1;
}

}  // namespace

int main() {
  int failure = 0;
  for (uint32_t i = 0; i < fovea_target_count(); ++i) failure |= hear(fovea_target_at(i), i == 0);
  return failure;
}
