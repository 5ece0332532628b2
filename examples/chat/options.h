// SPDX-License-Identifier: Apache-2.0
#ifndef FOVEA_EXAMPLES_CHAT_OPTIONS_H_
#define FOVEA_EXAMPLES_CHAT_OPTIONS_H_

#include <cstdint>
#include <string_view>

#include "examples/chat/cache_type.h"
#include "examples/chat/mapped_file.h"
#include "examples/chat/sampler.h"
#include "fovea/fovea.h"

namespace chat {

struct Options {
  const char* model = nullptr;
  const char* question = nullptr;               // null: ask for questions
  const char* system = nullptr;                 // null: that of the model's file
  const char *save = nullptr, *load = nullptr;  // files of conversations; null: none
  const char* prompts = nullptr;                // a folder of prompts; null: none
  uint32_t tokens = 256;                        // most tokens of an answer
  uint32_t context = 0;                         // 0: 2048, or the model's own limit if that is less
  uint32_t threads = 0;                         // 0: as many as the process may use
  Sampling sampling;
  fovea_compute compute = FOVEA_COMPUTE_I8;
  CacheType cache;
  MappedFile::Pages pages = MappedFile::Pages::kFile;
  bool help = false;
};

// False if they are wrong, after a message on stderr.
bool read_options(int count, char** arguments, Options* options);
void print_usage();

}  // namespace chat

#endif  // FOVEA_EXAMPLES_CHAT_OPTIONS_H_
