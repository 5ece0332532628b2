// SPDX-License-Identifier: Apache-2.0
#ifndef FOVEA_EXAMPLES_CHAT_STRINGS_H_
#define FOVEA_EXAMPLES_CHAT_STRINGS_H_

#include <cstddef>
#include <cstdint>

#include "examples/chat/pre_tokenizer.h"

namespace chat {

// Adjacent strings in the form of a GGUF file: each is a length of 8 bytes, little endian, at any address, and then its
// bytes. Whoever makes a Strings has checked that they end within `bytes`.
struct Strings {
  const unsigned char* data;
  size_t bytes;
  uint64_t count;
};

// The vocabulary of a tokenizer in the form of a GGUF file.
struct Vocabulary {
  Strings tokens;  // texts of tokens, in the order of their numbers
  Strings merges;  // two texts with a space between them, the most frequent first
  // An int32_t of each token, at any address: 1 normal, 3 control, 4 defined by a user, ...
  const unsigned char* types;
  PreTokenizer splitter = PreTokenizer::kSmollm;
};

}  // namespace chat

#endif  // FOVEA_EXAMPLES_CHAT_STRINGS_H_
