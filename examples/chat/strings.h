// SPDX-License-Identifier: Apache-2.0
#ifndef FOVEA_EXAMPLES_CHAT_STRINGS_H_
#define FOVEA_EXAMPLES_CHAT_STRINGS_H_

#include <cstddef>
#include <cstdint>

namespace chat {

// Strings as a GGUF file has them, one after the other: a length of 8 bytes, least first, at any address, then so many
// bytes. Whoever makes one has checked that they end within `bytes`.
struct Strings {
  const unsigned char* data;
  size_t bytes;
  uint64_t count;
};

// The words of a tokenizer, as a GGUF file has them.
struct Vocabulary {
  Strings tokens;  // a token's text; its number is its place
  Strings merges;  // two texts with a space between them, the most frequent first
  // An int32_t of each token, at any address: 1 normal, 3 control, 4 defined by a user, ...
  const unsigned char* types;
};

}  // namespace chat

#endif  // FOVEA_EXAMPLES_CHAT_STRINGS_H_
