// SPDX-License-Identifier: Apache-2.0
#ifndef FOVEA_EXAMPLES_CHAT_OPTIONS_H_
#define FOVEA_EXAMPLES_CHAT_OPTIONS_H_

#include <cstdint>
#include <string_view>

#include "examples/chat/sampler.h"
#include "fovea/fovea.h"

namespace chat {

struct Options {
  const char* model = nullptr;
  const char* question = nullptr;   // null: ask for questions
  const char* system = nullptr;     // null: what the model's file says
  uint32_t tokens = 256;            // most of an answer
  uint32_t context = 0;             // 0: 2048, or what the model was trained for where that is less
  uint32_t threads = 0;             // 0: as many as the processor runs
  Sampling sampling;
  fovea_compute compute = FOVEA_COMPUTE_I8;
  fovea_dtype cache = FOVEA_I8;
  bool help = false;
};

// False where they are wrong, which was said on stderr.
bool read_options(int count, char** arguments, Options* options);
void print_usage();

}  // namespace chat

#endif  // FOVEA_EXAMPLES_CHAT_OPTIONS_H_
